//! The design of Dongting's `TtlManager`, without its defects: two ordered sets and a map.
//!
//! One set holds the entries that wait for their deadline, the other those that are in flight: by when
//! their answer is overdue, or by when they are to be proposed again. Every change of an
//! entry takes it out of one set and puts it into one. It answers exactly as
//! [`TtlQueue`](timer_wheel::ttl::TtlQueue) does with a constant backoff, so that the two can be
//! compared answer by answer, and keeps of an entry what the rules name (T1 in `docs/ttl.md`); it leaves
//! out what is not measured, counters and snapshots.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use timer_wheel::ttl::{Context, DefaultHashBuilder, Entry, TtlConfig};

/// Why an entry is in the second set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    Answer,
    Retry,
}

/// Where an entry is: the key of its place in one of the sets.
#[derive(Clone, Copy, Debug)]
enum Place {
    Queued,
    Waiting { wait: Wait, at: u64, nth: u64 },
}

#[derive(Debug)]
struct Info {
    index: u64,
    owner: u128,
    leader_start_ms: u64,
    ttl_ms: u64,
    deadline: u64,
    sequence: u64,
    attempts: u32,
    place: Place,
}

/// An expiry that a poll yields: as [`Expiry`](timer_wheel::ttl::Expiry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<K> {
    /// The key whose TTL is over.
    pub key: K,
    /// The log index that set the TTL.
    pub index: u64,
    /// The owner of the key.
    pub owner: u128,
    /// The count of this proposal since the last change of role.
    pub attempt: u32,
}

/// Keys with a TTL, in two ordered sets. Every operation is O(log n), and a change of role O(n log n).
///
/// Invariant: each entry of the map is in one of the sets, where its place says.
#[derive(Debug)]
pub struct TwoSets<K> {
    expire_batch: usize,
    retry_batch: usize,
    retry_delay: u64,
    pending_timeout: u64,
    max_pending: usize,
    now: u64,
    is_leader: bool,
    next: u64,
    map: HashMap<K, Info, DefaultHashBuilder>,
    queue: BTreeSet<(u64, u64, K)>,
    waiting: BTreeSet<(u64, u64, Wait, K)>,
}

