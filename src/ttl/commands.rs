//! What the log and the proposals' answers say: TTLs set, changed, ended; and asking for one.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use super::TtlQueue;
use super::config::NS_PER_MS;
use super::entry::{Context, Entry, Outcome, Timer};
use super::error::TtlError;
use super::item::{Item, ItemIndex, Place};
use super::roster::ShortHash;
use crate::geometry::Geometry;

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// The log entry `index` sets a key with a TTL of `ttl_ms` milliseconds: the key is due that
    /// long after `ctx.created_ns`, at the end of time if that is past it. O(1).
    ///
    /// - [`Outcome::Scheduled`]: the key had no TTL.
    /// - [`Outcome::Updated`]: it had one, of an older index, and this one replaces it, whether it
    ///   was queued, pending or waiting for a retry.
    /// - [`Outcome::Stale`]: it has one of this index or a newer one, and keeps it. So replaying the
    ///   log changes nothing.
    /// - [`Outcome::Ignored`]: the TTL is 0, which means none; an earlier TTL stays. Who takes the
    ///   TTL from a key calls [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] past the maximum TTL, whatever the index; [`TtlError::Full`] with
    /// 2^30 entries. Nothing has changed then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// let ctx = Context { created_ns: 1_000, ..Context::default() };
    /// assert_eq!(queue.init(3, "key", 5, ctx), Ok(Outcome::Scheduled));
    /// assert_eq!(queue.init(3, "key", 9, ctx), Ok(Outcome::Stale));
    /// assert_eq!(queue.init(4, "key", 0, ctx), Ok(Outcome::Ignored));
    /// assert!(queue.init(4, "key", u64::MAX, ctx).is_err());
    /// assert_eq!(queue.get("key").unwrap().deadline_ns, 5_001_000);
    /// ```
    pub fn init(
        &mut self,
        index: u64,
        key: K,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError> {
        if ttl_ms == 0 {
            return Ok(Outcome::Ignored);
        }
        self.config.check_ttl(ttl_ms)?;
        let hash = self.roster.hash(&key);
        if let Some(item) = self.roster.find(hash, &key) {
            return Ok(self.replace(item, index, ttl_ms, ctx));
        }
        if !self.roster.has_room(1) {
            return Err(TtlError::Full);
        }
        let entry = Entry {
            key,
            index,
            owner: ctx.owner,
            leader_start_ms: ctx.leader_start_ms,
            ttl_ms,
        };
        self.insert(hash, entry, deadline_ns(ctx.created_ns, ttl_ms));
        self.counters.scheduled += 1;
        Ok(Outcome::Scheduled)
    }

    /// The log entry `index` gives a key that has a TTL another one. O(1).
    ///
    /// As [`init`](Self::init), but [`Outcome::Missing`] if the key has none. An update of a pending
    /// entry replaces it: its proposal, when it comes back, is of an index that no longer counts.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] past the maximum TTL, whatever the key and the index.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<String> = TtlQueue::new(0, TtlConfig::default());
    /// let ctx = Context::default();
    /// assert_eq!(queue.update(1, "key", 5, ctx), Ok(Outcome::Missing));
    /// queue.init(2, "key".to_string(), 5, ctx)?;
    /// assert_eq!(queue.update(3, "key", 8, ctx), Ok(Outcome::Updated));
    /// assert_eq!(queue.remaining("key", 0), Some(8_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn update<Q>(
        &mut self,
        index: u64,
        key: &Q,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if ttl_ms == 0 {
            return Ok(Outcome::Ignored);
        }
        self.config.check_ttl(ttl_ms)?;
        Ok(match self.roster.find(self.roster.hash(key), key) {
            Some(item) => self.replace(item, index, ttl_ms, ctx),
            None => Outcome::Missing,
        })
    }

    /// The key has no TTL any more, because it was deleted or set without one: its timer is dropped,
    /// whether it is queued, pending or waiting for a retry. O(1).
    ///
    /// Answers [`Outcome::Removed`], or [`Outcome::Missing`] if there was none.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.remove("key"), Outcome::Removed);
    /// assert_eq!(queue.remove("key"), Outcome::Missing);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remove<Q>(&mut self, key: &Q) -> Outcome
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        match self.roster.unlist_if(key, |_| true) {
            Some(item) => {
                self.withdraw(item);
                drop(self.roster.remove(item));
                Outcome::Removed
            }
            None => Outcome::Missing,
        }
    }

    /// The expiry of `key` at `index` came back through the log. O(1).
    ///
    /// To be called on every replica, and also if the state machine found the key missing or at
    /// another index, so that nothing stays pending for ever. The entry ends if it carries that
    /// index ([`Outcome::Applied`]), whatever its phase here; anything else is left alone
    /// ([`Outcome::Stale`]).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(4, "key", 5, Context::default())?;
    /// queue.update(6, "key", 5, Context::default())?;
    /// assert_eq!(queue.applied("key", 4), Outcome::Stale);
    /// assert_eq!(queue.applied("key", 6), Outcome::Applied);
    /// assert_eq!(queue.applied("key", 6), Outcome::Stale);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn applied<Q>(&mut self, key: &Q, index: u64) -> Outcome
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let unlisted = self.roster.unlist_if(key, |item| item.entry.index == index);
        let Some(item) = unlisted else {
            return self.stale();
        };
        self.withdraw(item);
        self.counters.applied += 1;
        drop(self.roster.remove(item));
        Outcome::Applied
    }

    /// The proposal to expire `key` at `index` was refused: it will be proposed again after the
    /// retry delay, as [`TtlConfig::backoff`](super::TtlConfig::backoff) says. O(1).
    ///
    /// Answers [`Outcome::Failed`], or [`Outcome::Stale`] if no such proposal is pending: another
    /// index, an answer already, a timeout, a change of role.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// assert_eq!(queue.failed("key", 1, 6_000_000), Outcome::Failed);
    /// assert_eq!(queue.failed("key", 1, 6_000_000), Outcome::Stale);
    /// // A second later, by default, it is proposed again.
    /// assert_eq!(queue.next_wake(6_000_000), Some(1_000_000_000));
    /// assert_eq!(queue.poll(1_006_000_000).next().unwrap().attempt, 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn failed<Q>(&mut self, key: &Q, index: u64, now: u64) -> Outcome
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let found = self.roster.find(self.roster.hash(key), key);
        self.tick(now);
        match found {
            Some(item) if self.roster.item(item).entry.index == index && self.fail(item) => {
                self.counters.failed += 1;
                Outcome::Failed
            }
            _ => self.stale(),
        }
    }

    /// What is known of a key's TTL, or `None` if it has none. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Phase, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// let timer = queue.get("key").unwrap();
    /// assert_eq!((timer.entry.index, timer.deadline_ns, timer.phase), (1, 5_000_000, Phase::Queued));
    /// assert!(queue.get("other").is_none());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn get<Q>(&self, key: &Q) -> Option<Timer<'_, K>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let item = self.roster.find(self.roster.hash(key), key)?;
        Some(self.timer(item))
    }

    /// Whether a key has a TTL. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert!(queue.contains("key") && !queue.contains("other"));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).is_some()
    }

    /// How long a key has left at `now`, in nanoseconds: 0 if it is due, `None` if it has no TTL.
    /// O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.remaining("key", 2_000_000), Some(3_000_000));
    /// assert_eq!(queue.remaining("key", 9_000_000), Some(0), "overdue");
    /// assert_eq!(queue.remaining("other", 0), None);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remaining<Q>(&self, key: &Q, now: u64) -> Option<u64>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(self.get(key)?.deadline_ns.saturating_sub(now))
    }

    /// Reads the entries of keys that the calls that follow will be about, so that they are in the
    /// processor's cache by then. Changes nothing, and keys without a TTL do no harm. O(keys).
    ///
    /// The entries of a million keys do not fit into a cache. [`init`](Self::init),
    /// [`update`](Self::update), [`remove`](Self::remove), [`applied`](Self::applied),
    /// [`failed`](Self::failed) and [`get`](Self::get) each wait for memory twice, one time after the
    /// other, and mostly so does the next call; here all keys wait together. A state machine that
    /// applies its log in batches knows the keys beforehand: with batches of 16 to 64 and a large
    /// queue an update costs two thirds. A small queue gains nothing, and pays for one more look-up.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<u64> = TtlQueue::new(0, TtlConfig::default());
    /// // Log entries as they were committed: index, key, TTL in milliseconds.
    /// let committed = [(1, 17, 500), (2, 4, 9_000), (3, 17, 800)];
    /// for batch in committed.chunks(32) {
    ///     queue.prefetch(batch.iter().map(|(_, key, _)| key));
    ///     for &(index, key, ttl_ms) in batch {
    ///         queue.init(index, key, ttl_ms, Context::default())?;
    ///     }
    /// }
    /// assert_eq!(queue.remaining(&17, 0), Some(800_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn prefetch<'a, Q>(&self, keys: impl IntoIterator<Item = &'a Q>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized + 'a,
    {
        self.roster.prefetch(keys.into_iter());
    }

    /// Adds an entry for a key that has none.
    pub(super) fn insert(&mut self, hash: ShortHash, entry: Entry<K>, deadline_ns: u64) {
        // Whatever can fail for want of memory comes before the first change.
        self.roster.reserve_lead();
        let rank = self.rank(deadline_ns);
        let place = Place::Queued;
        let item = self.roster.insert(hash, Item { entry, rank, place });
        self.queue.file(self.roster.slots_mut(), item, deadline_ns);
    }

    /// Gives an entry another TTL, if that is of a newer index.
    fn replace(&mut self, item: ItemIndex, index: u64, ttl_ms: u64, ctx: Context) -> Outcome {
        let known = self.roster.item(item);
        if known.entry.index >= index {
            return self.stale();
        }
        let is_queued = matches!(known.place, Place::Queued);
        let rank = self.rank(deadline_ns(ctx.created_ns, ttl_ms));
        if is_queued {
            let slots = self.roster.slots_mut();
            self.queue.reschedule(slots, item, rank.deadline_ns);
        } else {
            self.withdraw(item);
            self.queue
                .file(self.roster.slots_mut(), item, rank.deadline_ns);
        }
        let known = self.roster.item_mut(item);
        known.entry.index = index;
        known.entry.owner = ctx.owner;
        known.entry.leader_start_ms = ctx.leader_start_ms;
        known.entry.ttl_ms = ttl_ms;
        known.rank = rank;
        known.place = Place::Queued;
        self.counters.updated += 1;
        Outcome::Updated
    }
}

/// When a TTL that began at `created_ns` is over.
#[inline]
fn deadline_ns(created_ns: u64, ttl_ms: u64) -> u64 {
    created_ns.saturating_add(ttl_ms.saturating_mul(NS_PER_MS))
}
