//! Polling: which retries and expiries to propose now, within the batches.

use core::iter::FusedIterator;

use super::entries::Flight;
use super::{Entry, Expiry, Phase, TtlInfo, TtlKey, TtlSet, trace};
use crate::clock::nanoseconds;
use crate::{Budget, Geometry};

/// How much more one poll may do.
struct Allowance {
    expiries: usize,
    retries: usize,
    timeouts: usize,
    /// Work on the wheels.
    budget: Budget,
}

impl Allowance {
    const NONE: Self = Self { expiries: 0, retries: 0, timeouts: 0, budget: Budget::of_work(0) };
}

impl<K, G: Geometry> TtlSet<K, G> {
    /// Moves the clock to `now` nanoseconds and yields the proposals to make. On the leader these are
    /// up to [`retry_batch`](super::TtlConfig::retry_batch) retries in the order of their times, then
    /// up to [`expire_batch`](super::TtlConfig::expire_batch) expiries in order of deadline, first in
    /// first out among equals. There are no expiries while
    /// [`max_pending`](super::TtlConfig::max_pending) entries are in flight. After [`stop`](Self::stop) it yields
    /// nothing.
    ///
    /// In any other role it yields nothing. It puts the deadlines of the next minute in order, and leaves due entries
    /// in place. So a follower that is polled at [`wake_at`](Self::wake_at) has nothing left to
    /// move when it is elected.
    ///
    /// Lazy: dropping the iterator early, or panicking between two items, leaves the others due. An iterator leaked by
    /// [`mem::forget`](core::mem::forget) leaves up to sixteen entries pending, which are proposed after the pending
    /// timeout, as is an entry whose key panics in `clone`. [`wake_at`](Self::wake_at) says afterwards when to poll
    /// again: at once if the iterator was not pulled to its end, or if a batch or the budget was used up.
    ///
    /// A poll also fails proposals that have been pending for too long, at most as many as both batches hold. A poll
    /// yields no entry twice, even at the end of time. The clock never goes back: an earlier `now` than before counts
    /// as the latest one.
    ///
    /// O(entries yielded and timed out), plus work on the wheels within [`poll_budget`](super::TtlConfig::poll_budget):
    /// a poll that has used up its budget yields fewer entries, or none.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlSet};
    ///
    /// let mut set: TtlSet<u32> = TtlSet::new(0);
    /// set.role_change(Role::Leader, 0);
    /// for key in 0..51 {
    ///     set.init(key, 1, 5, Context::default())?;
    /// }
    /// assert_eq!(set.poll(6_000_000).count(), 50);
    /// assert_eq!(set.expiration_delay(), Some(0));
    /// assert_eq!(set.poll(6_000_000).count(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn poll(&mut self, now: u64) -> impl FusedIterator<Item = Expiry<K>> + '_
    where
        K: Clone,
    {
        self.tick(now);
        let mut left = Allowance::NONE;
        if !self.is_stopped {
            left.budget = Budget::of_work(self.config.poll_budget);
        }
        if self.is_proposing() {
            left.expiries = self.config.expire_batch;
            // At most as many as there are now: a flight that this poll begins must not end in it, even at the end of
            // time, where both happen at once.
            left.retries = self.config.retry_batch.min(self.retrying_len());
            left.timeouts = (left.expiries + self.config.retry_batch).min(self.pending_len());
        }
        let before = (self.stats.expired, self.stats.retried);
        Expiries { set: self, left, batch: [None; BATCH], next: 0, end: 0, before }
    }

    /// Makes the next entry that waits for a retry pending, within the allowance.
    fn retry_next(&mut self, left: &mut Allowance) -> Option<TtlKey> {
        while left.retries + left.timeouts != 0 {
            let flight = self.entries.ended_flight(self.now, &mut left.budget)?;
            match flight.phase {
                Phase::Pending if left.timeouts != 0 => {
                    left.timeouts -= 1;
                    self.stats.timed_out += 1;
                    let index = self.fail(flight);
                    trace::timed_out(index, flight);
                }
                Phase::Retrying if left.retries != 0 => {
                    left.retries -= 1;
                    self.stats.retried += 1;
                    self.stats.retry_waits.record(self.now - flight.proposed_ns);
                    let attempts = flight.attempts.saturating_add(1);
                    let pending = Flight { phase: Phase::Pending, attempts, proposed_ns: self.now, ..flight };
                    self.entries.go_on(pending, self.timeout_at());
                    return Some(flight.entry);
                }
                _ => return None,
            }
        }
        None
    }

