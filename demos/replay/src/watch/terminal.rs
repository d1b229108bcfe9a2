//! The terminal, taken over for a watch and given back whatever happens.

use std::io::{self, IsTerminal};

use anyhow::{Context, Result, ensure};
use ratatui::{DefaultTerminal, Frame};

/// What to say of a terminal that fails, before the reason.
pub(super) const FAILS: &str = "--watch: the terminal fails";

/// The terminal in raw mode, on its alternate screen.
///
/// It is restored when this is dropped, and before the message of a panic is printed.
pub(super) struct Terminal(DefaultTerminal);

impl Terminal {
    pub(super) fn open() -> Result<Self> {
        let opened = ratatui::try_init();
        if opened.is_err() {
            let _ = ratatui::try_restore();
        }
        opened.map(Self).context(FAILS)
    }

    /// Draws the whole screen; what has not changed is not sent.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        self.0.draw(render).map(drop).context(FAILS)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone cannot be restored, and nobody could read an error.
        let _ = ratatui::try_restore();
    }
}

/// Makes sure that there is a terminal, without touching it.
pub(crate) fn check() -> Result<()> {
    ensure!(
        io::stdout().is_terminal(),
        "--watch: stdout is not a terminal; without --watch the figures can go to a file"
    );
    Ok(())
}
