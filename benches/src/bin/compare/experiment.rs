//! The experiments: each makes an input, and measures a queue once on it.
//!
//! One experiment may serve several workloads, where one leaves the queue as the next one needs it.

pub(crate) mod budgeted;
pub(crate) mod burst;
pub(crate) mod caffeine;
mod calls;
pub(crate) mod churn;
pub(crate) mod evict;
pub(crate) mod expire;
pub(crate) mod far;
pub(crate) mod fill;
pub(crate) mod hold;
pub(crate) mod idle;
mod lives;
pub(crate) mod longest;
pub(crate) mod memory;
pub(crate) mod moves;
pub(crate) mod pause;
pub(crate) mod peak;
pub(crate) mod refresh;
pub(crate) mod server;
pub(crate) mod sizes;
pub(crate) mod small;
#[cfg(test)]
mod tests;
pub(crate) mod wake;

use std::time::{Duration, Instant};

use timer_wheel_bench::queue::Queue;

use crate::answer::WrongAnswer;
use crate::figure::Sample;

/// Measures a queue once on an input.
pub(crate) type Measure<Input> = fn(&Input) -> Result<Vec<Sample>, WrongAnswer>;

/// How often to repeat an experiment within one measurement, so that a small one lasts long enough
/// for the clock.
fn passes(n: usize) -> usize {
    const WORTH_TIMING: usize = 200_000;
    (WORTH_TIMING / n).clamp(1, 20)
}

/// Room for `n` keys whose memory has been touched: writing them is to cost the same the first time.
fn room_for_keys<Q: Queue>(n: usize) -> Vec<Q::Key> {
    let placeholder = Q::new(0).schedule(0, 0);
    vec![placeholder; n]
}

/// Nanoseconds for each of `operations`.
fn ns_each(elapsed: Duration, operations: usize) -> f64 {
    elapsed.as_nanos() as f64 / operations as f64
}

/// Runs `work`, adding the time it takes to `elapsed`.
#[inline]
fn timed<R>(elapsed: &mut Duration, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    *elapsed += start.elapsed();
    result
}
