//! Entries by handle: the calls for entries of the log and for the outcomes of proposals, and when to poll again.

use core::fmt;

use super::config::NS_PER_MS;
use super::entries::{Entries, Record};
use super::{Context, Entry, Outcome, Phase, Role, TtlConfig, TtlError, TtlKey, TtlStats, trace};
use crate::{Geometry, Millis};

/// The keys with a TTL on one replica of a state machine, each under a handle. See the
/// [module](super).
///
/// `K` is what a proposal carries to tell the store what to delete: its key, or an id. It is never
/// hashed or compared. `G` is the geometry of the wheel, which affects costs only.
///
/// # Costs
///
/// [`init`](Self::init), [`update`](Self::update), [`remove`](Self::remove), [`applied`](Self::applied) and
/// [`failed`](Self::failed) are O(1). They are O(log k), with k entries in the near heap, for an entry that is overdue
/// or about to be due. None of them pauses to grow, because memory is allocated a page at a time. A poll touches the
/// entries that it yields, and those that the wheels move to finer buckets within its budget. A change of role touches
/// the entries in flight.
///
/// Memory is that of a [`Wheel`](crate::Wheel) of entries, plus 1 kB. After a peak, each poll releases a page of 256
/// entries. So does each entry that ends on a follower, because a follower is polled rarely.
///
/// ```
/// use timer_wheel::ttl::{Context, Outcome, Role, TtlKey, TtlSet};
///
/// // A record of the store has a place for the handle.
/// struct Record {
///     index: u64,
///     ttl: Option<TtlKey>,
/// }
///
/// let mut ttls: TtlSet<&str> = TtlSet::new(0);
/// ttls.role_change(Role::Leader, 0);
/// let record = Record { index: 1, ttl: ttls.init("key", 1, 5, Context::default())? }; // 5 ms
///
/// let proposed: Vec<_> = ttls.poll(5_000_000).collect();
/// assert_eq!((proposed[0].key, proposed[0].index), ("key", 1));
///
/// // The proposal comes back through the log: the store looks the key up, and the index is the same.
/// assert_eq!(record.index, proposed[0].index);
/// assert_eq!(ttls.applied(record.ttl.unwrap(), record.index), Outcome::Applied);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Clone)]
pub struct TtlSet<K, G: Geometry = Millis> {
    pub(super) config: TtlConfig,
    pub(super) role: Role,
    pub(super) is_stopped: bool,
    /// The latest time that was passed to a call, in nanoseconds.
    pub(super) now: u64,
    pub(super) entries: Entries<K, G>,
    pub(super) stats: TtlStats,
}

impl<K, G: Geometry> TtlSet<K, G> {
    /// An empty set on a follower whose monotonic clock stands at `now` nanoseconds, with the default settings. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Role, TtlSet};
    ///
    /// let set: TtlSet<String> = TtlSet::new(0);
    /// assert_eq!((set.len(), set.wake_at()), (0, None));
    /// ```
    pub fn new(now: u64) -> Self {
        Self {
            config: TtlConfig::default(),
            role: Role::default(),
            is_stopped: false,
            now,
            entries: Entries::new(now),
            stats: TtlStats::default(),
        }
    }

    /// Reports that the log entry `index` sets a TTL of `ttl_ms` milliseconds on a key that has none. The key is due
    /// that long after `ctx.created_ns`, at the latest at the end of time. O(1).
    ///
    /// Returns the handle, to be kept in the record of the key; `None` if the TTL is 0, which means none. If the record
    /// already has a handle, call [`update`](Self::update) instead, so that replaying the log sets nothing twice.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] above the maximum TTL; [`TtlError::Full`] at the maximum number of entries. Nothing has
    /// changed then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let ctx = Context::new(1_000);
    /// let handle = set.init("key", 3, 5, ctx)?.expect("the TTL is not 0");
    /// assert_eq!(set.get(handle).unwrap().deadline_ns, 5_001_000);
    /// assert_eq!(set.init("other", 4, 0, ctx), Ok(None));
    /// assert!(set.init("third", 5, u64::MAX, ctx).is_err());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[inline]
    pub fn init(&mut self, key: K, index: u64, ttl_ms: u64, ctx: Context) -> Result<Option<TtlKey>, TtlError> {
        if ttl_ms == 0 {
            return Ok(None);
        }
        self.config.check_ttl(ttl_ms)?;
        if !self.entries.has_room(1) {
            return Err(TtlError::Full);
        }
        let entry = Entry::new(key, index, ttl_ms).with_owner(ctx.owner).with_leader_start_ms(ctx.leader_start_ms);
        self.stats.scheduled += 1;
        let deadline_ns = deadline_ns(ctx.created_ns, ttl_ms);
        Ok(Some(self.entries.insert(entry, deadline_ns)))
    }

