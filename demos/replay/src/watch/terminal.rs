//! The terminal, taken over for the time of watching and given back whatever happens.

use std::io::{self, IsTerminal};

use crossterm::execute;
use crossterm::terminal::{Clear, ClearType};
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
        Ok(Self(take_over()?))
    }

    /// Draws the whole screen; what has not changed is not sent.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> Result<(), Failure> {
        match self.0.draw(render) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::terminal(&error)),
        }
    }

    /// Gives the terminal back and stops the process, as the terminal itself would for Ctrl-Z, until it is
    /// told to go on.
    pub(super) fn suspend(&mut self) -> Result<(), Failure> {
        ratatui::try_restore().map_err(|error| Failure::terminal(&error))?;
        #[cfg(unix)]
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
            .map_err(|error| Failure::terminal(&error.into()))?;
        self.0 = take_over()?;
        // What others have left there; `Terminal::clear` would ask where the cursor is.
        let cleared = execute!(io::stdout(), Clear(ClearType::All));
        cleared.map_err(|error| Failure::terminal(&error))
    }
}

/// Sets the raw mode and shows the alternate screen.
fn take_over() -> Result<DefaultTerminal, Failure> {
    ratatui::try_init().map_err(|error| {
        let _ = ratatui::try_restore();
        Failure::terminal(&error)
    })
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
