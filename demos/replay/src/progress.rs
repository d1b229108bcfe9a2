//! The bar on stderr that shows the progress of a run, if stderr is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Shown,
    Hidden,
}

impl Progress {
    /// Starts the bar of one stage of the run.
    pub(crate) fn stage(self, name: &'static str, length: u64) -> ProgressBar {
        let target = match self {
            // Few redraws, because they happen while a queue is being timed.
            Self::Shown => ProgressDrawTarget::stderr_with_hz(5),
            Self::Hidden => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template("{msg:18} [{bar:30}] {percent:>3}%  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(name);
        bar.tick();
        bar
    }
}
