//! Live timers and expiries over trace time, in equal bins.

use crate::figure::NS_PER_S;
use crate::trace::Trace;

/// How many bins a chart has, unless the trace's clock is too coarse for it.
const BINS: u64 = 240;

/// Two curves over time.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Timeline {
    start_ns: u64,
    bin_ns: u64,
    /// Live timers at the end of each bin that is over.
    pub(crate) live: Vec<u64>,
    /// Expiries in each bin.
    pub(crate) expired: Vec<u64>,
}

impl Timeline {
    /// A timeline of a trace that has not begun.
    pub(crate) fn new(trace: &Trace) -> Self {
        // One more than the length, so that the last request lies within a bin.
        let span_ns = trace.length_ns() + 1;
        let bin_ns = span_ns.div_ceil(BINS).next_multiple_of(trace.resolution_ns);
        Self {
            start_ns: trace.start_ns(),
            bin_ns,
            live: Vec::new(),
            expired: vec![0; span_ns.div_ceil(bin_ns) as usize],
        }
    }

    /// Time passes: bins that are over keep how many timers were live in them.
    pub(crate) fn reach(&mut self, now_ns: u64, live: u64) {
        let over = self.bin(now_ns).max(self.live.len());
        self.live.resize(over, live);
    }

    pub(crate) fn expire(&mut self, now_ns: u64) {
        let bin = self.bin(now_ns);
        self.expired[bin] += 1;
    }

    /// The trace is over, and so is the last bin.
    pub(crate) fn finish(&mut self, live: u64) {
        self.live.resize(self.expired.len(), live);
    }

    pub(crate) fn bin_s(&self) -> f64 {
        self.bin_ns as f64 / NS_PER_S as f64
    }

    fn bin(&self, now_ns: u64) -> usize {
        ((now_ns - self.start_ns) / self.bin_ns) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::of_two_requests;

    #[test]
    fn timeline_keeps_what_was_live_when_a_bin_ended_and_what_expired_in_it() {
        let mut timeline = Timeline::new(&of_two_requests(0, 3, 1));
        timeline.reach(0, 0);
        timeline.reach(2, 5);
        timeline.expire(3);
        timeline.reach(3, 4);
        timeline.finish(9);
        assert_eq!((timeline.live, timeline.expired), (vec![5, 5, 4, 9], vec![0, 0, 0, 1]));
        let of_a_moment = Timeline::new(&of_two_requests(7, 7, 1_000));
        assert_eq!(of_a_moment.expired.len(), 1);
        let of_a_coarse_clock = Timeline::new(&of_two_requests(1_000, 11_000, 1_000));
        assert_eq!(of_a_coarse_clock.expired.len(), 11);
    }
}
