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

/// The longest time that can be noted.
const LONGEST_NS: u32 = u32::MAX;

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
        let mut histogram = Histogram::new_with_max(LONGEST_NS.into(), DIGITS)
            .expect("the bounds are within what it can keep");
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
        let ns = u32::try_from(self.begun.elapsed().as_nanos()).unwrap_or(LONGEST_NS);
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

    #[test]
    fn distribution_keeps_pauses_of_any_length() {
        for ns in [0, 1, 2_047, 2_048, 12_345_678, LONGEST_NS] {
            let mut pauses = Pauses::new();
            pauses.least_ns.push(ns);
            let longest = pauses.distribution().max() as f64;
            assert!(
                (longest - f64::from(ns)).abs() <= f64::from(ns) / 1e3,
                "{longest} for {ns}"
            );
        }
    }
}
