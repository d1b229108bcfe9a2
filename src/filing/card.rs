//! What the filing must know of one timer, kept by whoever owns the timers.

use crate::filing::blocks::Entry;
use crate::filing::place::{Kind, Place};
use crate::geometry::LowTick;
use crate::key::SlotIndex;

/// One timer's deadline, its place in the order, and where its entry is filed.
///
/// The fields are packed by hand so that a card is 24 bytes, and a slot with a value of up to four
/// bytes half a cache line. The sequence number is split in two so that the place can be stored
/// without loading anything.
///
/// Invariant: an entry that names this card's slot is the timer's if and only if it lies in a list
/// that `place` reaches and carries the tick `filed`. Others are stale: left behind by a timer that
/// was cancelled or moved. (There may be several that look alike; then any one of them counts.)
#[derive(Copy, Clone, Debug)]
pub(crate) struct Card {
    /// When the timer is due, in nanoseconds.
    pub(crate) deadline: u64,
    /// The tick that the timer's entry is filed under; without meaning in the due run.
    pub(crate) filed: LowTick,
    /// A word for the owner of the timers; the filing never looks at it.
    pub(crate) owner: u32,
    order_high: u32,
    order_low: u16,
    /// Where the timer's entry is.
    pub(crate) place: Place,
}

/// When a timer was last scheduled or rescheduled, relative to all others: the order among equal
/// deadlines. The lowest bit tells whether the timer is postponed.
///
/// 47 bits of sequence last for 16 days at a hundred million operations a second; the filing
/// renumbers its timers when they run out.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u64);

impl Order {
    /// The number of different sequence numbers.
    pub(crate) const SEQUENCES: u64 = 1 << 47;

    /// The order of a timer that is filed at its deadline.
    #[inline]
    pub(crate) const fn filed(sequence: u64) -> Self {
        Self(sequence << 1)
    }

    /// This order, marked as postponed if `postponed` is 1 and as filed at its deadline if it
    /// is 0.
    #[inline]
    pub(crate) const fn marked(self, postponed: u64) -> Self {
        Self(self.0 & !1 | postponed)
    }

    #[inline]
    pub(crate) const fn sequence(self) -> u64 {
        self.0 >> 1
    }

    /// 1 if the timer is postponed, else 0.
    #[inline]
    pub(crate) const fn postponed(self) -> u64 {
        self.0 & 1
    }
}

/// How a timer was filed, when it is no more: what the filing must know to forget it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Filed {
    pub(super) tick: LowTick,
    pub(super) place: Place,
    /// 1 if the timer was postponed, else 0.
    pub(super) postponed: u16,
}

impl Card {
    #[inline]
    pub(crate) const fn new(deadline: u64, order: Order, owner: u32) -> Self {
        Self {
            deadline,
            filed: LowTick::ZERO,
            owner,
            order_high: (order.0 >> 16) as u32,
            order_low: order.0 as u16,
            place: Place::NOWHERE,
        }
    }

    #[inline]
    pub(crate) const fn order(&self) -> Order {
        Order((self.order_high as u64) << 16 | self.order_low as u64)
    }

    #[inline]
    pub(crate) const fn set_order(&mut self, order: Order) {
        self.order_high = (order.0 >> 16) as u32;
        self.order_low = order.0 as u16;
    }

    #[inline]
    pub(crate) const fn filed(&self) -> Filed {
        Filed {
            tick: self.filed,
            place: self.place,
            postponed: self.order_low & 1,
        }
    }

    /// Whether an entry of the card's slot, in a list of the kind, is the timer's and not stale.
    #[inline]
    pub(crate) fn owns(&self, entry: Entry, kind: Kind) -> bool {
        self.place.reaches(kind) && self.filed == entry.tick
    }

    /// Whether the timer was put off to a later tick than the one its entry is filed under.
    #[inline]
    pub(crate) const fn is_postponed(&self) -> bool {
        self.order_low & 1 != 0
    }
}

/// Where the filing finds the cards of its timers: the arena of a [`Wheel`](crate::Wheel), or a
/// cache's own slab.
///
/// The card of a timer that was cancelled outlives it, and says [`Place::NOWHERE`], until the slot
/// is used again: a stale entry may still ask for it.
pub(crate) trait Cards {
    /// The card of a slot that was ever filed.
    fn card(&self, slot: SlotIndex) -> &Card;

    /// The card of a slot that was ever filed, to be changed.
    fn card_mut(&mut self, slot: SlotIndex) -> &mut Card;

    /// The number of slots there are: above the index of every slot that was ever filed. O(1).
    fn slots(&self) -> usize;

    /// The slots of all cards that are filed, in slot order.
    fn filed(&self) -> impl Iterator<Item = SlotIndex>;
}
