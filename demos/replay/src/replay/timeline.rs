//! Live timers and expiries over trace time, in equal bins.

use crate::trace::Trace;

/// How many bins a picture has, unless the trace's clock is too coarse for it.
const BINS: u64 = 240;

/// Two curves over time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Timeline {
    start_ns: u64,
    /// The width of a bin.
    bin_ns: u64,
    /// Live timers at the end of each bin that is over.
    live: Vec<u64>,
    /// Expiries in each bin.
    expired: Vec<u64>,
}

impl Timeline {
    /// A timeline of a trace, without a past.
    pub(crate) fn new(trace: &Trace) -> Self {
        // One more than the last time's distance, so that the last time lies within a bin.
        let span_ns = trace.end_ns() - trace.start_ns() + 1;
        let bin_ns = span_ns.div_ceil(BINS).next_multiple_of(trace.resolution_ns);
        Self {
            start_ns: trace.start_ns(),
            bin_ns,
            live: Vec::new(),
            expired: vec![0; span_ns.div_ceil(bin_ns) as usize],
        }
    }

    /// Time moves on: bins that are over keep what was live in them.
    pub(crate) fn reach(&mut self, now_ns: u64, live: u64) {
        let over = self.bin(now_ns);
        while self.live.len() < over {
            self.live.push(live);
        }
    }

    /// A timer fires.
    pub(crate) fn expire(&mut self, now_ns: u64) {
        let bin = self.bin(now_ns);
        self.expired[bin] += 1;
    }

    /// The trace is over: so is the last bin.
    pub(crate) fn finish(&mut self, live: u64) {
        self.live.resize(self.expired.len(), live);
    }

    /// The width of a bin in seconds.
    pub(crate) fn bin_s(&self) -> f64 {
        self.bin_ns as f64 / crate::figure::NS_PER_S as f64
    }

    /// Live timers at the end of each bin.
    pub(crate) fn live(&self) -> &[u64] {
        &self.live
    }

    /// Expiries in each bin.
    pub(crate) fn expired(&self) -> &[u64] {
        &self.expired
    }

    fn bin(&self, now_ns: u64) -> usize {
        ((now_ns - self.start_ns) / self.bin_ns) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{KeyId, Operation, Request, Skipped};

    fn timeline(start_ns: u64, end_ns: u64, resolution_ns: u64) -> Timeline {
        Timeline::new(&Trace {
            name: String::new(),
            requests: vec![
                Request::new(start_ns, Operation::Get, KeyId(0), 0),
                Request::new(end_ns, Operation::Get, KeyId(0), 0),
            ],
            keys: 1,
            resolution_ns,
            skipped: Skipped::default(),
        })
    }

    #[test]
    fn timeline_of_one_moment_has_one_bin() {
        let mut timeline = timeline(7, 7, 1_000);
        timeline.expire(7);
        timeline.reach(7, 3);
        timeline.finish(3);
        assert_eq!((timeline.live(), timeline.expired()), (&[3][..], &[1][..]));
    }

    #[test]
    fn timeline_bins_are_never_finer_than_the_clock() {
        let timeline = timeline(1_000, 11_000, 1_000);
        assert_eq!(timeline.expired().len(), 11);
    }

    #[test]
    fn timeline_keeps_what_was_live_when_a_bin_ended() {
        let mut timeline = timeline(0, 3, 1);
        timeline.reach(0, 0);
        timeline.reach(2, 5);
        timeline.expire(3);
        timeline.reach(3, 4);
        timeline.finish(9);
        assert_eq!(timeline.live(), [5, 5, 4, 9]);
        assert_eq!(timeline.expired(), [0, 0, 0, 1]);
    }
}
