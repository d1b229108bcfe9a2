//! What a wheel must know of one timer, kept by whoever owns the timers.

use core::num::NonZeroU16;

use crate::geometry::{BucketIndex, ListId};
use crate::key::SlotIndex;

/// One timer's deadline, its place in the order, and where its entry is.
///
/// The fields are packed by hand so that a header is 24 bytes, and a slot with a value of up to four
/// bytes half a cache line. The sequence number is split in two so that the place can be stored
/// without loading anything.
///
/// Invariant: the entry at `place` and `position` names the slot of this header.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Header {
    /// When the timer is due, in nanoseconds.
    pub(crate) deadline: u64,
    sequence_high: u32,
    /// Where the entry is in the structure that holds it.
    pub(crate) position: u32,
    /// A word for the owner of the timers; the wheel never looks at it.
    pub(crate) owner: u32,
    sequence_low: u16,
    pub(crate) place: Place,
}

/// When a timer was last scheduled or rescheduled, relative to all others: the order among equal
/// deadlines.
///
/// 48 bits last for a month at a hundred million operations a second; the timers are renumbered when
/// they run out.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sequence(u64);

impl Sequence {
    /// As many different numbers there are.
    pub(crate) const COUNT: u64 = 1 << 48;

    #[inline]
    pub(crate) const fn new(number: u64) -> Self {
        debug_assert!(number < Self::COUNT);
        Self(number)
    }

    #[inline]
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

/// The structure that holds a timer's entry.
///
/// Never zero, so that a record with a header in it has a value to spare: a slab of such records needs no
/// tag beside them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU16);

impl Place {
    /// In none: the timer is not scheduled.
    pub(crate) const NONE: Self = Self::of(1);
    /// In the near heap.
    pub(crate) const HEAP: Self = Self::of(2);
    /// In a run.
    pub(crate) const RUN: Self = Self::of(3);
    /// In the far list of the rotation that its deadline lay in when it was placed.
    pub(crate) const FAR: Self = Self::of(4);

    /// Set in a bucket of levels 0 to 3.
    const BUCKET: u16 = 1 << 15;

    #[inline]
    const fn of(bits: u16) -> Self {
        Self(NonZeroU16::new(bits).expect("no place is 0"))
    }

    /// In a list.
    #[inline]
    pub(crate) const fn list(list: ListId) -> Self {
        match list {
            ListId::Bucket(index) => Self::of(Self::BUCKET | index.get() as u16),
            ListId::Far(_) => Self::FAR,
        }
    }

    /// The bucket of levels 0 to 3, if the place is one.
    #[inline]
    pub(crate) fn as_bucket(self) -> Option<BucketIndex> {
        let bits = self.0.get();
        let index = usize::from(bits ^ Self::BUCKET);
        (bits & Self::BUCKET != 0).then_some(BucketIndex::new(index))
    }
}

impl Header {
    /// Of a timer that is not scheduled.
    pub(crate) const fn new(owner: u32) -> Self {
        Self {
            deadline: 0,
            sequence_high: 0,
            position: 0,
            owner,
            sequence_low: 0,
            place: Place::NONE,
        }
    }

    #[inline]
    pub(crate) const fn sequence(&self) -> Sequence {
        Sequence((self.sequence_high as u64) << 16 | self.sequence_low as u64)
    }

    #[inline]
    pub(crate) const fn set_sequence(&mut self, sequence: Sequence) {
        self.sequence_high = (sequence.0 >> 16) as u32;
        self.sequence_low = sequence.0 as u16;
    }

    #[inline]
    pub(crate) const fn set_place(&mut self, place: Place, position: u32) {
        self.place = place;
        self.position = position;
    }

    /// Whether the entry is there.
    #[inline]
    pub(crate) fn is_at(&self, place: Place, position: u32) -> bool {
        self.place == place && self.position == position
    }
}

/// Where a wheel finds the headers of its timers: the arena of a [`Wheel`](crate::Wheel), or a
/// program's own store.
pub(crate) trait Headers {
    /// Whether no header is changed but by the wheel, as none is in the arena. Then an entry and its header
    /// always name each other, and the question whether they do costs nothing. Where it is not so, an entry
    /// that its header disowns is dropped when it is met.
    const IS_TRUE: bool = true;

    /// The header of a slot that is scheduled.
    fn header(&self, slot: SlotIndex) -> &Header;

    /// The header of a slot that is scheduled, to be changed.
    fn header_mut(&mut self, slot: SlotIndex) -> &mut Header;

    /// Whether the header of a slot says that the entry there is its own.
    #[inline]
    fn owns(&self, slot: SlotIndex, place: Place, position: u32) -> bool {
        Self::IS_TRUE || self.header(slot).is_at(place, position)
    }

    /// Takes note that an entry was dropped which no header owns.
    #[inline(always)]
    fn disowned(&mut self) {}

    /// Takes note that the entry of a slot has moved from one position to another.
    #[inline]
    fn moved(&mut self, slot: SlotIndex, place: Place, from: u32, to: u32) {
        if self.owns(slot, place, from) {
            self.header_mut(slot).position = to;
        }
    }
}
