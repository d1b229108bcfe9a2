//! The interrupt flag: raised by the signal handler, asked by every long loop.
//!
//! Nothing is killed in mid-air. A loop that finds the flag raised returns [`Failure::Interrupted`],
//! so that temporary files are dropped on the way out.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

static RAISED: AtomicBool = AtomicBool::new(false);

/// How many steps a loop may take between two looks at the flag: well under 10 ms of work.
pub(crate) const STEPS_BETWEEN_CHECKS: usize = 1 << 14;

/// Lets the terminal's interrupt, a request to terminate and the loss of the terminal raise the flag. The
/// second of them ends the process at once: the first may have come while a pipe was waited for.
///
/// Where no handler can be installed, an interrupt ends the process at once, as without this call.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::Relaxed) {
            std::process::exit(Failure::Interrupted.exit_status().into());
        }
    });
}

/// Fails once the flag is raised.
pub(crate) fn check() -> Result<(), Failure> {
    if RAISED.load(Ordering::Relaxed) {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}