impl<K: Copy + Ord + Hash> TwoSets<K> {
    /// An empty queue on a follower. Of the backoff only the retry delay counts.
    pub fn new(config: &TtlConfig) -> Self {
        let ns = |duration: std::time::Duration| duration.as_nanos() as u64;
        Self {
            expire_batch: config.expire_batch(),
            retry_batch: config.retry_batch(),
            retry_delay: ns(config.retry_delay()),
            pending_timeout: ns(config.pending_timeout()),
            max_pending: config.max_pending(),
            now: 0,
            is_leader: false,
            next: 0,
            map: HashMap::default(),
            queue: BTreeSet::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// Makes room in the map.
    pub fn reserve(&mut self, additional: usize) {
        self.map.reserve(additional);
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Sets a key's TTL, unless it has one of this index or a newer one; whether it did.
    pub fn init(&mut self, index: u64, key: K, ttl_ms: u64, ctx: Context) -> bool {
        let lifetime = ttl_ms.saturating_mul(1_000_000);
        let deadline = ctx.created_ns.saturating_add(lifetime);
        let sequence = self.take_next();
        let info = Info {
            index,
            owner: ctx.owner,
            leader_start_ms: ctx.leader_start_ms,
            ttl_ms,
            deadline,
            sequence,
            attempts: 0,
            place: Place::Queued,
        };
        match self.map.get_mut(&key) {
            Some(known) if known.index >= index => return false,
            Some(known) => {
                withdraw(&mut self.queue, &mut self.waiting, key, known);
                *known = info;
            }
            None => {
                self.map.insert(key, info);
            }
        }
        self.queue.insert((deadline, sequence, key));
        true
    }

    /// What the replicas agree on for a key that has a TTL.
    pub fn entry(&self, key: &K) -> Option<Entry<K>> {
        let info = self.map.get(key)?;
        let entry = Entry::new(*key, info.index, info.ttl_ms).with_owner(info.owner);
        Some(entry.with_leader_start_ms(info.leader_start_ms))
    }

    /// The key was deleted: its entry goes. Whether there was one.
    pub fn remove(&mut self, key: K) -> bool {
        let Some(info) = self.map.remove(&key) else {
            return false;
        };
        withdraw(&mut self.queue, &mut self.waiting, key, &info);
        true
    }

    /// The expiry came back: ends the entry if it has that index; whether it did.
    pub fn applied(&mut self, key: K, index: u64) -> bool {
        if self.map.get(&key).is_none_or(|info| info.index != index) {
            return false;
        }
        self.remove(key)
    }

    /// The proposal was refused: it is made again after the retry delay. Whether it was pending.
    pub fn failed(&mut self, key: K, index: u64, now: u64) -> bool {
        self.now = self.now.max(now);
        let is_pending = |info: &&Info| {
            let wait = matches!(info.place, Place::Waiting { wait: Wait::Answer, .. });
            wait && info.index == index
        };
        if self.map.get(&key).filter(is_pending).is_none() {
            return false;
        }
        self.fail(key);
        true
    }

    fn fail(&mut self, key: K) {
        let nth = self.take_next();
        let at = self.now.saturating_add(self.retry_delay);
        let Some(info) = self.map.get_mut(&key) else {
            return;
        };
        withdraw(&mut self.queue, &mut self.waiting, key, info);
        info.place = Place::Waiting { wait: Wait::Retry, at, nth };
        self.waiting.insert((at, nth, Wait::Retry, key));
    }

    /// Hands what is due to `propose`, within the batches, and says how long to wait.
    pub fn poll(&mut self, now: u64, mut propose: impl FnMut(Proposal<K>)) -> Option<u64> {
        self.now = self.now.max(now);
        if !self.is_leader {
            return None;
        }
        let mut timeouts = self.expire_batch + self.retry_batch;
        let mut retries = self.retry_batch;
        while let Some(&(at, _, wait, key)) = self.waiting.first() {
            match wait {
                _ if at > self.now => break,
                Wait::Answer if timeouts != 0 => {
                    timeouts -= 1;
                    self.fail(key);
                }
                Wait::Retry if retries != 0 => {
                    retries -= 1;
                    self.waiting.pop_first();
                    propose(self.make_pending(key));
                }
                _ => break,
            }
        }
        for _ in 0..self.expire_batch {
            match self.queue.first() {
                Some(&(deadline, ..)) if deadline <= self.now && !self.is_crowded() => {}
                _ => break,
            }
            if let Some((_, _, key)) = self.queue.pop_first() {
                propose(self.make_pending(key));
            }
        }
        self.next_wake()
    }

    /// How long to wait from the time of the last poll on.
    pub fn next_wake(&self) -> Option<u64> {
        if !self.is_leader {
            return None;
        }
        let deadline = self.queue.first().map(|&(deadline, ..)| deadline);
        let deadline = deadline.filter(|_| !self.is_crowded());
        let first = self.waiting.first().map(|&(at, ..)| at);
        let earliest = [deadline, first].into_iter().flatten().min()?;
        Some(earliest.saturating_sub(self.now))
    }

    fn is_crowded(&self) -> bool {
        self.waiting.len() >= self.max_pending
    }

    /// Puts all that was proposed back.
    pub fn role_change(&mut self, is_leader: bool, now: u64) {
        self.now = self.now.max(now);
        self.is_leader = is_leader;
        for (.., key) in std::mem::take(&mut self.waiting) {
            if let Some(info) = self.map.get_mut(&key) {
                info.place = Place::Queued;
                info.attempts = 0;
                self.queue.insert((info.deadline, info.sequence, key));
            }
        }
    }

    fn make_pending(&mut self, key: K) -> Proposal<K> {
        let nth = self.take_next();
        let at = self.now.saturating_add(self.pending_timeout);
        self.waiting.insert((at, nth, Wait::Answer, key));
        let info = self.map.get_mut(&key).expect("every place has an entry");
        info.attempts += 1;
        info.place = Place::Waiting { wait: Wait::Answer, at, nth };
        Proposal { key, index: info.index, owner: info.owner, attempt: info.attempts }
    }

    fn take_next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// Takes an entry out of the set that it is in.
fn withdraw<K: Copy + Ord>(
    queue: &mut BTreeSet<(u64, u64, K)>,
    waiting: &mut BTreeSet<(u64, u64, Wait, K)>,
    key: K,
    info: &Info,
) {
    match info.place {
        Place::Queued => queue.remove(&(info.deadline, info.sequence, key)),
        Place::Waiting { wait, at, nth } => waiting.remove(&(at, nth, wait, key)),
    };
}

#[cfg(test)]
mod tests {
    use timer_wheel::ttl::{Outcome, Role, TtlQueue};

    use super::*;
    use crate::workload::{MILLISECOND, XorShift64Star};

    /// The measurement means something only if the two do the same.
    #[test]
    fn two_sets_answer_as_the_queue_does() {
        let config = TtlConfig::builder().expire_batch(5).retry_batch(2).max_pending(12).build();
        let config = config.expect("it makes sense");
        let mut sets = TwoSets::new(&config);
        let mut queue: TtlQueue<u64> = TtlQueue::new(0, config);
        let mut random = XorShift64Star::new();
        let mut out = Vec::new();
        let mut now = 0;
        for index in 1..30_000 {
            let key = random.below(60);
            match random.below(12) {
                0..=3 => {
                    let ttl_ms = 1 + random.below(4_000);
                    let ctx = Context::new(now)
                        .with_owner(u128::from(random.next_u64()))
                        .with_leader_start_ms(random.next_u64());
                    let outcome = queue.init(key, index, ttl_ms, ctx);
                    let changed = sets.init(index, key, ttl_ms, ctx);
                    assert_eq!(outcome.is_ok_and(|told| told != Outcome::Stale), changed);
                }
                4 if !out.is_empty() => {
                    let nth = random.below(out.len() as u64) as usize;
                    let Proposal { key, index, .. } = out.swap_remove(nth);
                    let outcome = queue.applied(&key, index);
                    assert_eq!(outcome == Outcome::Applied, sets.applied(key, index));
                }
                5 if !out.is_empty() => {
                    let nth = random.below(out.len() as u64) as usize;
                    let Proposal { key, index, .. } = out.swap_remove(nth);
                    let outcome = queue.failed(&key, index, now);
                    assert_eq!(outcome == Outcome::Failed, sets.failed(key, index, now));
                }
                6 if random.below(10) == 0 => {
                    let is_leader = random.below(4) != 0;
                    let role = if is_leader { Role::Leader } else { Role::Follower };
                    queue.role_change(role, now);
                    sets.role_change(is_leader, now);
                }
                _ => {
                    now += random.below(300 * MILLISECOND);
                    let mut due = queue.poll(now);
                    let found: Vec<_> = due
                        .by_ref()
                        .map(|due| Proposal { key: due.key, index: due.index, owner: due.owner, attempt: due.attempt })
                        .collect();
                    let wait = due.next_wake();
                    let mut expected = Vec::new();
                    let expected_wait = sets.poll(now, |proposal| expected.push(proposal));
                    assert_eq!((&found, wait), (&expected, expected_wait));
                    out.extend(found);
                }
            }
            assert_eq!(queue.len(), sets.len());
            let entry = queue.get(&key).map(|info| info.entry.clone());
            assert_eq!(entry, sets.entry(&key));
        }
        let counters = queue.as_set().stats();
        assert!(counters.timed_out > 10 && counters.retried > 10 && counters.requeued > 10);
    }
}
