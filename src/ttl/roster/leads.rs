//! The index of the keys: from a hash to the entry it leads to.
//!
//! A hash table with open addressing, linear probing and no tombstones (Knuth, The Art of Computer
//! Programming, volume 3, section 6.4, algorithms L and R). It is ours, and not a library's, because
//! of what it costs to find one key among a million: every miss of the cache is waited for before
//! the next can begin. A table that keeps its tags apart misses at the tag, at the lead, and at the
//! entry; here tag and index lie in one word, and the first miss is gone. An update took two thirds
//! of the time then (docs/ttl.md).

use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use crate::ttl::item::{ItemIndex, NO_ITEM};

/// Places of the smallest table.
const FEWEST: usize = 8;

/// Half of a key's hash.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::ttl) struct ShortHash(u32);

impl ShortHash {
    /// Takes part in all bits of a hash, wherever the hasher has put what it knows.
    #[inline]
    pub(super) fn of(hash: u64) -> Self {
        Self((hash ^ hash >> 32) as u32)
    }

    /// Spread over 64 bits, the highest of which depend on all bits of the hash.
    #[inline]
    fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// What the table says of an entry. Eight of them fill a cache line.
#[derive(Copy, Clone, Debug)]
struct Lead {
    hash: ShortHash,
    /// [`NO_ITEM`] if the place is free.
    item: ItemIndex,
}

impl Lead {
    const NONE: Self = Self {
        hash: ShortHash(0),
        item: NO_ITEM,
    };

    #[inline]
    fn is_none(self) -> bool {
        self.item == NO_ITEM
    }
}

/// A lead that has been found.
#[derive(Copy, Clone, Debug)]
pub(super) struct Found {
    place: usize,
    pub(super) item: ItemIndex,
}

/// Leads to entries, by the hashes of their keys.
///
/// A lead has its home where the highest bits of its hash say, and lies there or, if others do, in
/// one of the places that follow; the last place is followed by the first.
///
/// Invariant: between a lead and its home no place is free.
/// Invariant: of four places at least one is free, so that runs are short and every search ends.
#[derive(Clone, Debug)]
pub(super) struct Leads {
    /// None, or a power of two.
    places: Vec<Lead>,
    len: usize,
    /// How far a spread hash is shifted to be a home.
    shift: u32,
}

impl Leads {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            len: 0,
            shift: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first lead of this hash to an entry that is wanted. O(1).
    #[inline]
    pub(super) fn find(
        &self,
        hash: ShortHash,
        mut is_wanted: impl FnMut(ItemIndex) -> bool,
    ) -> Option<Found> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = self.home(hash);
        loop {
            // With the mask the compiler sees that the place is there.
            let lead = self.places[place & mask];
            if lead.is_none() {
                return None;
            }
            if lead.hash == hash && is_wanted(lead.item) {
                let place = place & mask;
                let item = lead.item;
                return Some(Found { place, item });
            }
            place += 1;
        }
    }

    /// Makes room for `additional` more leads, which the caller has checked to be possible. O(1), or
    /// O(places) if the table grows: amortized O(1).
    #[inline]
    pub(super) fn reserve(&mut self, additional: usize) {
        let wanted = self.len + additional;
        if wanted > self.places.len() / 4 * 3 {
            self.grow(wanted);
        }
    }

    #[cold]
    fn grow(&mut self, wanted: usize) {
        let places = (wanted + wanted.div_ceil(3))
            .next_power_of_two()
            .max(FEWEST);
        let old = mem::replace(&mut self.places, vec![Lead::NONE; places]);
        self.shift = u64::BITS - places.ilog2();
        for lead in old.into_iter().filter(|lead| !lead.is_none()) {
            self.put(lead);
        }
    }

    /// Adds a lead. Amortized O(1).
    #[inline]
    pub(super) fn insert(&mut self, hash: ShortHash, item: ItemIndex) {
        self.reserve(1);
        self.put(Lead { hash, item });
        self.len += 1;
    }

    /// Puts a lead into the first free place from its home on.
    #[inline]
    fn put(&mut self, lead: Lead) {
        let mask = self.places.len() - 1;
        let mut place = self.home(lead.hash);
        while !self.places[place & mask].is_none() {
            place += 1;
        }
        self.places[place & mask] = lead;
    }

    /// Removes a lead that has just been found. O(1).
    pub(super) fn remove(&mut self, found: Found) {
        let mask = self.places.len() - 1;
        let mut free = found.place;
        let mut place = free;
        loop {
            place = (place + 1) & mask;
            let lead = self.places[place];
            if lead.is_none() {
                break;
            }
            // One that has come past the free place, or from it, can go back there; one whose home
            // lies behind it would not be found.
            let passed = place.wrapping_sub(self.home(lead.hash)) & mask;
            if passed >= place.wrapping_sub(free) & mask {
                self.places[free] = lead;
                free = place;
            }
        }
        self.places[free] = Lead::NONE;
        self.len -= 1;
    }

    /// Forgets every lead, keeping the memory. O(places).
    pub(super) fn clear(&mut self) {
        self.places.fill(Lead::NONE);
        self.len = 0;
    }

    #[inline]
    fn home(&self, hash: ShortHash) -> usize {
        (hash.spread() >> self.shift) as usize
    }

