//! The index of the keys: from a hash to the entry it leads to.
//!
//! A hash table with open addressing, linear probing and no tombstones (Knuth, The Art of Computer
//! Programming, volume 3, section 6.4, algorithms L and R). It is ours, and not a library's, because
//! of what it costs to find one key among a million: every miss of the cache is waited for before
//! the next can begin. A table that keeps its tags apart misses at the tag, at the lead, and at the
//! entry; here tag and index lie in one word, and the first miss is gone (docs/ttl.md has figures).
//!
//! And it grows without a pause: the next table is made a piece at a time before the present one is
//! full, and what that holds is moved a piece at a time after.

mod former;
mod table;

use alloc::vec::Vec;
use core::mem;

use self::former::{Former, STEP};
pub(in crate::ttl) use self::table::ShortHash;
use self::table::{Lead, Table};
use crate::ttl::item::ItemIndex;

/// A lead that has been found.
#[derive(Copy, Clone, Debug)]
pub(super) struct Found {
    is_former: bool,
    place: usize,
    pub(super) item: ItemIndex,
}

/// Leads to entries, by the hashes of their keys.
///
/// Invariant: a lead is in the former table if that [holds](Former::holds) its hash and it was there
/// when that was full; otherwise it is in the present table.
#[derive(Clone, Debug)]
pub(super) struct Leads {
    table: Table,
    former: Option<Former>,
    /// The places of the next table, as far as they have been made.
    next: Vec<Lead>,
    len: usize,
}

