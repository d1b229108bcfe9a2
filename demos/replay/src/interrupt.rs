//! The interrupt flag: raised by the signal handler, checked by every long loop.
//!
//! A loop that finds the flag raised returns an error, so that temporary files are dropped on the way out.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static RAISED: AtomicBool = AtomicBool::new(false);

/// The exit status of a run that was interrupted, as in shells.
pub(crate) const EXIT_STATUS: u8 = 130;

/// How many steps a loop may take between two checks: well under 10 ms of work.
pub(crate) const STEPS_BETWEEN_CHECKS: usize = 1 << 14;

/// Makes SIGINT, SIGTERM and SIGHUP raise the flag. The second signal ends the process at once, because the first
/// may have come while a pipe was waited for; so does any signal where no handler can be installed.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_STATUS.into());
        }
    });
}

/// Fails with an error of the kind `Interrupted` once the flag is raised.
pub(crate) fn check() -> io::Result<()> {
    match RAISED.load(Ordering::Relaxed) {
        true => Err(error()),
        false => Ok(()),
    }
}

pub(crate) fn error() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted, no report written")
}
