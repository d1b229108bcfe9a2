//! What the filing must know of one timer, kept by whoever owns the timers.

use crate::filing::blocks::Location;
use crate::geometry::BucketIndex;
use crate::key::SlotIndex;

/// One timer's deadline, its place in the order, and where its entry is filed.
///
/// The fields are packed by hand so that a card is 24 bytes, and a slot with a value of up to four
/// bytes half a cache line. The sequence number is split in two so that the bucket, which every
/// cascade rewrites, can be stored without loading anything.
///
/// Invariant: `bucket` and `location` name the one entry that names this card's slot, or `bucket`
/// is [`NOWHERE`] and no entry does.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Card {
    /// When the timer is due, in nanoseconds.
    pub(crate) deadline: u64,
    /// Where the timer's entry is; without meaning in the due run.
    pub(crate) location: Location,
    /// A word for the owner of the timers; the filing never looks at it.
    pub(crate) owner: u32,
    order_high: u32,
    order_low: u16,
    /// The bucket that the timer's entry is filed in.
    pub(crate) bucket: BucketIndex,
}

/// The bucket of a card that is filed nowhere.
pub(crate) const NOWHERE: BucketIndex = BucketIndex::new(u16::MAX);

/// When a timer was last scheduled or rescheduled, relative to all others: the order among equal
/// deadlines. The lowest bit tells whether the timer is postponed.
///
/// 47 bits of sequence last for 16 days at a hundred million operations a second; the filing
/// renumbers its timers when they run out.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order(u64);

impl Order {
    /// The number of different sequence numbers.
    pub(crate) const SEQUENCES: u64 = 1 << 47;

    /// The bits that an order takes up.
    pub(crate) const BITS: u32 = 48;

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

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    /// 1 if the timer is postponed, else 0.
    #[inline]
    pub(crate) const fn postponed(self) -> u64 {
        self.0 & 1
    }
}

impl Card {
    #[inline]
    pub(crate) const fn new(deadline: u64, order: Order, owner: u32) -> Self {
        Self {
            deadline,
            location: Location::NONE,
            owner,
            order_high: (order.0 >> 16) as u32,
            order_low: order.0 as u16,
            bucket: NOWHERE,
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

    /// Whether the timer was put off to a later tick than the one its entry is filed under.
    #[inline]
    pub(crate) const fn is_postponed(&self) -> bool {
        self.order_low & 1 != 0
    }
}

/// Where the filing finds the cards of its timers: the arena of a [`Wheel`](crate::Wheel), or a
/// cache's own slab.
pub(crate) trait Cards {
    /// The card of a slot that is filed.
    fn card(&self, slot: SlotIndex) -> &Card;

    /// The card of a slot that is filed, to be changed.
    fn card_mut(&mut self, slot: SlotIndex) -> &mut Card;

    /// The slots of all cards that are filed, in slot order.
    fn filed(&self) -> impl Iterator<Item = SlotIndex>;
}
