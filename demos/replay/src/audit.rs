//! An account of a cache's expiries that does not trust its queue.
//!
//! The audit keeps the deadline of every key itself, from what the cache asked of the queue, and holds
//! each expiry against it. An advance to `now` has to fire exactly the deadlines up to `now`, so an expiry
//! is
//!
//! - **early** if its deadline lies past this advance, or if its key has no timer at all;
//! - **late** if an earlier advance had reached its deadline already; timers that are due and still have
//!   not fired when the trace ends are late too.
//!
//! Calls of bounded work that make up one advance count as one.

use xxhash_rust::xxh3::Xxh3Default;

use crate::observer::Observer;
use crate::replay::timeline::Timeline;
use crate::trace::{KeyId, Trace};

/// What the audit found.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Findings {
    /// A hash over (time of the advance, key, deadline) of all expiries in order.
    pub(crate) digest: u64,
    /// Expiries before the first advance that reached their deadline.
    pub(crate) early: u64,
    /// Expiries after it, or not at all.
    pub(crate) late: u64,
    /// By how many timers the queue's own count was wrong in the end.
    pub(crate) miscounted: u64,
    /// The most timers at once.
    pub(crate) most_live: u64,
    /// How many times the queue was advanced.
    pub(crate) advances: u64,
    /// Live timers and expiries over time.
    pub(crate) timeline: Timeline,
}

/// The audit of one pass.
pub(crate) struct Audit {
    /// Each key's deadline, or `NONE`.
    deadlines_ns: Vec<u64>,
    digest: Xxh3Default,
    early: u64,
    late: u64,
    live: u64,
    most_live: u64,
    advances: u64,
    last_advance_ns: Option<u64>,
    timeline: Timeline,
}

/// No deadline; a trace cannot have this one.
const NONE: u64 = u64::MAX;

impl Audit {
    /// An audit of a cache that is still empty.
    pub(crate) fn new(trace: &Trace) -> Self {
        Self {
            deadlines_ns: vec![NONE; trace.keys as usize],
            digest: Xxh3Default::new(),
            early: 0,
            late: 0,
            live: 0,
            most_live: 0,
            advances: 0,
            last_advance_ns: None,
            timeline: Timeline::new(trace),
        }
    }

    /// Closes the account, given the queue's own count of its timers.
    pub(crate) fn finish(mut self, queue_len: usize) -> Findings {
        if let Some(end_ns) = self.last_advance_ns {
            let overdue = self
                .deadlines_ns
                .iter()
                .filter(|&&deadline_ns| deadline_ns <= end_ns);
            self.late += overdue.count() as u64;
            self.timeline.finish(self.live);
        }
        Findings {
            digest: self.digest.digest(),
            early: self.early,
            late: self.late,
            miscounted: self.live.abs_diff(queue_len as u64),
            most_live: self.most_live,
            advances: self.advances,
            timeline: self.timeline,
        }
    }
}

impl Observer for Audit {
    fn advanced(&mut self, now_ns: u64) {
        self.advances += 1;
        self.last_advance_ns = Some(now_ns);
        self.timeline.reach(now_ns, self.live);
    }

    fn scheduled(&mut self, key: KeyId, deadline_ns: u64) {
        self.deadlines_ns[key.index()] = deadline_ns;
        self.live += 1;
        self.most_live = self.most_live.max(self.live);
    }

    fn rescheduled(&mut self, key: KeyId, deadline_ns: u64) {
        self.deadlines_ns[key.index()] = deadline_ns;
    }

    fn cancelled(&mut self, key: KeyId) {
        self.deadlines_ns[key.index()] = NONE;
        self.live -= 1;
    }

    fn expired(&mut self, now_ns: u64, key: KeyId, reported_ns: u64) {
        self.digest.update(&now_ns.to_le_bytes());
        self.digest.update(&key.0.to_le_bytes());
        self.digest.update(&reported_ns.to_le_bytes());
        let deadline_ns = std::mem::replace(&mut self.deadlines_ns[key.index()], NONE);
        if deadline_ns > now_ns {
            self.early += 1;
        } else if self
            .last_advance_ns
            .is_some_and(|last_ns| deadline_ns <= last_ns)
        {
            self.late += 1;
        }
        if deadline_ns != NONE {
            self.live -= 1;
        }
        self.timeline.expire(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Operation, Request, Skipped};

    fn audit() -> Audit {
        Audit::new(&Trace {
            name: String::new(),
            requests: vec![
                Request::new(0, Operation::Get, KeyId(0), 0),
                Request::new(100, Operation::Get, KeyId(0), 0),
            ],
            keys: 3,
            resolution_ns: 1,
            skipped: Skipped::default(),
        })
    }

    #[test]
    fn expiry_at_the_first_advance_past_its_deadline_is_punctual() {
        let mut audit = audit();
        audit.advanced(0);
        audit.scheduled(KeyId(1), 10);
        audit.advanced(9);
        audit.expired(20, KeyId(1), 10);
        audit.advanced(20);
        let findings = audit.finish(0);
        assert_eq!(
            (findings.early, findings.late, findings.miscounted),
            (0, 0, 0)
        );
        assert_eq!((findings.most_live, findings.advances), (1, 3));
    }

    #[test]
    fn expiry_before_its_deadline_is_early() {
        let mut audit = audit();
        audit.scheduled(KeyId(1), 10);
        audit.expired(9, KeyId(1), 10);
        assert_eq!(audit.finish(0).early, 1);
    }

    #[test]
    fn expiry_without_a_timer_is_early() {
        let mut audit = audit();
        audit.scheduled(KeyId(1), 10);
        audit.cancelled(KeyId(1));
        audit.expired(20, KeyId(1), 10);
        assert_eq!(audit.finish(0).early, 1);
    }

    #[test]
    fn expiry_after_an_advance_reached_its_deadline_is_late() {
        let mut audit = audit();
        audit.scheduled(KeyId(1), 10);
        audit.advanced(10);
        // What the queue says of the deadline does not count.
        audit.expired(10, KeyId(1), 11);
        assert_eq!(audit.finish(0).late, 1);
    }

    #[test]
    fn timer_that_never_fires_is_late_once_due_and_missed_in_the_count() {
        let mut audit = audit();
        audit.scheduled(KeyId(1), 10);
        audit.scheduled(KeyId(2), 11);
        audit.advanced(10);
        let findings = audit.finish(1);
        assert_eq!((findings.late, findings.miscounted), (1, 1));
    }

    #[test]
    fn digest_depends_on_time_key_deadline_and_order() {
        let digest = |expiries: &[(u64, u32, u64)]| {
            let mut audit = audit();
            for &(now_ns, key, deadline_ns) in expiries {
                audit.expired(now_ns, KeyId(key), deadline_ns);
            }
            audit.finish(0).digest
        };
        let all = [
            digest(&[]),
            digest(&[(5, 1, 5), (5, 2, 5)]),
            digest(&[(5, 2, 5), (5, 1, 5)]),
            digest(&[(6, 1, 5), (6, 2, 5)]),
            digest(&[(5, 1, 4), (5, 2, 5)]),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one));
        }
    }
}
