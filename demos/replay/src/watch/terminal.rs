//! The terminal, taken over for the time of watching and given back whatever happens.

use std::io::{self, IsTerminal};

use ratatui::{DefaultTerminal, Frame};

use crate::failure::Failure;

/// The terminal in its raw mode, on its alternate screen.
///
/// It is restored when this is dropped, and before the message of a panic is printed.
pub(super) struct Terminal(DefaultTerminal);

impl Terminal {
    /// Takes the terminal over.
    pub(super) fn open() -> Result<Self, Failure> {
        check()?;
        ratatui::try_init().map(Self).map_err(|error| {
            let _ = ratatui::try_restore();
            Failure::terminal(&error)
        })
    }

    /// Draws the whole screen; what has not changed is not sent.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        match self.0.draw(render) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::terminal(&error)),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that has gone cannot be told, and nobody is left to hear of it.
        let _ = ratatui::try_restore();
    }
}

/// Makes sure that there is a terminal, without touching it.
pub(crate) fn check() -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        Ok(())
    } else {
        let problem = "stdout is not a terminal; without --watch the figures can go to a file";
        Err(Failure::Terminal(problem.to_owned()))
    }
}