    /// Reports that the log entry `index` replaces the TTL of a key that has one. O(1).
    ///
    /// A later deadline postpones the entry: usually it is only written to the entry, and [`wake_at`](Self::wake_at)
    /// still refers to the old deadline.
    ///
    /// - [`Outcome::Updated`]: whether the entry was queued, pending or waiting for a retry. The proposal of a pending
    ///   entry then carries an index that no longer counts.
    /// - [`Outcome::Stale`]: the TTL is of this index or a newer one, and stays. So replaying the log
    ///   changes nothing.
    /// - [`Outcome::Missing`]: the handle is stale.
    /// - [`Outcome::Ignored`]: the new TTL is 0, which means none; the TTL stays. To take the TTL from a key,
    ///   call [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] above the maximum TTL, whatever the handle and the index.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let ctx = Context::default();
    /// let handle = set.init("key", 2, 5, ctx)?.expect("the TTL is not 0");
    /// assert_eq!(set.update(handle, 3, 8, ctx), Ok(Outcome::Updated));
    /// assert_eq!(set.update(handle, 3, 9, ctx), Ok(Outcome::Stale));
    /// assert_eq!(set.remaining(handle, 0), Some(8_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[inline]
    pub fn update(&mut self, handle: TtlKey, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError> {
        if ttl_ms == 0 {
            return Ok(Outcome::Ignored);
        }
        self.config.check_ttl(ttl_ms)?;
        let Some(Record { entry, .. }) = self.entries.get_mut(handle) else {
            return Ok(Outcome::Missing);
        };
        if entry.index >= index {
            return Ok(self.stale());
        }
        entry.index = index;
        entry.owner = ctx.owner;
        entry.leader_start_ms = ctx.leader_start_ms;
        entry.ttl_ms = ttl_ms;
        let deadline_ns = deadline_ns(ctx.created_ns, ttl_ms);
        let flight = self.entries.reschedule(handle, deadline_ns);
        self.stats.end_pending(flight, self.now);
        self.stats.updated += 1;
        Ok(Outcome::Updated)
    }

    /// Drops the entry of a key that was deleted or set without a TTL, whether it is queued, pending or waiting for a
    /// retry. O(1).
    ///
    /// Returns the key that was passed to [`init`](Self::init), or `None` if the handle is stale.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let handle = set.init("key", 1, 5, Context::default())?.expect("the TTL is not 0");
    /// assert_eq!(set.remove(handle), Some("key"));
    /// assert_eq!(set.remove(handle), None);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remove(&mut self, handle: TtlKey) -> Option<K> {
        Some(self.take(handle)?.key)
    }

