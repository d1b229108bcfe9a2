//! The pair: a queue and its model, told the same and compared in everything that can be observed.

use timer_wheel::Geometry;
use timer_wheel::ttl::{
    Context, Entry, Expiry, Outcome, Phase, Role, TtlConfig, TtlError, TtlQueue, decode,
};

use crate::model::{Key, Model, Proposal};

/// Keys that a script may name, and some that it may not.
const KEYS: Key = 40;

/// A queue and its model.
pub(crate) struct Pair<G: Geometry> {
    pub(crate) queue: TtlQueue<Key, G>,
    pub(crate) model: Model,
    comparisons: u64,
    /// Entries restored so far.
    restored: u64,
    /// What had been [filed](Pair::filed) when there was no entry the last time.
    filed_before: u64,
}

/// When no more than that has been filed, places left behind included, wake-ups are exact.
const SHORT_LOOK: u64 = 256;

/// A place is visited on each level, and its bucket opened; then it joins the run and is passed there.
const UNITS_OF_A_PLACE: u64 = 14;

impl<G: Geometry> Pair<G> {
    pub(crate) fn new(now: u64, config: TtlConfig) -> Self {
        let pair = Self {
            queue: TtlQueue::new(now, config.clone()),
            model: Model::new(now, config),
            comparisons: 0,
            restored: 0,
            filed_before: 0,
        };
        pair.compare_all();
        pair
    }

