//! Who has a TTL: the entries, found by key.
//!
//! An entry is kept in an arena and stays at its index as long as it lives; the map holds the index
//! and 32 bits of the hash. So the key is stored once, the wheels and lists speak of entries by a
//! `u32`, and the map grows without asking a key for its hash again: nothing of the caller's runs
//! while the map is open.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::mem;

use hashbrown::HashTable;

use super::item::{Item, ItemIndex, NO_ITEM, touch};
use crate::filing::card::Card;
use crate::slots::Slots;

/// The most entries a queue holds. Towers of drawn entries take a third more than one `u32` each.
const MOST_ENTRIES: usize = 1 << 30;

/// Entries prefetched at once: first all leads, then all entries.
const AT_ONCE: usize = 32;

/// What the map says of an entry.
#[derive(Copy, Clone, Debug)]
struct Lead {
    hash: ShortHash,
    item: ItemIndex,
}

/// Half of a key's hash.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct ShortHash(u32);

impl ShortHash {
    /// A whole hash again: the map takes the position from its low bits and a tag from its top.
    #[inline]
    fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// All entries, by index and by key.
///
/// Invariant: the map leads to every entry once, under the hash of its key, and nowhere else.
#[derive(Clone)]
pub(super) struct Roster<K, S> {
    items: Slots<Item<K>>,
    leads: HashTable<Lead>,
    hasher: S,
}

impl<K, S> Roster<K, S> {
    pub(super) fn new(hasher: S) -> Self {
        Self {
            items: Slots::new(0),
            leads: HashTable::new(),
            hasher,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is room for `additional` more entries.
    #[inline]
    pub(super) fn has_room(&self, additional: usize) -> bool {
        additional <= MOST_ENTRIES - self.len()
    }

    #[inline]
    pub(super) fn item(&self, item: ItemIndex) -> &Item<K> {
        self.items.value(item)
    }

    #[inline]
    pub(super) fn item_mut(&mut self, item: ItemIndex) -> &mut Item<K> {
        self.items.value_mut(item)
    }

    /// The arena of the entries, in which the wheel of deadlines files them.
    #[inline]
    pub(super) fn slots(&self) -> &Slots<Item<K>> {
        &self.items
    }

    #[inline]
    pub(super) fn slots_mut(&mut self) -> &mut Slots<Item<K>> {
        &mut self.items
    }

    /// All entries in no order that means anything.
    pub(super) fn items(&self) -> impl Iterator<Item = (ItemIndex, &Item<K>)> {
        let mut next = 0;
        core::iter::from_fn(move || {
            let item = self.items.taken_from(next)?;
            next = item.get() + 1;
            Some((item, self.items.value(item)))
        })
    }

    /// Adds an entry whose key has none, and lets `file` fill in the card of its slot. Amortized
    /// O(1).
    #[inline]
    pub(super) fn insert(
        &mut self,
        hash: ShortHash,
        item: Item<K>,
        file: impl FnOnce(&mut Card, ItemIndex),
    ) {
        let key = self.items.take(item, file);
        let lead = Lead {
            hash,
            item: key.slot(),
        };
        self.leads
            .insert_unique(hash.spread(), lead, |lead| lead.hash.spread());
    }

    /// Drops every entry, when the roster is empty already: a key may panic in its drop.
    pub(super) fn clear(&mut self) {
        self.leads.clear();
        drop(mem::replace(&mut self.items, Slots::new(0)));
    }

    /// Makes room in the map for one more entry. Amortized O(1).
    #[inline]
    pub(super) fn reserve_lead(&mut self) {
        self.leads.reserve(1, |lead| lead.hash.spread());
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
        self.leads.reserve(additional, |lead| lead.hash.spread());
    }
}

impl<K: Hash + Eq, S: BuildHasher> Roster<K, S> {
    #[inline]
    pub(super) fn hash<Q>(&self, key: &Q) -> ShortHash
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        ShortHash((hash ^ hash >> 32) as u32)
    }

    /// The entry of a key whose hash is known. O(1).
    #[inline]
    pub(super) fn find<Q>(&self, hash: ShortHash, key: &Q) -> Option<ItemIndex>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let items = &self.items;
        let lead = self.leads.find(hash.spread(), |lead| {
            lead.hash == hash && items.value(lead.item).entry.key.borrow() == key
        })?;
        Some(lead.item)
    }