    /// Reports that the expiry at `index` came back through the log. O(1).
    ///
    /// Call it on every replica for a record that has a handle, even if the record is at another index, so that no
    /// entry stays pending for ever. The entry ends if it carries that index ([`Outcome::Applied`]), whatever its phase
    /// here; otherwise it is left alone ([`Outcome::Stale`]).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// let handle = set.init("key", 4, 5, Context::default())?.expect("the TTL is not 0");
    /// set.update(handle, 6, 5, Context::default())?;
    /// assert_eq!(set.applied(handle, 4), Outcome::Stale);
    /// assert_eq!(set.applied(handle, 6), Outcome::Applied);
    /// assert_eq!(set.applied(handle, 6), Outcome::Stale);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn applied(&mut self, handle: TtlKey, index: u64) -> Outcome {
        if self.entries.get(handle).is_none_or(|(record, _)| record.entry.index != index) {
            return self.stale();
        }
        drop(self.take(handle));
        self.stats.applied += 1;
        Outcome::Applied
    }

    /// Reports that the proposal to expire a key at `index` was refused: it will be proposed again after the retry
    /// delay, as [`TtlConfig::backoff`] says. O(1).
    ///
    /// Returns [`Outcome::Failed`], or [`Outcome::Stale`] if no such proposal is pending: after another index, an
    /// earlier answer, a timeout or a change of role, or with a stale handle.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, Role, TtlSet};
    ///
    /// let mut set: TtlSet<&str> = TtlSet::new(0);
    /// set.role_change(Role::Leader, 0);
    /// set.init("key", 1, 5, Context::default())?; // 5 ms
    /// let expiry = set.poll(5_000_000).next().unwrap();
    /// assert_eq!(set.failed(expiry.handle, 1, 6_000_000), Outcome::Failed);
    /// assert_eq!(set.failed(expiry.handle, 1, 6_000_000), Outcome::Stale);
    /// // A second later, by default, it is proposed again.
    /// assert_eq!(set.expiration_delay(), Some(1_000_000_000));
    /// assert_eq!(set.poll(1_006_000_000).next().unwrap().attempt, 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn failed(&mut self, handle: TtlKey, index: u64, now: u64) -> Outcome {
        self.tick(now);
        let record = self.entries.get(handle).filter(|(record, _)| record.entry.index == index);
        let flight = record.and_then(|(record, _)| self.entries.flight(record)).copied();
        let Some(flight) = flight.filter(|flight| flight.phase == Phase::Pending) else {
            return self.stale();
        };
        self.stats.failed += 1;
        self.fail(flight);
        trace::refused(index, flight);
        Outcome::Failed
    }

    /// Sets this replica's role, and makes every entry in flight due again. O(n log n) for the n in flight, at most
    /// [`max_pending`](TtlConfig::max_pending): about 2 ms for 4,096.
    ///
    /// Call it with every change of role *or term*. Every entry that was pending or waiting for a retry is due again,
    /// in order of deadline and with no attempts counted. This holds even if the role is the same as before, because
    /// the proposals may have been lost with the old term.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Phase, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<u32> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(7, 1, 5, Context::default())?;
    /// assert_eq!(queue.poll(6_000_000).count(), 1);
    /// assert_eq!(queue.as_set().pending_len(), 1);
    ///
    /// queue.role_change(Role::Follower, 7_000_000);
    /// assert_eq!(queue.get(&7).unwrap().phase, Phase::Queued);
    /// assert_eq!(queue.poll(8_000_000).count(), 0);
    ///
    /// queue.role_change(Role::Leader, 9_000_000);
    /// assert_eq!(queue.poll(9_000_000).count(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn role_change(&mut self, role: Role, now: u64) {
        self.tick(now);
        self.role = role;
        let flights = self.entries.put_all_back();
        for flight in &flights {
            self.stats.requeued += 1;
            self.stats.end_pending(Some(*flight), self.now);
        }
        trace::role_changed(role, flights.len(), self.len());
    }

    /// Proposes nothing from now on: polls yield nothing, and there is no wake-up. O(1).
    ///
    /// Pending entries may still be [applied](Self::applied); everything else works as before, so
    /// that a last snapshot can be taken. A stop cannot be undone.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// queue.stop();
    /// assert_eq!(queue.poll(5_000_000).count(), 0);
    /// assert_eq!((queue.wake_at(), queue.len()), (None, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(super) fn is_proposing(&self) -> bool {
        self.role == Role::Leader && !self.is_stopped
    }

    /// How many more entries may be in flight.
    pub(super) fn room(&self) -> usize {
        self.config.max_pending.saturating_sub(self.entries.flights.len())
    }

    /// Moves the clock, never backwards.
    pub(super) fn tick(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    pub(super) fn stale(&mut self) -> Outcome {
        self.stats.stale += 1;
        Outcome::Stale
    }

    /// Removes an entry, wherever it is.
    fn take(&mut self, handle: TtlKey) -> Option<Entry<K>> {
        let (entry, flight) = self.entries.remove(handle)?;
        self.stats.end_pending(flight, self.now);
        if !self.is_proposing() {
            // On a leader, the polls do this.
            self.entries.give_back();
        }
        Some(entry)
    }
}

/// When a TTL that began at `created_ns` is over.
fn deadline_ns(created_ns: u64, ttl_ms: u64) -> u64 {
    created_ns.saturating_add(ttl_ms.saturating_mul(NS_PER_MS))
}

impl<K, G: Geometry> fmt::Debug for TtlSet<K, G> {
    /// Prints the numbers of entries, never the entries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtlSet")
            .field("role", &self.role)
            .field("now", &self.now)
            .field("len", &self.len())
            .field("pending", &self.pending_len())
            .field("retrying", &self.retrying_len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}
