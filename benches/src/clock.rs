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

/// The time of every call of an experiment, which may be run several times over.
///
/// The longest of millions of calls is, on a shared machine, the one during which something else ran. The calls of a
/// run are the same each time, so each call counts at its fastest: the *calm* times.
pub struct Calls {
    read: fn(Instant) -> Duration,
    origin: Instant,
    last: Duration,
    at: usize,
    ns: Vec<u32>,
}

impl Calls {
    /// Room for so many calls. No call has started, so that none counts what comes before it, such as making this room.
    fn new(read: fn(Instant) -> Duration, most_calls: usize) -> Self {
        Self { read, origin: Instant::now(), last: Duration::MAX, at: 0, ns: vec![u32::MAX; most_calls] }
    }

    /// All that happens meanwhile counts.
    pub fn on_the_wall(most_calls: usize) -> Self {
        Self::new(|origin| origin.elapsed(), most_calls)
    }

    /// Only what this thread does counts. A reading takes some ten times as long.
    pub fn of_the_thread(most_calls: usize) -> Self {
        Self::new(|_| ThreadTime::now().as_duration(), most_calls)
    }

    pub fn start_run(&mut self) {
        self.at = 0;
        self.start_call();
    }

    /// Leaves out what went by since the end of the last call.
    #[inline]
    pub fn start_call(&mut self) {
        self.last = (self.read)(self.origin);
    }

    /// Notes the end of a call, which is the start of the next: one reading of the clock a call.
    ///
    /// # Panics
    ///
    /// If no call has started.
    #[inline]
    pub fn end_call(&mut self) {
        let now = (self.read)(self.origin);
        self.note(u32::try_from((now - self.last).as_nanos()).unwrap_or(u32::MAX));
        self.last = now;
    }

    #[inline]
    fn note(&mut self, ns: u32) {
        self.ns[self.at] = ns.min(self.ns[self.at]);
        self.at += 1;
    }

    /// How many calls the last run had.
    pub fn count(&self) -> usize {
        self.at
    }

    /// The longest call of the last run, when each is given the fastest of its runs.
    pub fn longest_ns(&self) -> f64 {
        f64::from(self.ns[..self.at].iter().copied().max().unwrap_or(0))
    }

    /// Of the same, the time that such a share of the calls does not exceed. O(n log n).
    pub fn quantile_ns(&self, share: f64) -> f64 {
        let mut sorted = self.ns[..self.at].to_vec();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        f64::from(sorted[rank.saturating_sub(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "overflow when subtracting durations")]
    fn call_that_has_not_started_does_not_end() {
        Calls::of_the_thread(1).end_call();
    }

    #[test]
    fn longest_call_takes_each_at_its_fastest() {
        let mut calls = Calls::on_the_wall(3);
        for run in [[5, 900, 7], [800, 6, 3]] {
            calls.start_run();
            run.into_iter().for_each(|ns| calls.note(ns));
        }
        assert_eq!(calls.longest_ns(), 6.0);
        assert_eq!([0.0, 0.3, 0.5, 0.99].map(|share| calls.quantile_ns(share)), [3.0, 3.0, 5.0, 6.0]);
    }
}
