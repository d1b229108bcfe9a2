//! What was asked of the wheel while it is watched, and how long each advance took.

use std::time::Instant;

use crate::observer::Observer;
use crate::trace::KeyId;

/// How often each thing has happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) scheduled: u64,
    pub(super) rescheduled: u64,
    pub(super) cancelled: u64,
    pub(super) expired: u64,
    /// Calls to advance.
    pub(super) calls: u64,
    /// Those among them that took up the backlog of one before.
    pub(super) repeated: u64,
}

/// A call to advance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Pause {
    pub(super) ns: u64,
    /// How many timers it fired.
    pub(super) fired: u64,
}

/// The account of one session.
pub(super) struct Tally {
    pub(super) counts: Counts,
    longest: Pause,
    /// The longest call since someone asked.
    recent: Pause,
    /// The call that is under way.
    begun: Instant,
    fired: u64,
    calls_of_advance: u64,
}

impl Tally {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            counts: Counts::default(),
            longest: Pause::default(),
            recent: Pause::default(),
            begun: Instant::now(),
            fired: 0,
            calls_of_advance: 0,
        }
    }

    /// The longest call of all.
    pub(super) fn longest(&self) -> Pause {
        self.longest
    }

    /// The longest call since the last time this was asked.
    pub(super) fn take_recent(&mut self) -> Pause {
        std::mem::take(&mut self.recent)
    }
}

impl Observer for Tally {
    fn call_begins(&mut self) {
        self.fired = 0;
        self.begun = Instant::now();
    }

    fn call_ended(&mut self) {
        let ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let pause = Pause {
            ns,
            fired: self.fired,
        };
        self.longest = self.longest.max(pause);
        self.recent = self.recent.max(pause);
        self.counts.calls += 1;
        self.calls_of_advance += 1;
    }

    fn advanced(&mut self, _now_ns: u64) {
        self.counts.repeated += self.calls_of_advance - 1;
        self.calls_of_advance = 0;
    }

    fn scheduled(&mut self, _key: KeyId, _deadline_ns: u64) {
        self.counts.scheduled += 1;
    }

    fn rescheduled(&mut self, _key: KeyId, _deadline_ns: u64) {
        self.counts.rescheduled += 1;
    }

    fn cancelled(&mut self, _key: KeyId) {
        self.counts.cancelled += 1;
    }

    fn expired(&mut self, _now_ns: u64, _key: KeyId, _deadline_ns: u64) {
        self.counts.expired += 1;
        self.fired += 1;
    }
}
