//! Who has a TTL: the entries, found by key.
//!
//! An entry is kept in an arena and stays at its index as long as it lives; [`leads`] hold the index
//! and 32 bits of the hash. So the key is stored once, the wheels and lists speak of entries by a
//! `u32`, and the leads grow without asking a key for its hash again: nothing of the caller's runs
//! while they are changed.

mod leads;

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::mem;

pub(super) use self::leads::ShortHash;
use self::leads::{Found, Leads};
use super::item::{Item, ItemIndex, NO_ITEM, touch};
use crate::slots::Slots;

/// The most entries a queue holds. Towers of drawn entries take a third more than one `u32` each.
pub(super) const MOST_ENTRIES: usize = 1 << 30;

/// Entries prefetched at once: first all leads, then all entries.
const AT_ONCE: usize = 32;

/// All entries, by index and by key.
///
/// Invariant: the leads lead to every entry once, under the hash of its key, and nowhere else.
#[derive(Clone)]
pub(super) struct Roster<K, S> {
    items: Slots<Item<K>>,
    leads: Leads,
    hasher: S,
}

impl<K, S> Roster<K, S> {
    pub(super) fn new(hasher: S) -> Self {
        Self {
            items: Slots::new(0),
            leads: Leads::new(),
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

    /// Adds an entry whose key has none, and says where. O(1).
    #[inline]
    pub(super) fn insert(&mut self, hash: ShortHash, item: Item<K>) -> ItemIndex {
        let item = self.items.take(item).slot();
        self.leads.insert(hash, item);
        item
    }

    /// Drops every entry, when the roster is empty already: a key may panic in its drop.
    pub(super) fn clear(&mut self) {
        self.leads = Leads::new();
        drop(mem::replace(&mut self.items, Slots::new(0)));
    }

    /// Makes room for one more lead. Amortized O(1).
    #[inline]
    pub(super) fn reserve_lead(&mut self) {
        self.leads.reserve(1);
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
        self.leads.reserve(additional);
    }
}

impl<K: Hash + Eq, S: BuildHasher> Roster<K, S> {
    #[inline]
    pub(super) fn hash<Q>(&self, key: &Q) -> ShortHash
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        ShortHash::of(self.hasher.hash_one(key))
    }

    /// The entry of a key whose hash is known. O(1).
    #[inline]
    pub(super) fn find<Q>(&self, hash: ShortHash, key: &Q) -> Option<ItemIndex>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        Some(self.lead(hash, key)?.item)
    }

    #[inline]
    fn lead<Q>(&self, hash: ShortHash, key: &Q) -> Option<Found>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.leads.find(hash, |item| {
            self.items.value(item).entry.key.borrow() == key
        })
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
            let found = self.leads.find(hash, |_| true)?;
            Some(found.item)
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

    /// Takes the lead to an entry away if the entry is as the caller wants it. It is then to be
    /// withdrawn from where it is and [removed](Self::remove). O(1).
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
        let found = self.lead(self.hash(key), key)?;
        if !is_wanted(self.item(found.item)) {
            return None;
        }
        self.leads.remove(found);
        Some(found.item)
    }

    /// Removes an entry that no lead leads to any more. O(1).
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
        self.leads.check();
        assert_eq!(
            self.leads.len(),
            self.items.len(),
            "a lead leads to every entry"
        );
        for (index, item) in self.items() {
            let hash = self.hash(&item.entry.key);
            assert_eq!(
                self.find(hash, &item.entry.key),
                Some(index),
                "a lead leads to every entry under the hash of its key"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_with_the_most_entries() {
        let mut roster: Roster<u64, ()> = Roster::new(());
        assert!(roster.has_room(MOST_ENTRIES) && !roster.has_room(MOST_ENTRIES + 1));
        roster.insert(ShortHash::of(1), Item::any(7));
        assert!(roster.has_room(MOST_ENTRIES - 1) && !roster.has_room(MOST_ENTRIES));
    }
}
