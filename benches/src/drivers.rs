//! `Timer` and `LocalTimer` beside other ways to run jobs and wake tasks when they are due.
//!
//! - *W17*: producers schedule jobs and cancel the oldest, with one timer for all of them or one each.
//! - *W18*: `timeout` around a future that is ready, or pending once, and a sleep that is reset.
//! - *W18-local*: the same on one thread, with sleeps that wait meanwhile; and sleeps that expire.
//! - *lateness*: jobs fire at a given rate, and each notes how late it was.
//!
//! All that fires and all that is cancelled is counted: a driver that loses a job is an error, not a figure.

mod driver;
mod jobs;
mod local;
mod timeouts;

use crate::figure::Figure;

/// What is measured, of what.
pub struct Workload {
    pub name: &'static str,
    pub figures: &'static [Figure],
    /// How many threads there are, sleeps that wait, or firings a second.
    sizes: &'static [u64],
    /// The one that the others are held against first.
    pub subjects: &'static [(&'static str, Measure)],
}

/// Measures a driver once at a size, with so much effort: a number for each figure.
type Measure = fn(u64, u64) -> Result<Vec<f64>, String>;

pub static ALL: [&Workload; 4] = [&jobs::W17, &timeouts::W18, &local::W18_LOCAL, &jobs::LATENESS];

impl Workload {
    /// How many calls a thread makes, and the sizes, in a run that is asked for so many timers.
    pub fn plan(&self, most: usize) -> (u64, impl Iterator<Item = u64>) {
        // Enough for the lowest rate: at a higher one there would be more firings than calls.
        let effort = (most as u64 / 2).clamp(5_000, 500_000);
        (effort, self.sizes.iter().copied().filter(move |&size| size <= effort / 5))
    }
}
