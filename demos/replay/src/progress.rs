//! The bar on stderr that says how far a run has come; where stderr is not a terminal, a line now and then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// The least time between two lines where no bar is drawn.
const SILENCE: Duration = Duration::from_secs(10);

/// Whether bars are drawn at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Drawn, if stderr is a terminal.
    Shown,
    /// Never drawn.
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
        let bar = ProgressBar::with_draw_target(Some(length), target)
            .with_style(style)
            .with_message(name)
            .with_elapsed(Duration::ZERO);
        bar.tick();
        bar
    }

    /// What stands in for a bar where there is no terminal to draw it.
    pub(crate) fn log(self, bar: &ProgressBar) -> Log {
        Log {
            is_wanted: self == Self::Shown && bar.is_hidden(),
            begun: Instant::now(),
            said: Instant::now(),
        }
    }
}

/// Lines that say how many rounds are done.
pub(crate) struct Log {
    is_wanted: bool,
    begun: Instant,
    said: Instant,
}

impl Log {
    /// A round is done: says so, unless it was the last or something was said just before.
    pub(crate) fn note(&mut self, round: u32, rounds: u32) {
        if self.is_wanted && round < rounds && self.said.elapsed() >= SILENCE {
            let left = self.begun.elapsed() / round * (rounds - round);
            let left = left.as_secs();
            output::say(&format!(
                "round {round} of {rounds} done, some {left} s left"
            ));
            self.said = Instant::now();
        }
    }
}
