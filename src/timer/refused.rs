//! The answer to what cannot be scheduled.

use std::error::Error;
use std::fmt;

/// The timer did not take a job. It hands the job back.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused<F> {
    reason: Reason,
    job: F,
}

/// Why a timer did not take a job.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The timer has been shut down.
    ShutDown,
    /// A periodic job needs a period.
    ZeroPeriod,
}

impl<F> Refused<F> {
    pub(super) fn new(reason: Reason, job: F) -> Self {
        Self { reason, job }
    }

    pub(super) fn into_parts(self) -> (Reason, F) {
        (self.reason, self.job)
    }

    /// Why the job was not taken.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The job.
    pub fn into_job(self) -> F {
        self.job
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShutDown => "the timer is shut down",
            Self::ZeroPeriod => "the period of a job must be longer than zero",
        })
    }
}

impl<F> fmt::Display for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<F> fmt::Debug for Refused<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<F> Error for Refused<F> {}
