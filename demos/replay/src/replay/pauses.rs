//! How long each call to advance a queue took.
//!
//! Every pass makes the same calls in the same order, so a call can be timed once a round. Its time is the least of
//! those: the rest is due to the machine, an interrupt or a neighbour. A time includes reading the clock, some 20 to
//! 50 ns, and the cache's work on what expired.

use std::time::Instant;

use hdrhistogram::Histogram;

use crate::observer::Observer;

/// The longest time that can be noted: 4.29 s.
const LONGEST_NS: u32 = u32::MAX;

/// The calls of all rounds so far.
///
/// Invariant: the calls of the current round before `next` are counted in `least_ns`.
#[derive(Default)]
pub(crate) struct Pauses {
    /// The least time of each call, in ns.
    least_ns: Vec<u32>,
    next: usize,
    begun: Option<Instant>,
}

impl Pauses {
    pub(crate) fn begin_round(&mut self) {
        self.next = 0;
    }

    pub(crate) fn distribution(&self) -> Histogram<u64> {
        let mut histogram =
            Histogram::new_with_max(LONGEST_NS.into(), 3).expect("the bounds are within what a histogram can hold");
        for &ns in &self.least_ns {
            histogram.saturating_record(ns.into());
        }
        histogram
    }
}

impl Observer for Pauses {
    fn advance_begins(&mut self) {
        self.begun = Some(Instant::now());
    }

    fn advanced(&mut self, _now_ns: u64) {
        let ns = self.begun.map_or(0, |begun| begun.elapsed().as_nanos());
        let ns = u32::try_from(ns).unwrap_or(LONGEST_NS);
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
    fn distribution_has_one_time_a_call_of_any_length() {
        let mut pauses = Pauses::default();
        for _ in 0..3 {
            pauses.begin_round();
            for _ in 0..5 {
                pauses.advance_begins();
                pauses.advanced(0);
            }
        }
        assert_eq!(pauses.distribution().len(), 5);
        pauses.least_ns = vec![0, LONGEST_NS];
        assert!(pauses.distribution().max() >= u64::from(LONGEST_NS) / 1_000 * 999);
    }
}