    /// When a proposal that is made now times out.
    fn timeout_at(&self) -> u64 {
        self.now.saturating_add(nanoseconds(self.config.pending_timeout))
    }

    /// Makes a pending entry wait for a retry, and returns its index.
    pub(super) fn fail(&mut self, flight: Flight) -> u64 {
        let index = self.entries.get(flight.entry).map_or(0, |(record, _)| record.entry.index);
        let delay_ns = self.config.retry_delay_ns(index, flight.attempts);
        self.stats.end_pending(Some(flight), self.now);
        self.entries.go_on(Flight { phase: Phase::Retrying, ..flight }, self.now.saturating_add(delay_ns));
        index
    }
}

/// The number of memory reads that a processor has in progress at a time.
const BATCH: usize = 16;

/// The proposals of a poll.
struct Expiries<'a, K, G: Geometry> {
    set: &'a mut TtlSet<K, G>,
    left: Allowance,
    /// Entries that were made pending before they are yielded, so that the processor fetches them all at once: those
    /// from `next` to `end`.
    batch: [Option<TtlKey>; BATCH],
    next: usize,
    end: usize,
    /// The numbers of first proposals and of retries before this poll.
    before: (u64, u64),
}

impl<K, G: Geometry> Expiries<'_, K, G> {
    fn next_key(&mut self) -> Option<TtlKey> {
        if self.next == self.end {
            if let Some(key) = self.set.retry_next(&mut self.left) {
                return Some(key);
            }
            self.fill_batch();
        }
        let key = *self.batch[..self.end].get(self.next)?;
        self.next += 1;
        let set = &mut *self.set;
        set.stats.expired += 1;
        if let Some((_, deadline_ns)) = key.and_then(|key| set.entries.get(key)) {
            set.stats.first_waits.record(set.now.saturating_sub(deadline_ns));
        }
        key
    }

    /// Makes a batch of due entries pending, within the allowance.
    fn fill_batch(&mut self) {
        let Self { set, left, batch, .. } = self;
        (self.next, self.end) = (0, 0);
        if left.budget.work == 0 {
            return;
        }
        let room = set.room();
        if room == 0 || !set.is_proposing() {
            return set.entries.prepare(set.now, &mut left.budget);
        }
        for place in batch.iter_mut().take(left.expiries.min(room)) {
            *place = set.entries.hold_due(set.now, &mut left.budget);
            if place.is_none() {
                break;
            }
            self.end += 1;
        }
        left.expiries -= self.end;
        let until_ns = set.timeout_at();
        for key in batch[..self.end].iter().flatten() {
            set.entries.launch(*key, set.now, until_ns);
        }
    }
}

impl<K, G: Geometry> Drop for Expiries<'_, K, G> {
    /// Makes the entries that were not yielded due again.
    fn drop(&mut self) {
        for key in self.batch[self.next..self.end].iter().flatten() {
            self.set.entries.put_back(*key);
        }
        let (expired, retried) = self.before;
        trace::proposed(self.set.stats.expired - expired, self.set.stats.retried - retried, self.set);
    }
}

impl<K: Clone, G: Geometry> Iterator for Expiries<'_, K, G> {
    type Item = Expiry<K>;

    fn next(&mut self) -> Option<Expiry<K>> {
        let Some(handle) = self.next_key() else {
            self.left = Allowance::NONE;
            return None;
        };
        let TtlInfo { entry, attempts, .. } = self.set.get(handle)?;
        let Entry { ref key, index, owner, .. } = *entry;
        Some(Expiry { key: key.clone(), handle, index, owner, attempt: attempts })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let allowed = self.left.expiries + self.left.retries + (self.end - self.next);
        (0, Some(self.set.len().min(allowed)))
    }
}

impl<K: Clone, G: Geometry> FusedIterator for Expiries<'_, K, G> {}
