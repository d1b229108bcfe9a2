//! Entries by key: a hash table from the keys to the handles of a [`TtlSet`].

use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;

/// How keys are hashed unless the queue is given another hasher: by foldhash.
pub use foldhash::fast::RandomState as DefaultHashBuilder;
use hashbrown::{Equivalent, HashTable};

use super::entries::Entries;
use super::{Context, Entry, Expiry, Outcome, Role, TtlConfig, TtlError, TtlInfo, TtlKey, TtlSet, trace};
use crate::{Geometry, Millis};

/// The keys with a TTL on one replica of a state machine, found by key. See the [module](super).
///
/// `G` is the geometry of the wheel, `S` the hasher of the keys. Neither affects the results: hash order is never
/// visible.
///
/// # Keys
///
/// Keys are found by hash (`Hash + Eq`), because an ordered map would cost as much as the wheel saves.
/// Snapshots are in order of key (`Ord`), and an expiry carries a copy of its key (`Clone`).
///
/// The hasher is foldhash's ([`DefaultHashBuilder`]) unless another is given
/// ([`with_hasher`](Self::with_hasher)): fast, and seeded from addresses of the program, which is all that
/// `no_std` offers. An adversary who chooses keys cannot easily make them collide, but one who also
/// observes timings may. A program whose keys are chosen by strangers should pass `std`'s `RandomState`.
///
/// # Costs
///
/// Those of a [`TtlSet`], plus a look-up by hash, which with a million keys is about half of an update. A hash table
/// grows and shrinks in one call. So there are 256 tables, and an [`init`](Self::init) that doubles one moves a 256th
/// of the elements. The tables of an empty queue take 8 kB.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.role_change(Role::Leader, 0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// let proposed: Vec<_> = queue.poll(5_000_000).collect();
/// assert_eq!((proposed[0].key, proposed[0].index), ("key", 1));
/// queue.applied("key", 1);
/// assert!(queue.is_empty());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
// Invariant: every entry of the set is listed in the table of its key's hash, under that hash, and nothing else is.
#[derive(Clone)]
pub struct TtlQueue<K, G: Geometry = Millis, S = DefaultHashBuilder> {
    pub(super) set: TtlSet<K, G>,
    pub(super) tables: Vec<HashTable<Listed>>,
    hasher: S,
}

/// The handle of an entry and half of the hash of its key, as a table lists them. So the table grows without running
/// any code of a key, and an element takes twelve bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Listed {
    half: u32,
    handle: TtlKey,
}

/// The number of hash tables; [`table`] chooses one. A table that doubles holds a 256th of all keys, which keeps the
/// pause short.
const TABLES: usize = 256;

/// Repeats a hash of 32 bits in the upper half: a hash table uses the low bits for positions and the high bits to tell
/// entries apart.
const TWICE: u64 = 1 << 32 | 1;

