//! How long a piece of work takes, and each call of it.

use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// Runs `work`, adding the time it takes to `elapsed`.
#[inline]
pub fn timed<R>(elapsed: &mut Duration, work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    *elapsed += start.elapsed();
    result
}

pub trait Clock: Copy {
    fn read() -> Self;

    fn ns_since(self, earlier: Self) -> u32;
}

/// All that happens meanwhile counts.
impl Clock for Instant {
    #[inline]
    fn read() -> Self {
        Self::now()
    }

    #[inline]
    fn ns_since(self, earlier: Self) -> u32 {
        u32::try_from((self - earlier).as_nanos()).unwrap_or(u32::MAX)
    }
}

/// Only what this thread does counts. A reading takes some ten times as long.
impl Clock for ThreadTime {
    #[inline]
    fn read() -> Self {
        Self::now()
    }

    #[inline]
    fn ns_since(self, earlier: Self) -> u32 {
        u32::try_from(self.duration_since(earlier).as_nanos()).unwrap_or(u32::MAX)
    }
}

/// The time of every call of an experiment, which may be run several times over.
///
/// The longest of millions of calls is, on a shared machine, the one during which something else ran. The calls of a run
/// are the same each time, so the fastest of several runs is taken call by call: the *calm* times.
pub struct Calls<C = Instant> {
    last: C,
    at: usize,
    run_ns: Vec<u32>,
    calm_ns: Vec<u32>,
}

impl<C: Clock> Calls<C> {
    /// Room for so many calls, in memory that has been touched before the clock starts.
    pub fn with_capacity(most_calls: usize) -> Self {
        Self { last: C::read(), at: 0, run_ns: vec![1; most_calls], calm_ns: vec![u32::MAX; most_calls] }
    }

    pub fn start_run(&mut self) {
        self.at = 0;
        self.last = C::read();
    }

    /// Leaves out what went by since the end of the last call.
    #[inline]
    pub fn start_call(&mut self) {
        self.last = C::read();
    }

    /// Notes the end of a call, which is the start of the next: one reading of the clock a call.
    #[inline]
    pub fn end_call(&mut self) {
        let now = C::read();
        self.run_ns[self.at] = now.ns_since(self.last);
        self.at += 1;
        self.last = now;
    }

    /// Ends a run and returns its calls, in nanoseconds.
    pub fn end_run(&mut self) -> &[u32] {
        let run_ns = &self.run_ns[..self.at];
        for (calm_ns, &ns) in self.calm_ns.iter_mut().zip(run_ns) {
            *calm_ns = ns.min(*calm_ns);
        }
        run_ns
    }

    /// The longest call when each is given the fastest of its runs.
    pub fn calm_longest_ns(&self) -> f64 {
        longest(&self.calm_ns[..self.at])
    }
}

pub fn longest(calls_ns: &[u32]) -> f64 {
    f64::from(calls_ns.iter().copied().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calm_longest_takes_each_call_at_its_fastest() {
        let mut calls = Calls::<Instant>::with_capacity(3);
        for run_ns in [[5, 900, 7], [6, 8, 800]] {
            calls.start_run();
            calls.run_ns.copy_from_slice(&run_ns);
            calls.at = 3;
            assert!(longest(calls.end_run()) >= 800.0);
        }
        assert_eq!(calls.calm_longest_ns(), 8.0);
    }
}
