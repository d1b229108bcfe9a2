//! The time of every call of a run, and what the same calls take when nothing disturbs them.
//!
//! The longest of millions of calls is, on a shared machine, the one during which something else ran.
//! The calls of a run are the same each time, so the fastest of several runs is taken call by call:
//! what remains long is long by itself.

use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// What tells how long a call takes.
pub(super) trait Clock: Copy {
    fn read() -> Self;

    fn since(self, earlier: Self) -> Duration;

    #[inline]
    fn ns_until_now(self) -> u32 {
        let elapsed = Self::read().since(self);
        u32::try_from(elapsed.as_nanos()).unwrap_or(u32::MAX)
    }
}

/// All that happens meanwhile counts.
impl Clock for Instant {
    #[inline]
    fn read() -> Self {
        Self::now()
    }

    #[inline]
    fn since(self, earlier: Self) -> Duration {
        self - earlier
    }
}

/// Only what this thread does counts, and the interrupts that come meanwhile. A reading takes some ten
/// times as long.
impl Clock for ThreadTime {
    #[inline]
    fn read() -> Self {
        Self::now()
    }

    #[inline]
    fn since(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

/// The calls of one experiment, run several times over. Each lasts as long as it takes to read the clock besides.
pub(super) struct Calls<C = Instant> {
    last: C,
    at: usize,
    run_ns: Vec<u32>,
    calm_ns: Vec<u32>,
}

/// What came of one run.
pub(super) struct Run {
    pub(super) longest_ns: u32,
    /// The time that one call in 10,000 exceeds.
    pub(super) tail_ns: u32,
}

impl<C: Clock> Calls<C> {
    /// Room for so many calls, in memory that has been touched before the clock starts.
    pub(super) fn with_capacity(most_calls: usize) -> Self {
        Self {
            last: C::read(),
            at: 0,
            run_ns: vec![1; most_calls],
            calm_ns: vec![u32::MAX; most_calls],
        }
    }

    pub(super) fn start_run(&mut self) {
        self.at = 0;
        self.last = C::read();
    }

    /// Leaves out what went by since the end of the last call.
    #[inline]
    pub(super) fn start_call(&mut self) {
        self.last = C::read();
    }

    /// Notes the end of a call, which is the start of the next: one reading of the clock a call.
    ///
    /// # Panics
    ///
    /// If there are more calls than there is room for.
    #[inline]
    pub(super) fn end_call(&mut self) {
        let now = C::read();
        let elapsed = now.since(self.last);
        self.run_ns[self.at] = u32::try_from(elapsed.as_nanos()).unwrap_or(u32::MAX);
        self.at += 1;
        self.last = now;
    }

    pub(super) fn end_run(&mut self) -> Run {
        let run_ns = &mut self.run_ns[..self.at];
        for (calm_ns, &ns) in self.calm_ns.iter_mut().zip(&*run_ns) {
            *calm_ns = ns.min(*calm_ns);
        }
        Run {
            longest_ns: longest(run_ns),
            tail_ns: tail(run_ns),
        }
    }

    /// The longest call when each is given the fastest of its runs.
    pub(super) fn calm_longest_ns(&self) -> u32 {
        longest(&self.calm_ns[..self.at])
    }
}

fn longest(calls_ns: &[u32]) -> u32 {
    calls_ns.iter().copied().max().unwrap_or(0)
}

fn tail(calls_ns: &mut [u32]) -> u32 {
    exceeded_by_one_in(10_000, calls_ns)
}

/// The time that one call in so many exceeds. Reorders the calls.
pub(super) fn exceeded_by_one_in(calls: usize, calls_ns: &mut [u32]) -> u32 {
    let rank = calls_ns.len() - calls_ns.len().div_ceil(calls);
    *calls_ns.select_nth_unstable(rank).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_is_exceeded_by_one_call_in_ten_thousand() {
        let mut calls_ns: Vec<u32> = (0..20_000).rev().collect();
        assert_eq!(longest(&calls_ns), 19_999);
        assert_eq!(tail(&mut calls_ns), 19_998);
    }

    #[test]
    fn calm_longest_takes_each_call_at_its_fastest() {
        let mut calls = Calls::<Instant>::with_capacity(3);
        for run_ns in [[5, 900, 7], [6, 8, 800]] {
            calls.start_run();
            calls.run_ns.copy_from_slice(&run_ns);
            calls.at = 3;
            assert!(calls.end_run().longest_ns >= 800);
        }
        assert_eq!(calls.calm_longest_ns(), 8);
    }
}
