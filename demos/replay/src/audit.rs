//! An account of a cache's expiries that does not trust its queue.
//!
//! The audit keeps the deadline of every key itself, from what the cache asked of the queue, and compares each expiry
//! with it. An advance to `now` must fire exactly the deadlines up to `now`, so an expiry is
//!
//! - **early** if its deadline is after this advance, or if its key has no timer;
//! - **late** if an earlier advance had reached its deadline; so are timers that are due and have not fired when the
//!   trace ends.

use xxhash_rust::xxh3::Xxh3Default;

use crate::cache::Observer;
use crate::trace::KeyId;

#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Findings {
    /// A hash over (time of the advance, key, deadline) of all expiries in order.
    pub(crate) digest: u64,
    /// Expiries before the first advance that reached their deadline.
    pub(crate) early: u64,
    /// Expiries after it, or not at all.
    pub(crate) late: u64,
    /// The error of the queue's own count of its timers in the end.
    pub(crate) miscounted: u64,
    pub(crate) most_live: u64,
}

pub(crate) struct Audit {
    /// Each key's deadline, or `NONE`.
    deadlines_ns: Vec<u64>,
    digest: Xxh3Default,
    live: u64,
    last_advance_ns: Option<u64>,
    findings: Findings,
}

/// No deadline; a trace cannot have this one.
const NONE: u64 = u64::MAX;

impl Audit {
    /// An account of keys below a number.
    pub(crate) fn new(keys: u32) -> Self {
        Self {
            deadlines_ns: vec![NONE; keys as usize],
            digest: Xxh3Default::new(),
            live: 0,
            last_advance_ns: None,
            findings: Findings::default(),
        }
    }

    /// Closes the account, given the queue's own count of its timers.
    pub(crate) fn finish(mut self, queue_len: usize) -> Findings {
        if let Some(end_ns) = self.last_advance_ns {
            let overdue = self.deadlines_ns.iter().filter(|&&deadline_ns| deadline_ns <= end_ns);
            self.findings.late += overdue.count() as u64;
        }
        self.findings.digest = self.digest.digest();
        self.findings.miscounted = self.live.abs_diff(queue_len as u64);
        self.findings
    }
}

impl Observer for Audit {
    fn advanced(&mut self, now_ns: u64) {
        self.last_advance_ns = Some(now_ns);
    }

    fn scheduled(&mut self, key: KeyId, deadline_ns: u64) {
        self.deadlines_ns[key.index()] = deadline_ns;
        self.live += 1;
        self.findings.most_live = self.findings.most_live.max(self.live);
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
            self.findings.early += 1;
        } else if self.last_advance_ns.is_some_and(|last_ns| deadline_ns <= last_ns) {
            self.findings.late += 1;
        }
        if deadline_ns != NONE {
            self.live -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of two timers, of 10 and 11, are early, late and miscounted after advances to `reached`, when the first
    /// expires on the way to `expired`, if at all.
    fn faults(reached: &[u64], expired: Option<u64>, queue_len: usize) -> [u64; 3] {
        let mut audit = Audit::new(3);
        audit.scheduled(KeyId(1), 10);
        audit.scheduled(KeyId(2), 11);
        reached.iter().for_each(|&now_ns| audit.advanced(now_ns));
        // The deadline that the queue reports does not count.
        expired.inspect(|&now_ns| audit.expired(now_ns, KeyId(1), 99));
        let findings = audit.finish(queue_len);
        [findings.early, findings.late, findings.miscounted]
    }

    #[test]
    fn expiry_is_on_time_at_the_first_advance_past_its_deadline_only() {
        assert_eq!(faults(&[9], Some(10), 1), [0, 0, 0]);
        assert_eq!(faults(&[], Some(20), 1), [0, 0, 0]);
        assert_eq!(faults(&[8], Some(9), 1), [1, 0, 0]);
        assert_eq!(faults(&[9, 10], Some(10), 1), [0, 1, 0]);
        assert_eq!(faults(&[9, 10], None, 1), [0, 1, 1]);
        let mut without_a_timer = Audit::new(3);
        without_a_timer.scheduled(KeyId(1), 10);
        without_a_timer.cancelled(KeyId(1));
        without_a_timer.expired(20, KeyId(1), 10);
        assert_eq!(without_a_timer.finish(0).early, 1);
    }
}
