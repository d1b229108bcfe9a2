//! Polling: what is to be proposed now, within the batches.

use core::fmt;
use core::iter::FusedIterator;

use super::TtlQueue;
use super::entry::{Expiry, Role};
use super::item::{Drawing, Epoch, ItemIndex, Place, Wait};
use crate::geometry::Geometry;

/// How much more one poll may yield.
#[derive(Copy, Clone, Debug)]
struct Allowance {
    expiries: usize,
    retries: usize,
    /// Work on the wheels.
    budget: usize,
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// Moves the clock to `now` nanoseconds and yields what is to be proposed: on the leader up to
    /// [`retry_batch`](super::TtlConfig::retry_batch) retries in the order of their times, then up
    /// to [`expire_batch`](super::TtlConfig::expire_batch) expiries in order of deadline, first in
    /// first out among equals. On any other role nothing, and after [`stop`](Self::stop) nothing.
    ///
    /// Lazy: an entry becomes pending just before it is yielded. Dropping the iterator early, or
    /// panicking between two items, leaves the others due. [`Due::next_wake`] says when to poll
    /// again.
    ///
    /// Proposals that have been pending for too long count as failed first, as many a poll as both
    /// batches together. A `now` before that of an earlier call counts as that one.
    ///
    /// O(entries yielded and timed out), and work on the wheels within
    /// [`poll_budget`](super::TtlConfig::poll_budget): a poll may yield fewer, or none, because it came
    /// to the end of that. When nothing more is due the time of the next is looked for, if it is not
    /// known, among 256 entries at the most: see [`next_wake`](Self::next_wake).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<u32> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// for key in 0..51 {
    ///     queue.init(1, key, 5, Context::default())?;
    /// }
    /// let mut due = queue.poll(6_000_000);
    /// assert_eq!(due.by_ref().count(), 50);
    /// assert_eq!(due.next_wake(), Some(0));
    /// assert_eq!(queue.poll(6_000_000).count(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn poll(&mut self, now: u64) -> Due<'_, K, G, S> {
        self.tick(now);
        let mut allowance = Allowance {
            expiries: 0,
            retries: 0,
            budget: self.config.poll_budget(),
        };
        if self.is_proposing() {
            allowance.expiries = self.config.expire_batch();
            allowance.retries = self.config.retry_batch();
            self.time_out(allowance.expiries + allowance.retries);
        }
        Due {
            queue: self,
            allowance,
        }
    }

    /// Counts up to `most` proposals whose time is over as failed.
    fn time_out(&mut self, most: usize) {
        for _ in 0..most {
            let Some(first) = self.pending.first() else {
                return;
            };
            if self.timeout().is_none_or(|timeout| timeout > self.now) || !self.fail(first) {
                return;
            }
            self.counters.timed_out += 1;
        }
    }

    /// Moves a pending entry to the retries; `false` if it is not pending.
    pub(super) fn fail(&mut self, item: ItemIndex) -> bool {
        let known = self.roster.item(item);
        let wait = known.wait_in(self.epoch);
        let Wait::Answer(link) = wait else {
            return false;
        };
        let attempts = known.attempts_in(self.epoch);
        let delay_ns = self.config.retry_delay_ns(known.entry.index, attempts);
        self.count_wait(wait);
        self.pending.unlink(&mut self.roster, link);
        let retry_ns = self.now.saturating_add(delay_ns);
        let timer = self.retries.schedule(retry_ns, item);
        self.roster.item_mut(item).drawing_mut().wait = Wait::Retry(timer);
        true
    }

    /// Makes the next entry that is due pending, within what is allowed. If nothing is left of the budget
    /// afterwards, there may be one although none was found.
    fn propose_next(&mut self, allowance: &mut Allowance) -> Option<ItemIndex> {
        if allowance.retries > 0 {
            if let Some(item) = self.retries.pop(self.now, &mut allowance.budget) {
                allowance.retries -= 1;
                self.counters.retried += 1;
                self.propose(item);
                return Some(item);
            }
            if allowance.budget == 0 {
                return None;
            }
        }
        if allowance.expiries > 0 {
            if let Some(item) = self.draw(&mut allowance.budget) {
                allowance.expiries -= 1;
                self.counters.expired += 1;
                self.propose(item);
                return Some(item);
            }
        }
        None
    }

    /// Draws the first entry that is due: one that was put back or one from the wheel. If nothing is
    /// left of the budget afterwards, there may be one.
    fn draw(&mut self, budget: &mut usize) -> Option<ItemIndex> {
        while let Some((rank, item)) = self.drawn.put_back() {
            // Whatever is drawn from the wheel and comes later waits behind the mark for its turn.
            if self.queue.floor() <= rank {
                match self.draw_from_queue(budget) {
                    Some(earlier) if self.roster.item(earlier).rank < rank => return Some(earlier),
                    Some(_) => continue,
                    // What has not been found yet may come before it.
                    None if *budget == 0 => return None,
                    None => {}
                }
            }
            self.drawn.draw_again();
            return Some(item);
        }
        self.draw_from_queue(budget)
    }

    /// Moves the first entry that is due from the wheel to those that are drawn.
    fn draw_from_queue(&mut self, budget: &mut usize) -> Option<ItemIndex> {
        let item = self.queue.pop(self.roster.slots_mut(), self.now, budget)?;
        let known = self.roster.item_mut(item);
        known.place = Place::Drawn(Drawing {
            tower: self.drawn.insert(known.rank, item),
            epoch: Epoch::NEVER,
            attempts: 0,
            wait: Wait::Turn,
        });
        Some(item)
    }

    /// Makes a drawn entry pending.
    fn propose(&mut self, item: ItemIndex) {
        let link = self.pending.append(&mut self.roster, item, self.now);
        let known = self.roster.item_mut(item);
        let attempts = known.attempts_in(self.epoch);
        let drawing = known.drawing_mut();
        drawing.epoch = self.epoch;
        drawing.attempts = attempts.saturating_add(1);
        drawing.wait = Wait::Answer(link);
    }
}