impl<K, G: Geometry, S: Default> TtlQueue<K, G, S> {
    /// An empty queue on a follower whose monotonic clock stands at `now` nanoseconds, with the default settings. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Role, TtlQueue};
    ///
    /// let queue: TtlQueue<String> = TtlQueue::new(0);
    /// assert_eq!((queue.len(), queue.wake_at()), (0, None));
    /// ```
    pub fn new(now: u64) -> Self {
        Self::with_hasher(now, S::default())
    }
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// Like [`new`](Self::new), with a hasher for the keys. O(1).
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use timer_wheel::Millis;
    /// use timer_wheel::ttl::TtlQueue;
    ///
    /// // For keys that strangers choose.
    /// let hasher = RandomState::new();
    /// let queue: TtlQueue<String, Millis, _> = TtlQueue::with_hasher(0, hasher);
    /// assert!(queue.is_empty());
    /// ```
    pub fn with_hasher(now: u64, hasher: S) -> Self {
        Self { set: TtlSet::new(now), tables: alloc::vec![HashTable::new(); TABLES], hasher }
    }
}

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// Reports that the log entry `index` sets a key with a TTL of `ttl_ms` milliseconds. The key is due that long
    /// after `ctx.created_ns`, at the latest at the end of time. O(1), but see [Costs](Self#costs).
    ///
    /// - [`Outcome::Scheduled`]: the key had no TTL.
    /// - [`Outcome::Updated`]: it had one of an older index, which this one replaces, whether it
    ///   was queued, pending or waiting for a retry.
    /// - [`Outcome::Stale`]: it has one of this index or a newer one, and keeps it. So replaying the
    ///   log changes nothing.
    /// - [`Outcome::Ignored`]: the TTL is 0, which means none; an earlier TTL stays. To take the TTL from a
    ///   key, call [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] above the maximum TTL, whatever the index; [`TtlError::Full`] at the maximum number of
    /// entries. Nothing has changed then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// let ctx = Context::new(1_000);
    /// assert_eq!(queue.init("key", 3, 5, ctx), Ok(Outcome::Scheduled));
    /// assert_eq!(queue.init("key", 3, 9, ctx), Ok(Outcome::Stale));
    /// assert_eq!(queue.init("key", 4, 0, ctx), Ok(Outcome::Ignored));
    /// assert!(queue.init("key", 4, u64::MAX, ctx).is_err());
    /// assert_eq!(queue.get("key").unwrap().deadline_ns, 5_001_000);
    /// ```
    pub fn init(&mut self, key: K, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError> {
        let hash = self.hash(&key);
        if let Some(handle) = self.find_hashed(hash, &key) {
            return self.set.update(handle, index, ttl_ms, ctx);
        }
        // Everything that can fail to allocate comes before the first change.
        self.tables[table(hash)].reserve(1, Listed::hash);
        let Some(handle) = self.set.init(key, index, ttl_ms, ctx)? else {
            return Ok(Outcome::Ignored);
        };
        self.list(hash, handle);
        Ok(Outcome::Scheduled)
    }

    /// Reports that the log entry `index` replaces the TTL of a key that has one. O(1).
    ///
    /// Like [`init`](Self::init), but [`Outcome::Missing`] if the key has none. The proposal of a pending entry then
    /// carries an index that no longer counts.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`] above the maximum TTL, whatever the key and the index.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlQueue};
    ///
    /// let mut queue: TtlQueue<String> = TtlQueue::new(0);
    /// let ctx = Context::default();
    /// assert_eq!(queue.update("key", 1, 5, ctx), Ok(Outcome::Missing));
    /// queue.init("key".to_string(), 2, 5, ctx)?;
    /// assert_eq!(queue.update("key", 3, 8, ctx), Ok(Outcome::Updated));
    /// assert_eq!(queue.remaining("key", 0), Some(8_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn update<Q>(&mut self, key: &Q, index: u64, ttl_ms: u64, ctx: Context) -> Result<Outcome, TtlError>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        match self.find(key) {
            Some(handle) => self.set.update(handle, index, ttl_ms, ctx),
            None if ttl_ms == 0 => Ok(Outcome::Ignored),
            None => self.set.config().check_ttl(ttl_ms).map(|()| Outcome::Missing),
        }
    }

    /// Ends the TTL of a key, whatever its phase, and hands the stored key back. `None` if the key has none. O(1).
    ///
    /// Call it when the key is deleted. A later answer to its proposal is [stale](Outcome::Stale).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!((queue.remove("key"), queue.remove("key")), (Some("key"), None));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remove<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<K> {
        let handle = self.unlist_if(key, |_| true)?;
        self.set.remove(handle)
    }

    /// Reports that the expiry of `key` at `index` came back through the log. O(1).
    ///
    /// Call it on every replica, even if the state machine found the key missing or at another index, so that no entry
    /// stays pending for ever. The entry ends if it carries that index ([`Outcome::Applied`]), whatever its phase here;
    /// otherwise it is left alone ([`Outcome::Stale`]).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 4, 5, Context::default())?;
    /// queue.update("key", 6, 5, Context::default())?;
    /// assert_eq!(queue.applied("key", 4), Outcome::Stale);
    /// assert_eq!(queue.applied("key", 6), Outcome::Applied);
    /// assert_eq!(queue.applied("key", 6), Outcome::Stale);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn applied<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q, index: u64) -> Outcome {
        match self.unlist_if(key, |entry| entry.index == index) {
            Some(handle) => self.set.applied(handle, index),
            None => self.set.stale(),
        }
    }

    /// Reports that the proposal to expire `key` at `index` was refused: it will be proposed again after the retry
    /// delay, as [`TtlConfig::backoff`] says. O(1).
    ///
    /// Returns [`Outcome::Failed`], or [`Outcome::Stale`] if no such proposal is pending: after another index, an
    /// earlier answer, a timeout or a change of role.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Outcome, Role, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.role_change(Role::Leader, 0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// assert_eq!(queue.failed("key", 1, 6_000_000), Outcome::Failed);
    /// assert_eq!(queue.failed("key", 1, 6_000_000), Outcome::Stale);
    /// // A second later, by default, it is proposed again.
    /// assert_eq!(queue.expiration_delay(), Some(1_000_000_000));
    /// assert_eq!(queue.poll(1_006_000_000).next().unwrap().attempt, 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn failed<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q, index: u64, now: u64) -> Outcome {
        self.set.tick(now);
        match self.find(key) {
            Some(handle) => self.set.failed(handle, index, now),
            None => self.set.stale(),
        }
    }
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// See [`TtlSet::poll`].
    pub fn poll(&mut self, now: u64) -> impl FusedIterator<Item = Expiry<K>> + '_
    where
        K: Clone,
    {
        self.set.poll(now)
    }

    /// See [`TtlSet::role_change`].
    pub fn role_change(&mut self, role: Role, now: u64) {
        self.set.role_change(role, now);
    }

    /// See [`TtlSet::stop`].
    pub fn stop(&mut self) {
        self.set.stop();
    }
}

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// The entry of a key, its deadline and phase, or `None` if the key has no TTL. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Phase, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// let info = queue.get("key").unwrap();
    /// assert_eq!((info.entry.index, info.deadline_ns, info.phase), (1, 5_000_000, Phase::Queued));
    /// assert!(queue.get("other").is_none());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<TtlInfo<'_, K>> {
        self.set.get(self.find(key)?)
    }

    /// Whether a key has a TTL. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert!(queue.contains("key") && !queue.contains("other"));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn contains<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> bool {
        self.find(key).is_some()
    }

    /// How long a key has left at `now`, in nanoseconds: 0 if it is due, `None` if it has no TTL.
    /// O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.remaining("key", 2_000_000), Some(3_000_000));
    /// assert_eq!(queue.remaining("key", 9_000_000), Some(0), "overdue");
    /// assert_eq!(queue.remaining("other", 0), None);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn remaining<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q, now: u64) -> Option<u64> {
        self.set.remaining(self.find(key)?, now)
    }
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// The set under the table: its statistics, role and configuration, entries in order, and snapshots. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// assert_eq!((queue.as_set().pending_len(), queue.as_set().stats().scheduled), (0, 1));
    /// assert_eq!(queue.as_set().snapshot().len(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn as_set(&self) -> &TtlSet<K, G> {
        &self.set
    }

    /// See [`TtlSet::wake_at`].
    pub fn wake_at(&self) -> Option<u64> {
        self.set.wake_at()
    }

    /// See [`TtlSet::expiration_delay`].
    pub fn expiration_delay(&self) -> Option<u64> {
        self.set.expiration_delay()
    }

    /// The number of entries, in any phase. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.init("key", 1, 5, Context::default())?; // 5 ms
    /// queue.init("other", 2, 9, Context::default())?;
    /// assert_eq!(queue.len(), 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether there is no entry. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::TtlQueue;
    ///
    /// let queue: TtlQueue<&str> = TtlQueue::new(0);
    /// assert!(queue.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// See [`TtlSet::set_config`]. O(1).
    ///
    /// # Errors
    ///
    /// [`TtlError::InvalidConfig`] if the settings cannot work.
    pub fn set_config(&mut self, config: TtlConfig) -> Result<(), TtlError> {
        self.set.set_config(config)
    }

    /// Makes room for `additional` more entries. O(n + additional), as the tables of the keys may
    /// grow.
    ///
    /// # Panics
    ///
    /// If the queue could never hold that many.
    ///
    /// ```
    /// use timer_wheel::ttl::TtlQueue;
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
    /// queue.reserve(1_000);
    /// assert!(queue.is_empty());
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.set.reserve(additional);
        self.reserve_tables(additional);
    }

    /// Drops all entries and gives their memory back. The clock, the role and the statistics stay. See
    /// [`TtlSet::clear`].
    pub fn clear(&mut self) {
        self.tables.fill(HashTable::new());
        // Last, because keys may panic when they are dropped.
        self.set.clear();
    }

    /// Makes room in each table for its share and six standard deviations more, so that none has to grow.
    fn reserve_tables(&mut self, additional: usize) {
        let share = additional.div_ceil(TABLES);
        let share = share + 6 * share.isqrt();
        self.tables.iter_mut().for_each(|table| table.reserve(share, Listed::hash));
    }
}

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// Like [`TtlSet::restore`], but no two entries may have the same key. O(n), or O(n log n) if they are
    /// not in order of key.
    ///
    /// # Errors
    ///
    /// [`TtlError::TtlTooLong`], [`TtlError::ZeroTtl`], [`TtlError::DuplicateKey`] or
    /// [`TtlError::Full`]. The queue is unchanged then.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlQueue};
    ///
    /// let mut leader: TtlQueue<&str> = TtlQueue::new(0);
    /// let ctx = Context::new(0).with_leader_start_ms(10_000);
    /// leader.init("key", 1, 900, ctx)?;
    ///
    /// // 400 ms later, on a replica whose monotonic clock began elsewhere.
    /// let now = 77_000_000_000;
    /// let mut replica: TtlQueue<&str> = TtlQueue::new(now);
    /// replica.restore(leader.as_set().snapshot().into_iter().cloned(), now, 10_400)?;
    /// assert_eq!(replica.remaining("key", now), Some(500_000_000));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn restore(
        &mut self,
        entries: impl IntoIterator<Item = Entry<K>>,
        now: u64,
        wall_now_ms: u64,
    ) -> Result<(), TtlError>
    where
        K: Ord,
    {
        let entries: Vec<Entry<K>> = entries.into_iter().collect();
        self.set.check_restore(&entries)?;
        if has_duplicates(&entries) {
            return Err(TtlError::DuplicateKey);
        }
        let hashes: Vec<u64> = entries.iter().map(|entry| self.hash(&entry.key)).collect();
        self.tables.fill(HashTable::new());
        self.reserve_tables(hashes.len());
        let handles = self.set.replace_all(entries, now, wall_now_ms)?;
        for (hash, handle) in hashes.into_iter().zip(handles) {
            self.list(hash, handle);
        }
        trace::restored(self.len());
        Ok(())
    }

    fn list(&mut self, hash: u64, handle: TtlKey) {
        self.tables[table(hash)].insert_unique(hash, Listed { half: hash as u32, handle }, Listed::hash);
    }

    fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        let hash = self.hasher.hash_one(key);
        u64::from((hash ^ hash >> 32) as u32) * TWICE
    }

    pub(super) fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<TtlKey> {
        self.find_hashed(self.hash(key), key)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, key: &(impl Equivalent<K> + ?Sized)) -> Option<TtlKey> {
        let entries = &self.set.entries;
        let listed = self.tables[table(hash)].find(hash, |it| it.is_of(hash, key, entries))?;
        Some(listed.handle)
    }

    /// Removes an entry from its table if `is_wanted` accepts it.
    fn unlist_if<Q>(&mut self, key: &Q, is_wanted: impl FnOnce(&Entry<K>) -> bool) -> Option<TtlKey>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let hash = self.hash(key);
        let entries = &self.set.entries;
        let table = &mut self.tables[table(hash)];
        let found = table.find_entry(hash, |it| it.is_of(hash, key, entries)).ok()?;
        let handle = found.get().handle;
        entries.get(handle).filter(|(record, _)| is_wanted(&record.entry))?;
        found.remove();
        if table.len() < table.capacity() / 8 {
            table.shrink_to(2 * table.len(), Listed::hash);
        }
        Some(handle)
    }
}