    /// Checks the invariants, by name. O(places), if runs are short.
    pub(super) fn check(&self) {
        let leads = self.places.iter().filter(|lead| !lead.is_none()).count();
        assert_eq!(leads, self.len, "the leads are counted");
        assert!(
            leads <= self.places.len() / 4 * 3,
            "of four places one is free"
        );
        for (place, &lead) in self.places.iter().enumerate() {
            let found = self.find(lead.hash, |item| item == lead.item);
            assert!(
                lead.is_none() || found.is_some_and(|found| found.place == place),
                "between a lead and its home no place is free"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;
    use crate::key::SlotIndex;

    fn item(index: usize) -> ItemIndex {
        SlotIndex::new(index)
    }

    fn leads(hashes: impl Iterator<Item = ShortHash>) -> Leads {
        let mut leads = Leads::new();
        for (index, hash) in hashes.enumerate() {
            leads.insert(hash, item(index));
        }
        leads.check();
        leads
    }

    /// For each place of the smallest table some hashes whose home it is.
    fn hashes_at_home() -> [Vec<ShortHash>; FEWEST] {
        let mut table = Leads::new();
        table.reserve(1);
        let mut hashes: [Vec<ShortHash>; FEWEST] = Default::default();
        for hash in (0..500).map(ShortHash) {
            hashes[table.home(hash)].push(hash);
        }
        assert!(hashes.iter().all(|hashes| hashes.len() >= 6));
        hashes
    }

    /// All ways in which six leads can have their homes in four places, the last and the first of a
    /// table among them; and of each all ways to remove two.
    #[test]
    fn leads_are_found_whatever_was_in_their_way() {
        let hashes = hashes_at_home();
        for homes in 0..4_usize.pow(6) {
            let home = |index: usize| (FEWEST - 2 + homes / 4_usize.pow(index as u32) % 4) % FEWEST;
            let hash = |index: usize| hashes[home(index)][index];
            let whole = leads((0..6).map(hash));
            assert_eq!(whole.places.len(), FEWEST);
            for (first, second) in (0..6).flat_map(|one| (0..6).map(move |two| (one, two))) {
                let mut leads = whole.clone();
                for removed in [first, second] {
                    if let Some(found) = leads.find(hash(removed), |_| true) {
                        leads.remove(found);
                        leads.check();
                    }
                }
                for index in 0..6 {
                    let found = leads.find(hash(index), |_| true).map(|found| found.item);
                    let is_left = index != first && index != second;
                    assert_eq!(found, is_left.then_some(item(index)));
                }
            }
        }
    }

    #[test]
    fn leads_of_one_hash_are_told_apart_by_the_caller() {
        let hash = ShortHash(77);
        let mut leads = leads([hash; 40].into_iter());
        for index in (0..40).step_by(3) {
            let found = leads.find(hash, |found| found == item(index)).unwrap();
            assert_eq!(found.item, item(index));
            leads.remove(found);
            leads.check();
        }
        for index in 0..40 {
            let found = leads.find(hash, |found| found == item(index));
            assert_eq!(found.is_some(), index % 3 != 0);
        }
    }

    #[test]
    fn table_grows_before_more_than_three_quarters_are_taken() {
        assert!(Leads::new().find(ShortHash(1), |_| true).is_none());
        let places = |len: u32| leads((0..len).map(ShortHash)).places.len();
        assert_eq!([0, 1, 6, 7, 12, 13].map(places), [0, 8, 8, 16, 16, 32]);
    }

    #[test]
    fn room_that_was_reserved_suffices() {
        for additional in [1, 5, 6, 7, 96, 97, 1_000] {
            let mut leads = leads((0..50).map(ShortHash));
            leads.reserve(additional);
            let places = leads.places.len();
            for index in 50..50 + additional {
                leads.insert(ShortHash(index as u32), item(index));
            }
            assert_eq!(leads.places.len(), places, "{additional} more");
        }
    }

    #[test]
    fn cleared_table_keeps_its_memory() {
        let mut leads = leads((0..50).map(ShortHash));
        let places = leads.places.len();
        leads.clear();
        leads.check();
        assert_eq!((leads.len(), leads.places.len()), (0, places));
        assert!(leads.find(ShortHash(7), |_| true).is_none());
    }

    /// The work of a look-up: the places it reads, for a key that is there.
    fn places_read(leads: &Leads, hash: ShortHash) -> usize {
        let found = leads.find(hash, |_| true).expect("the hash is there");
        (found.place.wrapping_sub(leads.home(hash)) & (leads.places.len() - 1)) + 1
    }

    /// Weak hashers give neighbouring keys neighbouring hashes, or hashes that differ in few bits.
    #[test]
    fn look_ups_are_short_whatever_bits_the_hashes_differ_in() {
        const LEN: u64 = 12_000;
        let hashers: [fn(u64) -> u64; 6] = [
            |key| key,
            |key| key << 12,
            |key| key << 18,
            |key| key << 32,
            |key| key << 50,
            |key| key.wrapping_mul(0x2545_F491_4F6C_DD1D),
        ];
        for (nth, hasher) in hashers.into_iter().enumerate() {
            let hashes = || (0..LEN).map(|key| ShortHash::of(hasher(key)));
            let distinct: BTreeSet<u32> = hashes().map(|hash| hash.0).collect();
            assert_eq!(distinct.len(), LEN as usize, "hasher {nth}");
            let leads = leads(hashes());
            let read: usize = hashes().map(|hash| places_read(&leads, hash)).sum();
            // The table is at its fullest: at random it would be two and a half.
            assert!(read < 3 * LEN as usize, "hasher {nth}: {read}");
        }
    }
}
