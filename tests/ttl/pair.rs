//! The pair: the layer and its model, told the same and compared in everything that can be observed.
//!
//! The layer is there with both faces: a queue by key, and a set by handle with a map of handles as a
//! store keeps them in its records.

use std::collections::BTreeMap;

use timer_wheel::Geometry;
use timer_wheel::ttl::{
    Context, Entry, Expiry, Outcome, Phase, Role, TtlConfig, TtlError, TtlInfo, TtlKey, TtlQueue, TtlSet, TtlStats,
};

use super::model::{Key, Model, Proposal};
use crate::geometries::rotation_bits;

/// Keys that a script may name, and some that it may not.
const KEYS: Key = 40;

/// A queue, a set and their model.
pub(crate) struct Pair<G: Geometry> {
    pub(crate) queue: TtlQueue<Key, G>,
    pub(crate) model: Model,
    set: TtlSet<Key, G>,
    handles: BTreeMap<Key, TtlKey>,
    /// Handles whose entries have ended, the latest last.
    stale: Vec<TtlKey>,
    comparisons: u64,
    /// Entries restored so far.
    restored: u64,
    /// What had been [filed](Pair::filed) when there was no entry the last time.
    filed_before: u64,
}

/// The least between two wake-ups of a follower.
const MINUTE: u64 = 60_000_000_000;

/// Stale handles that are kept.
const MOST_STALE: usize = 64;

/// The levels of a wheel, with that of far rotations.
pub(crate) const LEVELS: usize = 5;

/// The most often that an entry is moved: once for each bit of its far rotation, and once on each level.
pub(crate) const fn moves_of_an_entry<G: Geometry>() -> usize {
    rotation_bits::<G>() as usize + LEVELS
}

impl<G: Geometry> Pair<G> {
    pub(crate) fn new(now: u64, config: TtlConfig) -> Self {
        let (mut set, mut queue) = (TtlSet::new(now), TtlQueue::new(now));
        set.set_config(config.clone()).and(queue.set_config(config.clone())).expect("it makes sense");
        let stale: Vec<TtlKey> = set.init(0, 1, 1, Context::default()).into_iter().flatten().collect();
        set.remove(stale[0]);
        let (model, handles) = (Model::new(now, config), BTreeMap::new());
        let pair = Self { queue, model, set, handles, stale, comparisons: 0, restored: 0, filed_before: 0 };
        pair.compare_all();
        pair
    }

