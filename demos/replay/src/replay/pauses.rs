//! How long each call to advance a queue took.
//!
//! The same pass makes the same calls in the same order, so that a call can be timed once a round, and
//! what it takes is the least of its times: the rest is the machine's doing, an interrupt or a neighbour.
//! A time includes that of reading the clock, some 20 to 50 ns, and the cache's work on what expired.

use std::time::Instant;

use hdrhistogram::Histogram;

use crate::observer::Observer;

/// Significant decimal digits that the distribution keeps.
const DIGITS: u8 = 3;

/// The calls of all rounds so far.
///
/// Invariant: the calls of the current round before `next` are counted in `least_ns`.
pub(crate) struct Pauses {
    /// The least time of each call, in ns, at most the 4.29 s that fit.
    least_ns: Vec<u32>,
    /// The call that comes next.
    next: usize,
    begun: Instant,
}

impl Pauses {
    /// No calls.
    pub(crate) fn new() -> Self {
        Self {
            least_ns: Vec::new(),
            next: 0,
            begun: Instant::now(),
        }
    }

    /// Goes back to the first call.
    pub(crate) fn begin_round(&mut self) {
        self.next = 0;
    }

    /// The distribution of all calls.
    pub(crate) fn distribution(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(DIGITS).expect("the digits are within what it can keep");
        for &ns in &self.least_ns {
            histogram.saturating_record(ns.into());
        }
        histogram
    }
}

impl Observer for Pauses {
    fn call_begins(&mut self) {
        self.begun = Instant::now();
    }

    fn call_ended(&mut self) {
        let ns = u32::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u32::MAX);
        match self.least_ns.get_mut(self.next) {
            Some(least) => *least = ns.min(*least),
            None => self.least_ns.push(ns),
        }
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_keep_one_time_a_call_however_many_rounds() {
        let mut pauses = Pauses::new();
        for _ in 0..3 {
            pauses.begin_round();
            for _ in 0..5 {
                pauses.call_begins();
                pauses.call_ended();
            }
        }
        assert_eq!(pauses.distribution().len(), 5);
    }
}