impl Listed {
    fn hash(&self) -> u64 {
        u64::from(self.half) * TWICE
    }

    /// Whether this is the element of `key`, whose hash is `hash`.
    #[inline]
    fn is_of<K, G: Geometry>(&self, hash: u64, key: &(impl Equivalent<K> + ?Sized), entries: &Entries<K, G>) -> bool {
        self.hash() == hash && entries.get(self.handle).is_some_and(|(it, _)| key.equivalent(&it.entry.key))
    }
}

/// The table of a hash. All bits of the hash count, so that keys are spread even if their hashes differ in only a few
/// bits.
fn table(hash: u64) -> usize {
    (hash as u32).wrapping_mul(0x9E37_79B9) as usize >> 24
}

/// Whether two entries have the same key. O(n) if they are in order of key.
fn has_duplicates<K: Ord>(entries: &[Entry<K>]) -> bool {
    if entries.is_sorted_by(|one, next| one.key < next.key) {
        return false;
    }
    let mut keys: Vec<&K> = entries.iter().map(|entry| &entry.key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

impl<K, G: Geometry, S> fmt::Debug for TtlQueue<K, G, S> {
    /// Prints the numbers of entries, never the entries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TtlQueue").field(&self.set).finish()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::cmp::Ordering;
    use core::hash::{BuildHasherDefault, Hasher};

    use super::*;

    /// A key that counts how often it is compared.
    #[derive(Eq)]
    struct Counting<'a>(u32, &'a Cell<usize>);

    impl PartialEq for Counting<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl PartialOrd for Counting<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counting<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl Hash for Counting<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            state.write_u32(self.0);
        }
    }

    /// A hasher that puts the whole key into one half of the hash.
    #[derive(Clone, Default)]
    struct Half<const SHIFT: u32>(u64);

    impl<const SHIFT: u32> Hasher for Half<SHIFT> {
        fn write(&mut self, _: &[u8]) {
            unreachable!("keys are numbers");
        }

        fn write_u32(&mut self, key: u32) {
            let scattered = key.wrapping_mul(0x9E37_79B9);
            self.0 = u64::from(scattered) << SHIFT;
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    /// The number of comparisons when each of ten thousand keys is looked up.
    fn compared_with<H: Hasher + Default>() -> usize {
        let compared = Cell::new(0);
        let hasher = BuildHasherDefault::<H>::default();
        let mut queue: TtlQueue<_, Millis, _> = TtlQueue::with_hasher(0, hasher);
        for key in 0..10_000 {
            let set = queue.init(Counting(key, &compared), 1, 5, Context::default());
            assert_eq!(set, Ok(Outcome::Scheduled));
        }
        compared.set(0);
        assert!((0..10_000).all(|key| queue.contains(&Counting(key, &compared))));
        compared.get()
    }

    /// Even if only a few bits of the hash differ.
    #[test]
    fn keys_are_spread_over_the_tables() {
        for step in [1_u64, 1 << 8, 1 << 16] {
            let mut held = [0; TABLES];
            (0..25_600).for_each(|nth| held[table((nth * step % (1 << 32)) * TWICE)] += 1);
            let most = held.iter().max();
            assert!(most < Some(&200), "{most:?} of 100 each, {step} apart");
        }
    }

    /// As before a restore of an empty snapshot.
    #[test]
    fn no_room_is_made_for_no_keys() {
        let mut queue: TtlQueue<u32> = TtlQueue::new(0);
        queue.reserve(0);
        queue.restore([], 0, 0).unwrap();
        assert!(queue.tables.iter().all(|table| table.capacity() == 0));
        queue.reserve(100_000);
        assert!(queue.tables.iter().all(|table| table.capacity() > 390));
    }

    #[test]
    fn hash_counts_whichever_half_of_it_tells_keys_apart() {
        assert_eq!(compared_with::<Half<0>>(), 10_000, "each with itself");
        assert_eq!(compared_with::<Half<32>>(), 10_000, "each with itself");
    }

    fn entries(keys: impl Iterator<Item = u32>, count: &Cell<usize>) -> Vec<Entry<Counting<'_>>> {
        let entry = |key| Entry::new(Counting(key, count), 1, 1);
        keys.map(entry).collect()
    }

    #[test]
    fn duplicates_are_found_wherever_they_are_and_without_sorting_what_is_sorted() {
        let compared = Cell::new(0);
        assert!(!has_duplicates(&entries(0..1_000, &compared)));
        assert_eq!(compared.get(), 999, "each with the next");
        assert!(!has_duplicates(&entries((0..1_000).rev(), &compared)));
        for duplicate in [0, 500, 999] {
            assert!(has_duplicates(&entries((0..1_000).chain([duplicate]), &compared)));
        }
    }
}
