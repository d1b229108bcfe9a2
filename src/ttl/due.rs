//! Polling: which retries and expiries to propose now, within the batches.

use core::iter::FusedIterator;

use super::entries::Flight;
use super::{Expiry, Phase, TtlSet};
use crate::budget::Budget;
use crate::clock::nanoseconds;
use crate::geometry::Geometry;
use crate::node::NodeIndex;

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

/// Entries that a poll has made pending before it yields them, so that the processor fetches them all at once.
struct Batch {
    slots: [NodeIndex; BATCH],
    next: usize,
    len: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self { slots: [NodeIndex::NIL; BATCH], next: 0, len: 0 }
    }
}

/// The number of memory reads that a processor has in progress at a time.
const BATCH: usize = 16;

impl<K, G: Geometry> TtlSet<K, G> {
    /// Moves the clock to `now` nanoseconds and yields the proposals to make. On the leader these are
    /// up to [`retry_batch`](super::TtlConfig::retry_batch) retries in the order of their times, then
    /// up to [`expire_batch`](super::TtlConfig::expire_batch) expiries in order of deadline, first in
    /// first out among equals. There are no expiries while
    /// [`max_pending`](super::TtlConfig::max_pending) entries are in flight. On any other role
    /// nothing, and after [`stop`](Self::stop) nothing.
    ///
    /// Lazy: dropping the iterator early, or panicking between two items, leaves the others due. One that is leaked by
    /// [`mem::forget`](core::mem::forget) leaves up to sixteen of them pending: they are proposed after the pending
    /// timeout. So is an entry whose key panics in `clone`. [`wake_at`](Self::wake_at) says afterwards when to poll
    /// again: at once if the iterator was not pulled to its end, or if a batch or the budget was used up.
    ///
    /// Proposals that have been pending for too long count as failed on the way, as many a poll as both
    /// batches together. A poll yields no entry twice, even at the end of time. A `now` before that of an earlier call
    /// counts as that one.
    ///
    /// O(entries yielded and timed out), and work on the wheels within
    /// [`poll_budget`](super::TtlConfig::poll_budget): a poll that has used up its budget yields fewer entries, or none.
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
        if self.is_proposing() {
            let (expiries, retries) = (self.config.expire_batch, self.config.retry_batch);
            // At most as many as there are now: a flight that this poll begins must not end in it, even at the end of
            // time, where both happen at once.
            left = Allowance {
                expiries,
                retries: retries.min(self.retrying_len()),
                timeouts: (expiries + retries).min(self.pending_len()),
                budget: Budget::of_work(self.config.poll_budget),
            };
        }
        Expiries { set: self, left, batch: Batch::default() }
    }

    /// Makes the next entry that waits for a retry pending, within what is left.
    fn retry_next(&mut self, left: &mut Allowance) -> Option<NodeIndex> {
        while left.retries + left.timeouts != 0 {
            let slot = self.entries.ended_flight(self.now, &mut left.budget)?;
            let flight = *self.entries.flight(slot)?;
            match flight.phase {
                Phase::Pending if left.timeouts != 0 => {
                    left.timeouts -= 1;
                    self.stats.timed_out += 1;
                    self.fail(slot, flight);
                }
                Phase::Retrying if left.retries != 0 => {
                    left.retries -= 1;
                    self.stats.retried += 1;
                    self.entries.land(slot);
                    self.propose(&[slot], flight.attempts);
                    return Some(slot);
                }
                _ => return None,
            }
        }
        None
    }

    /// Makes as many entries that are due pending as a batch holds, within what is left.
    fn expire_batch(&mut self, left: &mut Allowance) -> Batch {
        let mut batch = Batch::default();
        let room = self.config.max_pending.saturating_sub(self.entries.in_flight_len());
        let most = left.expiries.min(room).min(batch.slots.len());
        if most != 0 {
            let taken = &mut batch.slots[..most];
            batch.len = self.entries.take_due(self.now, &mut left.budget, taken);
            left.expiries -= batch.len;
            self.propose(&batch.slots[..batch.len], 0);
        }
        batch
    }

    /// Makes entries that are on neither wheel pending.
    fn propose(&mut self, slots: &[NodeIndex], attempts: u32) {
        let flight = Flight {
            entry: NodeIndex::NIL,
            phase: Phase::Pending,
            attempts: attempts.saturating_add(1),
            proposed_ns: self.now,
        };
        let timeout_ns = nanoseconds(self.config.pending_timeout);
        self.entries.launch(slots, self.now.saturating_add(timeout_ns), flight);
    }

    /// Turns a pending entry into one that waits for a retry.
    pub(super) fn fail(&mut self, slot: NodeIndex, flight: Flight) {
        let index = self.entries.entry(slot).index;
        let delay_ns = self.config.retry_delay_ns(index, flight.attempts);
        self.stats.count_wait(self.entries.land(slot), self.now);
        let retrying = Flight { phase: Phase::Retrying, ..flight };
        self.entries.launch(&[slot], self.now.saturating_add(delay_ns), retrying);
    }
}

/// The proposals of a poll.
struct Expiries<'a, K, G: Geometry> {
    set: &'a mut TtlSet<K, G>,
    left: Allowance,
    batch: Batch,
}

impl<K, G: Geometry> Expiries<'_, K, G> {
    fn next_slot(&mut self) -> Option<NodeIndex> {
        if self.batch.next == self.batch.len {
            if let Some(slot) = self.set.retry_next(&mut self.left) {
                return Some(slot);
            }
            self.batch = self.set.expire_batch(&mut self.left);
        }
        let slot = *self.batch.slots[..self.batch.len].get(self.batch.next)?;
        self.batch.next += 1;
        self.set.stats.expired += 1;
        Some(slot)
    }
}

impl<K, G: Geometry> Drop for Expiries<'_, K, G> {
    /// Entries that were not yielded are due again.
    fn drop(&mut self) {
        for &slot in &self.batch.slots[self.batch.next..self.batch.len] {
            self.set.entries.put_back(slot);
        }
    }
}

impl<K: Clone, G: Geometry> Iterator for Expiries<'_, K, G> {
    type Item = Expiry<K>;

    fn next(&mut self) -> Option<Expiry<K>> {
        let Some(slot) = self.next_slot() else {
            self.left = Allowance::NONE;
            return None;
        };
        let entries = &self.set.entries;
        let entry = entries.entry(slot);
        Some(Expiry {
            key: entry.key.clone(),
            handle: entries.key(slot),
            index: entry.index,
            owner: entry.owner,
            attempt: entries.flight(slot)?.attempts,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ahead = self.batch.len - self.batch.next;
        let allowed = self.left.expiries + self.left.retries + ahead;
        (0, Some(self.set.len().min(allowed)))
    }
}

impl<K: Clone, G: Geometry> FusedIterator for Expiries<'_, K, G> {}