impl Leads {
    pub(super) const fn new() -> Self {
        Self {
            table: Table::EMPTY,
            former: None,
            next: Vec::new(),
            len: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// A lead of this hash to an entry that is wanted. O(1).
    #[inline]
    pub(super) fn find(
        &self,
        hash: ShortHash,
        mut is_wanted: impl FnMut(ItemIndex) -> bool,
    ) -> Option<Found> {
        if let Some(former) = &self.former {
            if let Some(found) = Self::find_former(former, hash, &mut is_wanted) {
                return Some(found);
            }
        }
        let (place, item) = self.table.find(hash, &mut is_wanted)?;
        let is_former = false;
        Some(Found {
            is_former,
            place,
            item,
        })
    }

    #[cold]
    fn find_former(
        former: &Former,
        hash: ShortHash,
        is_wanted: &mut impl FnMut(ItemIndex) -> bool,
    ) -> Option<Found> {
        if !former.holds(hash) {
            return None;
        }
        let (place, item) = former.table.find(hash, is_wanted)?;
        let is_former = true;
        Some(Found {
            is_former,
            place,
            item,
        })
    }

    /// Makes room for `additional` more leads, which the caller has checked to be possible. O(1) for
    /// one, as all has been made ready by then; for more O(leads + additional).
    #[inline]
    pub(super) fn reserve(&mut self, additional: usize) {
        let wanted = self.len + additional;
        if wanted > self.table.room() {
            self.grow(wanted);
        }
    }

    #[cold]
    fn grow(&mut self, wanted: usize) {
        // If it is for want of one place, that is long over.
        while self.former.is_some() {
            self.move_some();
        }
        let next = Table::with_room(wanted, mem::take(&mut self.next));
        let full = mem::replace(&mut self.table, next);
        self.former = (self.len != 0).then(|| Former::new(full));
    }

    /// Makes some places of the next table, from when the present one is five eighths full, so that
    /// they are all made when that has become three quarters.
    #[inline]
    fn make_some(&mut self) {
        if self.len > self.table.len() / 8 * 5 && self.next.len() < 2 * self.table.len() {
            self.make_places();
        }
    }

    #[cold]
    fn make_places(&mut self) {
        let all = 2 * self.table.len();
        let made = self.next.len();
        self.next.reserve_exact(all - made);
        // There are as many places to be made as to be moved, twice over, and less time for it.
        self.next.resize((made + 2 * STEP).min(all), Lead::NONE);
    }

    /// Moves some of what a full table held, if there is any of it.
    #[inline]
    fn move_some(&mut self) {
        if let Some(former) = &mut self.former {
            if !former.move_some(&mut self.table) {
                self.former = None;
            }
        }
    }

    /// Adds a lead. O(1).
    #[inline]
    pub(super) fn insert(&mut self, hash: ShortHash, item: ItemIndex) {
        self.reserve(1);
        self.make_some();
        self.move_some();
        self.table.put(Lead::new(hash, item));
        self.len += 1;
    }

    /// Removes a lead that has just been found. O(1).
    pub(super) fn remove(&mut self, found: Found) {
        let table = match &mut self.former {
            Some(former) if found.is_former => &mut former.table,
            _ => &mut self.table,
        };
        table.remove(found.place);
        self.len -= 1;
        self.move_some();
    }

    /// Checks the invariants, by name. O(places), if runs are short.
    pub(super) fn check(&self) {
        let mut leads = self.former.as_ref().map_or(0, Former::check);
        for place in self.table.taken() {
            self.table.check(place);
            leads += 1;
        }
        assert_eq!(leads, self.len, "the leads are counted");
        assert!(leads <= self.table.room(), "of four places one is free");
    }
}

#[cfg(test)]
mod tests {
    use super::table::FEWEST;
    use super::*;
    use crate::key::SlotIndex;
    use alloc::collections::BTreeSet;

    fn item(index: usize) -> ItemIndex {
        SlotIndex::new(index)
    }

    fn hash_of(key: usize) -> ShortHash {
        ShortHash::of(key as u64)
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
        let table = Table::with_room(1, Vec::new());
        let mut hashes: [Vec<ShortHash>; FEWEST] = Default::default();
        for hash in (0..500).map(hash_of) {
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
            assert_eq!(whole.table.len(), FEWEST);
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

    /// Leads come and go while tables grow, with hashes that crowd in a few places.
    #[test]
    fn leads_are_found_while_a_full_table_is_moved() {
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize % below
        };
        let mut in_former = [0, 0];
        for crowd in [200, 100_000] {
            let mut leads = Leads::new();
            let mut known: Vec<(ShortHash, ItemIndex)> = Vec::new();
            for index in 0..3_600 {
                // The table that is full with 3,072 has begun to grow when leads begin to go.
                if index > 3_072 && next(8) < 3 {
                    let (hash, item) = known.swap_remove(next(known.len()));
                    let found = leads.find(hash, |found| found == item).unwrap();
                    in_former[usize::from(found.is_former)] += 1;
                    leads.remove(found);
                } else {
                    let hash = hash_of(next(crowd));
                    leads.insert(hash, item(index));
                    known.push((hash, item(index)));
                }
                if leads.former.is_some() {
                    leads.check();
                }
            }
            for &(hash, item) in &known {
                let found = leads.find(hash, |found| found == item).unwrap();
                assert_eq!(found.item, item);
            }
        }
        assert!(
            in_former.iter().all(|&removed| removed > 30),
            "{in_former:?}"
        );
    }

    /// Leads alone and a run that lies round the end of the table; and whichever of them is removed,
    /// whatever has been moved by then.
    #[test]
    fn run_round_the_end_of_a_full_table_is_moved_as_one() {
        const PLACES: usize = 256;
        let table = Table::with_room(PLACES / 4 * 3, Vec::new());
        let hash_at = |home: usize| {
            let mut hashes = (0..).map(hash_of);
            hashes.find(|&hash| table.home(hash) == home).unwrap()
        };
        let homes = [PLACES - 6; 40]
            .into_iter()
            .chain((50..PLACES - 10).step_by(9));
        let mut known: Vec<ShortHash> = homes.map(hash_at).collect();
        let mut leads = Leads::new();
        leads.reserve(PLACES / 2 + 1);
        for (index, &hash) in known.iter().enumerate() {
            leads.insert(hash, item(index));
        }
        assert!(leads.former.is_none() && leads.table.len() == PLACES);
        leads.reserve(PLACES);
        let mut in_former = 0;
        while leads.former.is_some() {
            for removed in 0..known.len() {
                let mut leads = leads.clone();
                for (index, &hash) in known.iter().enumerate() {
                    let found = leads.find(hash, |found| found == item(index)).unwrap();
                    if index == removed {
                        in_former += usize::from(found.is_former);
                        leads.remove(found);
                        leads.check();
                    }
                }
                for (index, &hash) in known.iter().enumerate() {
                    let found = leads.find(hash, |found| found == item(index));
                    assert_eq!(found.is_none(), index == removed);
                }
            }
            let hash = hash_of(known.len());
            leads.insert(hash, item(known.len()));
            leads.check();
            known.push(hash);
        }
        assert!(in_former > 300, "{in_former}");
    }

    #[test]
    fn no_call_moves_more_than_a_piece_of_a_full_table() {
        const PLACES: usize = 1 << 14;
        let mut leads = leads((0..PLACES / 4 * 3).map(hash_of));
        assert_eq!(leads.table.len(), PLACES);
        let mut passed = 0;
        for index in PLACES..PLACES + PLACES / STEP {
            leads.insert(hash_of(index), item(index));
            let Some(former) = &leads.former else {
                break;
            };
            let moved = former.passed - passed;
            assert!((STEP..2 * STEP + 40).contains(&moved), "{moved}");
            passed = former.passed;
        }
        assert!(passed > PLACES / 2 && leads.former.is_none());
        leads.check();
    }

    #[test]
    fn next_table_is_made_piece_by_piece_before_it_is_wanted() {
        const PLACES: usize = 1 << 14;
        const FIRST: usize = PLACES / 8 * 5 + 1;
        let mut leads = leads((0..FIRST).map(hash_of));
        assert_eq!((leads.table.len(), leads.next.capacity()), (PLACES, 0));
        for index in FIRST..PLACES / 4 * 3 {
            leads.insert(hash_of(index), item(index));
            let made = (index + 1 - FIRST) * 2 * STEP;
            assert_eq!(leads.next.len(), made.min(2 * PLACES));
            assert_eq!(leads.next.capacity(), 2 * PLACES);
        }
        assert_eq!(leads.table.len(), PLACES);
        let made = leads.next.as_ptr();
        leads.insert(hash_of(PLACES), item(PLACES));
        assert_eq!(leads.table.len(), 2 * PLACES);
        assert!(leads.table.is_at(made), "no memory is asked for");
        assert_eq!(leads.next.capacity(), 0);
    }

    #[test]
    fn full_table_is_given_back_though_leads_only_go() {
        let mut leads = leads((0..97).map(hash_of));
        for hash in (0..).map(hash_of) {
            assert!(leads.len() > 97 - 128 / STEP, "all have been moved by then");
            let found = leads.find(hash, |_| true).unwrap();
            leads.remove(found);
            leads.check();
            if leads.former.is_none() {
                break;
            }
        }
    }

    #[test]
    fn growth_ends_before_the_next() {
        let mut leads = leads((0..97).map(hash_of));
        assert!(leads.former.is_some());
        leads.reserve(1_000);
        leads.check();
        assert_eq!(leads.former.as_ref().unwrap().table.len(), 256);
    }

    #[test]
    fn leads_of_one_hash_are_told_apart_by_the_caller() {
        let hash = hash_of(77);
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
        assert!(Leads::new().find(hash_of(1), |_| true).is_none());
        let places = |len: usize| leads((0..len).map(hash_of)).table.len();
        assert_eq!([0, 1, 6, 7, 12, 13].map(places), [0, 8, 8, 16, 16, 32]);
        let grows = |len: usize| leads((0..len).map(hash_of)).former.is_some();
        assert_eq!([95, 96, 97].map(grows), [false, false, true]);
    }

    #[test]
    fn room_that_was_reserved_suffices() {
        for additional in [1, 5, 6, 7, 96, 97, 1_000] {
            let mut leads = leads((0..50).map(hash_of));
            leads.reserve(additional);
            let places = leads.table.len();
            for index in 50..50 + additional {
                leads.insert(hash_of(index), item(index));
            }
            assert_eq!(leads.table.len(), places, "{additional} more");
        }
    }

    /// The work of a look-up: the places it reads, for a key that is there.
    fn places_read(leads: &Leads, hash: ShortHash) -> usize {
        let found = leads.find(hash, |_| true).expect("the hash is there");
        assert!(!found.is_former);
        (found.place.wrapping_sub(leads.table.home(hash)) & leads.table.mask()) + 1
    }

    /// Weak hashers give neighbouring keys neighbouring hashes, or hashes that differ in few bits.
    #[test]
    fn look_ups_are_short_whatever_bits_the_hashes_differ_in() {
        const LEN: u64 = 12_000;
        let hashers: [fn(u64) -> u64; 7] = [
            |key| key,
            |key| key << 12,
            |key| key << 18,
            |key| key << 32,
            |key| key << 50,
            |key| ((key / 100) << 32) | (key % 100),
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