    pub(crate) fn init(
        &mut self,
        index: u64,
        key: Key,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError> {
        let found = self.queue.init(index, key, ttl_ms, ctx);
        assert_eq!(
            found,
            self.model.set(false, index, key, ttl_ms, ctx),
            "init"
        );
        self.compare();
        found
    }

    pub(crate) fn update(
        &mut self,
        index: u64,
        key: Key,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError> {
        let found = self.queue.update(index, &key, ttl_ms, ctx);
        assert_eq!(
            found,
            self.model.set(true, index, key, ttl_ms, ctx),
            "update"
        );
        self.compare();
        found
    }

    pub(crate) fn remove(&mut self, key: Key) -> Outcome {
        let found = self.queue.remove(&key);
        assert_eq!(found, self.model.remove(key), "remove");
        self.compare();
        found
    }

    pub(crate) fn applied(&mut self, key: Key, index: u64) -> Outcome {
        let found = self.queue.applied(&key, index);
        assert_eq!(found, self.model.applied(key, index), "applied");
        self.compare();
        found
    }

    pub(crate) fn failed(&mut self, key: Key, index: u64, now: u64) -> Outcome {
        let found = self.queue.failed(&key, index, now);
        assert_eq!(found, self.model.failed(key, index, now), "failed");
        self.compare();
        found
    }

    /// A poll that is dropped once `pulled` items were taken.
    pub(crate) fn poll(&mut self, now: u64, pulled: usize) -> Vec<Proposal> {
        let proposal =
            |expiry: Expiry<Key>| (expiry.key, expiry.index, expiry.owner, expiry.attempt);
        let mut due = self.queue.poll(now);
        let found: Vec<Proposal> = due.by_ref().take(pulled).map(proposal).collect();
        let wait = due.next_wake();
        // A poll that has used up its budget yields fewer. That there is more is what its wait tells.
        let is_short = found.len() < self.model.clone().poll(now, pulled).len();
        assert!(!is_short || self.may_run_short(), "what is due is yielded");
        let pulled = if is_short { found.len() } else { pulled };
        let expected = self.model.poll(now, pulled);
        assert_eq!(found, expected, "what a poll yields");
        self.compare_wake(wait, self.model.next_wake(now));
        self.compare();
        found
    }

    pub(crate) fn poll_all(&mut self, now: u64) -> Vec<Proposal> {
        self.poll(now, usize::MAX)
    }

    pub(crate) fn role_change(&mut self, role: Role, now: u64) {
        self.queue.role_change(role, now);
        self.model.role_change(role, now);
        self.compare();
    }

    pub(crate) fn stop(&mut self) {
        self.queue.stop();
        self.model.stop();
        self.compare();
    }

    pub(crate) fn restore(&mut self, entries: Vec<Entry<Key>>, now: u64, wall_now_ms: u64) {
        self.filed_before = self.filed();
        self.restored += entries.len() as u64;
        let restored = self.queue.restore(entries.clone(), now, wall_now_ms);
        assert_eq!(restored, Ok(()));
        self.model.restore(entries, now, wall_now_ms);
        self.compare();
    }

    pub(crate) fn entries(&self) -> Vec<Entry<Key>> {
        self.queue.snapshot().cloned().collect()
    }

    /// Compares what is cheap after every operation, and everything now and then.
    fn compare(&mut self) {
        self.comparisons += 1;
        let (queue, model) = (&self.queue, &self.model);
        assert_eq!(queue.len(), model.len(), "length");
        assert_eq!(queue.is_empty(), model.len() == 0);
        assert_eq!(queue.pending_len(), model.count(Phase::Pending), "pending");
        assert_eq!(
            queue.retrying_len(),
            model.count(Phase::Retrying),
            "retrying"
        );
        model.assert_counters(queue.counters());
        if model.len() == 0 {
            self.filed_before = self.filed();
        }
        self.compare_wakes();
        if self.comparisons % 8 == 0 {
            self.compare_all();
        }
    }

    fn compare_wakes(&self) {
        let now = self.model.now();
        for now in [
            now,
            now.saturating_sub(5_000_000),
            now.saturating_add(1_500_000_000),
        ] {
            let wake = self.queue.next_wake(now);
            self.compare_wake(wake, self.model.next_wake(now));
            let bound = self.queue.wake_bound(now);
            assert_eq!(
                bound.is_some(),
                wake.is_some(),
                "a bound when there is a wake-up"
            );
            assert!(bound <= wake, "the bound {bound:?} is after {wake:?}");
        }
    }

    fn compare_wake(&self, found: Option<u64>, exact: Option<u64>) {
        if self.knows_wake_exactly() {
            assert_eq!(found, exact, "next wake-up");
        } else {
            assert_eq!(found.is_some(), exact.is_some(), "next wake-up");
            assert!(found <= exact, "next wake-up is late");
        }
    }

    /// How often an entry has been filed, on either wheel.
    fn filed(&self) -> u64 {
        let counters = self.queue.counters();
        let set = counters.scheduled + counters.updated + self.restored;
        set + counters.failed + counters.timed_out
    }

    /// Whether a wake-up that leads to nothing would be a mistake.
    pub(crate) fn knows_wake_exactly(&self) -> bool {
        self.places() <= SHORT_LOOK
    }

    /// Whether what has been filed can use up a budget.
    pub(crate) fn may_run_short(&self) -> bool {
        self.most_work() >= self.queue.config().poll_budget() as u64
    }

    /// The most work there can be on the wheels until all is due.
    pub(crate) fn most_work(&self) -> u64 {
        self.places() * UNITS_OF_A_PLACE
    }

    /// The most places that there can be, those left behind included.
    fn places(&self) -> u64 {
        self.filed() - self.filed_before
    }

    /// Compares every entry and every order, and checks every law of the structure.
    pub(crate) fn compare_all(&self) {
        let (queue, model) = (&self.queue, &self.model);
        queue.prefetch((0..KEYS).collect::<Vec<_>>().iter());
        queue.check_invariants();
        let now = model.now();
        for key in 0..KEYS {
            let found = queue.get(&key);
            assert_eq!(queue.contains(&key), found.is_some());
            let Some(known) = model.get(key) else {
                assert!(found.is_none(), "{key} has no TTL");
                assert_eq!(queue.remaining(&key, now), None);
                continue;
            };
            let found = found.expect("the key has a TTL");
            assert_eq!(found.entry, &known.entry);
            assert_eq!(found.deadline_ns, known.deadline);
            assert_eq!(
                (found.phase, found.attempts),
                (known.phase(), known.attempts)
            );
            let remaining = known.deadline.saturating_sub(now);
            assert_eq!(queue.remaining(&key, now), Some(remaining));
        }
        let iter = queue.iter();
        assert_eq!(iter.len(), model.len());
        let found: Vec<Key> = iter.map(|timer| timer.entry.key).collect();
        let expected = model.ascending();
        let keys = expected.iter().map(|known| known.entry.key);
        assert!(keys.eq(found), "order of expiry");
        let oldest = queue.oldest().map(|timer| timer.entry.key);
        assert_eq!(oldest, expected.first().map(|known| known.entry.key));
        assert!(queue.snapshot().eq(model.entries()), "snapshot");
        let bytes = queue.encode(|key, bytes| bytes.push(*key));
        let decoded = decode(&bytes, |key| <[u8; 1]>::try_from(key).ok().map(|[key]| key));
        assert!(decoded.is_ok_and(|decoded| decoded.iter().eq(model.entries())));
    }
}
