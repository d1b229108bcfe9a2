//! One table of the index.

use alloc::vec::Vec;

use crate::key::SlotIndex;
use crate::ttl::item::ItemIndex;

/// Places of the smallest table.
pub(super) const FEWEST: usize = 8;

/// Half of a key's hash.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::ttl) struct ShortHash(pub(super) u32);

impl ShortHash {
    /// The upper half of the hash times 2^64 by the golden ratio (Knuth's multiplicative hashing), so
    /// that its highest bits depend on all bits of the hash, wherever the hasher has put what it knows.
    /// Not one half laid upon the other: of identifiers made of two numbers, hashed to themselves, few
    /// would differ.
    #[inline]
    pub(in crate::ttl::roster) fn of(hash: u64) -> Self {
        Self((hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32)
    }
}

/// What the table says of an entry, or that it says nothing. Eight of them fill a cache line.
///
/// The hash in the low half, and above it one more than the index, so that no lead is zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Lead(u64);

impl Lead {
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn new(hash: ShortHash, item: ItemIndex) -> Self {
        Self((item.get() as u64 + 1) << 32 | u64::from(hash.0))
    }

    #[inline]
    pub(super) fn hash(self) -> ShortHash {
        ShortHash(self.0 as u32)
    }

    #[inline]
    fn item(self) -> ItemIndex {
        SlotIndex::from_bits((self.0 >> 32) as u32 - 1)
    }
}

/// One table of leads.
///
/// A lead has its home where the highest bits of its hash say, and lies there or, if others do, in
/// one of the places that follow; the last place is followed by the first. Leads side by side are a
/// run.
///
/// Invariant: between a lead and its home no place is free.
/// Invariant: of four places at least one is free, so that runs are short and every search ends.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// None, or a power of two.
    places: Vec<Lead>,
    /// How far a hash is shifted to be a home.
    shift: u32,
}

impl Table {
    pub(super) const EMPTY: Self = Self {
        places: Vec::new(),
        shift: 0,
    };

    /// The smallest table with room for so many leads, of places that have been made free before, if
    /// any. O(places that have not).
    pub(super) fn with_room(leads: usize, mut places: Vec<Lead>) -> Self {
        let len = (leads + leads / 3).next_power_of_two().max(FEWEST);
        places.resize(len, Lead::NONE);
        Self {
            places,
            shift: u32::BITS - len.ilog2(),
        }
    }

    /// How many places there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// How many leads the table has room for.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.places.len() / 4 * 3
    }

    #[inline]
    pub(super) fn mask(&self) -> usize {
        self.places.len() - 1
    }

    #[inline]
    pub(super) fn home(&self, hash: ShortHash) -> usize {
        (hash.0 >> self.shift) as usize
    }

    /// What lies at a place.
    #[inline]
    pub(super) fn lead(&self, place: usize) -> Lead {
        self.places[place]
    }

    /// The first lead of this hash to an entry that is wanted, and its place.
    #[inline]
    pub(super) fn find(
        &self,
        hash: ShortHash,
        is_wanted: &mut impl FnMut(ItemIndex) -> bool,
    ) -> Option<(usize, ItemIndex)> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = self.home(hash);
        loop {
            // With the mask the compiler sees that the place is there.
            let lead = self.lead(place & mask);
            if lead == Lead::NONE {
                return None;
            }
            if lead.hash() == hash && is_wanted(lead.item()) {
                return Some((place & mask, lead.item()));
            }
            place += 1;
        }
    }

    /// Puts a lead into the first free place from its home on.
    #[inline]
    pub(super) fn put(&mut self, lead: Lead) {
        let mask = self.mask();
        let mut place = self.home(lead.hash());
        while self.lead(place & mask) != Lead::NONE {
            place += 1;
        }
        self.places[place & mask] = lead;
    }

    /// Takes away the lead at a place, and moves those up that had to pass it.
    pub(super) fn remove(&mut self, place: usize) {
        let mask = self.mask();
        let mut free = place;
        let mut place = place;
        loop {
            place = (place + 1) & mask;
            let lead = self.lead(place);
            if lead == Lead::NONE {
                break;
            }
            // One that has come past the free place, or from it, can go back there; one whose home
            // lies behind it would not be found.
            let passed = place.wrapping_sub(self.home(lead.hash())) & mask;
            if passed >= place.wrapping_sub(free) & mask {
                self.places[free] = lead;
                free = place;
            }
        }
        self.places[free] = Lead::NONE;
    }

    /// Whether the places are those that were once made there.
    #[cfg(test)]
    pub(super) fn is_at(&self, made: *const Lead) -> bool {
        self.places.as_ptr() == made
    }

    /// The places that are not free.
    pub(super) fn taken(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&place| self.lead(place) != Lead::NONE)
    }

    /// Checks that the lead at a place is found there: that no place between it and its home is free.
    pub(super) fn check(&self, place: usize) {
        let lead = self.lead(place);
        let found = self.find(lead.hash(), &mut |item| item == lead.item());
        assert_eq!(
            found,
            Some((place, lead.item())),
            "between a lead and its home no place is free"
        );
    }
}