/// What is to be proposed, from [`TtlQueue::poll`].
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.role_change(Role::Leader, 0);
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// let mut due = queue.poll(5_000_000);
/// let batch: Vec<_> = due.by_ref().collect();
/// let wait = due.next_wake(); // the pending timeout, 10 s by default
/// assert_eq!((batch.len(), wait), (1, Some(10_000_000_000)));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[must_use = "an expiry is due until it is taken from the iterator"]
pub struct Due<'a, K, G: Geometry, S> {
    queue: &'a mut TtlQueue<K, G, S>,
    allowance: Allowance,
}

impl<K, G: Geometry, S> Due<'_, K, G, S> {
    /// How long the caller may sleep before the next poll, in nanoseconds from the time of this
    /// one: as [`TtlQueue::next_wake`], at its cost. 0 as long as there is more, because the iterator has not
    /// come to its end, or a batch or the budget was cut short.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.init(2, "later", 8, Context::default())?;
    /// let mut due = queue.poll(5_000_000);
    /// assert_eq!(due.next_wake(), Some(0), "not at its end");
    /// assert_eq!(due.by_ref().count(), 1);
    /// assert_eq!(due.next_wake(), Some(3_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn next_wake(&self) -> Option<u64> {
        self.queue.next_wake(self.queue.now)
    }
}

impl<K: Clone, G: Geometry, S> Iterator for Due<'_, K, G, S> {
    type Item = Expiry<K>;

    fn next(&mut self) -> Option<Expiry<K>> {
        let Some(item) = self.queue.propose_next(&mut self.allowance) else {
            // Within the batches nothing more is due. Unless a batch cut it short, the next wake-up
            // will be asked for.
            if self.queue.role == Role::Leader {
                self.queue.queue.settle(self.queue.roster.slots());
                self.queue.retries.settle();
            }
            return None;
        };
        let known = self.queue.roster.item(item);
        Some(Expiry {
            key: known.entry.key.clone(),
            index: known.entry.index,
            owner: known.entry.owner,
            attempt: known.attempts_in(self.queue.epoch),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let allowed = self.allowance.expiries + self.allowance.retries;
        (0, Some(self.queue.len().min(allowed)))
    }
}

impl<K: Clone, G: Geometry, S> FusedIterator for Due<'_, K, G, S> {}

impl<K, G: Geometry, S> fmt::Debug for Due<'_, K, G, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Due")
            .field("queue", &self.queue)
            .field("allowance", &self.allowance)
            .finish()
    }
}