    pub(crate) fn init(&mut self, key: Key, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError> {
        let found = self.init_unseen(key, index, ttl_ms, ctx);
        self.compare();
        found
    }

    /// As [`init`](Pair::init), comparing no more than the answers.
    pub(crate) fn init_unseen(&mut self, key: Key, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError> {
        let found = self.queue.init(key, index, ttl_ms, ctx);
        let by_handle = match self.handles.get(&key) {
            Some(&handle) => self.set.update(handle, index, ttl_ms, ctx),
            None => self.set.init(key, index, ttl_ms, ctx).map(|handle| {
                let handle = handle.map(|handle| self.handles.insert(key, handle));
                handle.map_or(Outcome::Ignored, |_| Outcome::Scheduled)
            }),
        };
        assert_eq!(found, by_handle, "init by handle");
        assert_eq!(found, self.model.set(false, key, index, ttl_ms, ctx), "init");
        found
    }

    pub(crate) fn update(&mut self, key: Key, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError> {
        let found = self.queue.update(&key, index, ttl_ms, ctx);
        let by_handle = self.set.update(self.handle(key), index, ttl_ms, ctx);
        assert_eq!(found, by_handle, "update by handle");
        assert_eq!(found, self.model.set(true, key, index, ttl_ms, ctx), "update");
        self.compare();
        found
    }

    pub(crate) fn remove(&mut self, key: Key) {
        let expected = self.model.remove(key).then_some(key);
        assert_eq!(self.queue.remove(&key), expected, "remove");
        assert_eq!(self.set.remove(self.handle(key)), expected, "remove by handle");
        self.drop_handle(key);
        self.compare();
    }

    pub(crate) fn applied(&mut self, key: Key, index: u64) -> Outcome {
        let found = self.queue.applied(&key, index);
        let by_handle = self.set.applied(self.handle(key), index);
        assert_eq!(found, by_handle, "applied by handle");
        assert_eq!(found, self.model.applied(key, index), "applied");
        if found == Outcome::Applied {
            self.drop_handle(key);
        }
        self.compare();
        found
    }

    pub(crate) fn failed(&mut self, key: Key, index: u64, now: u64) -> Outcome {
        let found = self.queue.failed(&key, index, now);
        let by_handle = self.set.failed(self.handle(key), index, now);
        assert_eq!(found, by_handle, "failed by handle");
        assert_eq!(found, self.model.failed(key, index, now), "failed");
        self.compare();
        found
    }

    /// A poll that is dropped once `pulled` items were taken.
    pub(crate) fn poll(&mut self, now: u64, pulled: usize) -> Vec<Proposal> {
        let proposal = |expiry: Expiry<Key>| (expiry.key, expiry.index, expiry.owner, expiry.attempt);
        let mut due = self.queue.poll(now);
        let found: Vec<Proposal> = due.by_ref().take(pulled).map(proposal).collect();
        if found.len() < pulled {
            // A budget may have been cut short; an end is an end all the same.
            assert_eq!((due.next(), due.next()), (None, None), "a poll is fused");
        }
        drop(due);
        let wait = self.queue.expiration_delay();
        let handles = &self.handles;
        let by_handle = self.set.poll(now).take(pulled).map(|expiry| {
            assert_eq!(handles.get(&expiry.key), Some(&expiry.handle));
            proposal(expiry)
        });
        assert!(by_handle.eq(found.iter().copied()), "a poll by handle");
        // A poll that has used up its budget does less. That there is more is what its wait tells.
        let timed_out = self.stats().timed_out;
        let mut whole = self.model.clone();
        let mut expected = whole.poll(now, pulled);
        if expected.len() == found.len() && whole.stats.timed_out == timed_out {
            self.model = whole;
        } else {
            assert!(self.may_run_short(), "what is due is yielded");
            expected = self.model.poll_cut_short(now, found.len(), timed_out);
            assert_eq!(wait, Some(0), "a poll that is cut short says so");
        }
        if !self.model.is_proposing() && pulled > 0 {
            let is_patient = wait.is_none_or(|wait| wait >= MINUTE.min(u64::MAX - self.model.now));
            assert!(is_patient || wait == Some(0) && self.may_run_short(), "a follower is woken up once a minute");
        }
        assert_eq!(found, expected, "what a poll yields");
        self.compare_wake(wait, self.model.expiration_delay());
        self.compare();
        found
    }

    pub(crate) fn role_change(&mut self, role: Role, now: u64) {
        self.queue.role_change(role, now);
        self.set.role_change(role, now);
        self.model.role_change(role, now);
        self.compare();
    }

    pub(crate) fn stop(&mut self) {
        self.queue.stop();
        self.set.stop();
        self.model.stop();
        self.compare();
    }

    pub(crate) fn restore(&mut self, entries: Vec<Entry<Key>>, now: u64, wall_now_ms: u64) {
        self.filed_before = self.filed();
        self.restored += entries.len() as u64;
        self.stale.extend(std::mem::take(&mut self.handles).into_values());
        assert_eq!(self.queue.restore(entries.clone(), now, wall_now_ms), Ok(()));
        let handles = self.set.restore(entries.clone(), now, wall_now_ms);
        let keys = entries.iter().map(|entry| entry.key);
        self.handles = keys.zip(handles.expect("they are sound")).collect();
        self.model.restore(entries, now, wall_now_ms);
        self.compare();
    }

    pub(crate) fn entries(&self) -> Vec<Entry<Key>> {
        self.queue.as_set().snapshot().into_iter().cloned().collect()
    }

    /// The handle of a key, or if it has none one that is stale.
    fn handle(&self, key: Key) -> TtlKey {
        let handle = self.handles.get(&key).or(self.stale.last());
        *handle.expect("there is a stale one from the start")
    }

    fn drop_handle(&mut self, key: Key) {
        self.stale.extend(self.handles.remove(&key));
    }

    pub(crate) fn stats(&self) -> TtlStats {
        self.queue.as_set().stats()
    }

    /// Compares what is cheap after every operation, and everything now and then.
    pub(crate) fn compare(&mut self) {
        self.comparisons += 1;
        let (queue, model) = (&self.queue, &self.model);
        assert_eq!(queue.len(), model.len(), "length");
        assert_eq!(queue.is_empty(), model.len() == 0);
        assert_eq!(queue.as_set().pending_len(), model.count(Phase::Pending), "pending");
        assert_eq!(queue.as_set().retrying_len(), model.count(Phase::Retrying), "retrying");
        model.check_stats(queue.as_set().stats());
        let mut of_set = self.set.stats();
        of_set.scheduled -= 1; // of the handle that is stale from the start
        model.check_stats(of_set);
        assert_eq!(self.set.len(), queue.len());
        if model.len() == 0 {
            self.filed_before = self.filed();
        }
        let (wake_at, delay) = (self.queue.wake_at(), self.queue.expiration_delay());
        assert_eq!((self.set.wake_at(), self.set.expiration_delay()), (wake_at, delay));
        assert_eq!(wake_at, delay.map(|delay| self.model.now + delay), "from the set's own time");
        self.compare_wake(delay, self.model.expiration_delay());
        let extra = self.stale.len().saturating_sub(MOST_STALE);
        self.stale.drain(..extra);
        // In a crowd more rarely: it takes as much longer.
        let every = 8.max(self.model.len() as u64);
        if self.comparisons % every == 0 {
            self.compare_all();
        }
    }

    /// A wake-up may be early. It is never late, so it is at once while something is due.
    fn compare_wake(&self, found: Option<u64>, exact: Option<u64>) {
        if !self.model.is_proposing() {
            return assert!(found.is_none() || !self.model.is_stopped, "a queue that was stopped wakes nobody");
        }
        assert_eq!(found.is_some(), exact.is_some(), "a wake-up if and only if there is something to wait for");
        assert!(found <= exact, "the wake-up {found:?} is later than {exact:?}");
    }

    /// The most wake-ups in a row for nothing: on both wheels one for each move, one for each entry that was postponed,
    /// and for each move one for each part of a crowd that is moved ahead.
    pub(crate) fn most_idle_wake_ups(&self) -> usize {
        let moved_together = 1 << G::LEVEL_BITS[0];
        let crowd = self.model.len() / moved_together;
        moves_of_an_entry::<G>() * (2 + crowd) + self.model.postponed()
    }

    /// Whether what has been filed can use up a budget.
    pub(crate) fn may_run_short(&self) -> bool {
        self.most_work() >= self.queue.as_set().config().poll_budget as u64
    }

    /// The most work there can be on the wheels until all is due: for each move a bucket is opened and the entry moved; then it
    /// fires.
    pub(crate) fn most_work(&self) -> u64 {
        (self.filed() - self.filed_before) * (2 * moves_of_an_entry::<G>() as u64 + 1)
    }

    /// How often an entry has been put on a wheel.
    fn filed(&self) -> u64 {
        let stats = self.stats();
        let flights = stats.expired + stats.retried + stats.failed + stats.timed_out;
        stats.scheduled + stats.updated + stats.requeued + self.restored + flights
    }

    /// Compares every entry and every order, and checks every invariant of the structure.
    pub(crate) fn compare_all(&self) {
        self.model.check_waits(&self.stats());
        self.model.check_waits(&self.set.stats());
        let (queue, model) = (&self.queue, &self.model);
        queue.check_invariants();
        self.set.check_invariants();
        assert_eq!(self.handles.len(), model.len());
        let now = model.now;
        for key in (0..KEYS).chain(model.entries().map(|entry| entry.key)) {
            let found = queue.get(&key);
            assert_eq!(queue.contains(&key), found.is_some());
            let Some(known) = model.get(key) else {
                assert!(found.is_none(), "{key} has no TTL");
                assert_eq!(queue.remaining(&key, now), None);
                continue;
            };
            let handle = self.handles[&key];
            for found in [found, self.set.get(handle)] {
                let found = found.expect("the key has a TTL");
                assert_eq!(found.entry, &known.entry);
                assert_eq!(found.deadline_ns, known.deadline);
                assert_eq!((found.phase, found.attempts), (known.phase(), known.attempts));
            }
            assert_eq!(self.set.get(handle).map(|info| info.handle), Some(handle));
            let remaining = Some(known.deadline.saturating_sub(now));
            assert_eq!(queue.remaining(&key, now), remaining);
            assert_eq!(self.set.remaining(handle, now), remaining);
        }
        for &stale in &self.stale {
            assert!(self.set.get(stale).is_none(), "stale for ever");
        }
        let expected = model.ascending();
        let keys = |info: TtlInfo<'_, Key>| info.entry.key;
        for set in [queue.as_set(), &self.set] {
            assert!(set.iter().map(keys).eq(expected.iter().map(|known| known.entry.key)), "order of expiry");
            assert!(set.snapshot().into_iter().eq(model.entries()), "snapshot");
        }
        let pending = expected.iter().filter_map(|known| known.pending_since());
        let oldest = pending.map(|since| now - since).max();
        assert_eq!(queue.as_set().oldest_pending(now), oldest);
        assert_eq!(self.set.oldest_pending(now), oldest);
    }
}