    /// Reads the entries of some keys, many at once, so that they are in the cache when they are asked
    /// for. O(keys).
    pub(super) fn prefetch<'a, Q>(&self, keys: impl Iterator<Item = &'a Q>)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized + 'a,
    {
        // The first lead with this hash: nearly always that of the key, which then need not be read.
        let items = keys.filter_map(|key| {
            let hash = self.hash(key);
            let lead = self.leads.find(hash.spread(), |lead| lead.hash == hash)?;
            Some(lead.item)
        });
        let mut found = [NO_ITEM; AT_ONCE];
        let mut count = 0;
        for item in items {
            found[count] = item;
            count += 1;
            if count == AT_ONCE {
                touch(&self.items, found.into_iter());
                count = 0;
            }
        }
        touch(&self.items, found[..count].iter().copied());
    }

    /// Takes an entry out of the map if it is as the caller wants it. It is then to be withdrawn from
    /// where it is and [removed](Self::remove). O(1).
    #[inline]
    pub(super) fn unlist_if<Q>(
        &mut self,
        key: &Q,
        is_wanted: impl FnOnce(&Item<K>) -> bool,
    ) -> Option<ItemIndex>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let items = &self.items;
        let found = self.leads.find_entry(hash.spread(), |lead| {
            lead.hash == hash && items.value(lead.item).entry.key.borrow() == key
        });
        let lead = found.ok()?;
        let item = lead.get().item;
        if !is_wanted(items.value(item)) {
            return None;
        }
        lead.remove();
        Some(item)
    }

    /// Removes an entry that is not in the map any more. O(1).
    #[inline]
    #[must_use = "the key is dropped when all is in order"]
    pub(super) fn remove(&mut self, item: ItemIndex) -> Item<K> {
        let (_, item) = self
            .items
            .release_slot(item)
            .expect("an entry that is removed is there");
        item
    }

    /// Checks the invariant, by name. O(n).
    pub(super) fn check(&self) {
        self.items.check();
        assert_eq!(
            self.leads.len(),
            self.items.len(),
            "the map leads to every entry once"
        );
        for (index, item) in self.items() {
            let hash = self.hash(&item.entry.key);
            assert_eq!(
                self.find(hash, &item.entry.key),
                Some(index),
                "the map leads to every entry under the hash of its key"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::hash::Hasher;

    use super::*;

    /// Hashes a number to what a function says.
    struct Made(fn(u64) -> u64);

    struct Making(fn(u64) -> u64, u64);

    impl BuildHasher for Made {
        type Hasher = Making;

        fn build_hasher(&self) -> Making {
            Making(self.0, 0)
        }
    }

    impl Hasher for Making {
        fn write(&mut self, _: &[u8]) {
            unreachable!("keys are numbers");
        }

        fn write_u64(&mut self, number: u64) {
            self.1 = (self.0)(number);
        }

        fn finish(&self) -> u64 {
            self.1
        }
    }

    fn distinct<T: Ord>(of: impl Iterator<Item = T>) -> usize {
        let mut all: Vec<T> = of.collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    #[test]
    fn hashes_stay_apart_wherever_their_bits_are() {
        let hashers: [fn(u64) -> u64; 3] = [
            |key| key,
            |key| key << 32,
            |key| key | u64::from(u32::MAX) << 32,
        ];
        for hasher in hashers {
            let roster: Roster<u64, Made> = Roster::new(Made(hasher));
            assert_eq!(distinct((0..1_000).map(|key| roster.hash(&key).0)), 1_000);
        }
    }

    /// The table goes by the highest seven bits of a hash, and by the lowest.
    #[test]
    fn neighbouring_hashes_are_spread_over_the_table() {
        let spread = || (0..1_024).map(|hash| ShortHash(hash).spread());
        assert!(distinct(spread().map(|hash| hash >> 57)) > 120);
        assert!(distinct(spread().map(|hash| hash % 1_024)) > 1_000);
    }

    #[test]
    fn room_ends_with_the_most_entries() {
        let mut roster: Roster<u64, ()> = Roster::new(());
        assert!(roster.has_room(MOST_ENTRIES) && !roster.has_room(MOST_ENTRIES + 1));
        roster.insert(ShortHash(1), Item::any(7), |_, _| ());
        assert!(roster.has_room(MOST_ENTRIES - 1) && !roster.has_room(MOST_ENTRIES));
    }
}
