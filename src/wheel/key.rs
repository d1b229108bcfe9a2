//! The handle of a timer.

use core::fmt;
use core::num::NonZeroU32;

use crate::engine::node::NodeIndex;

/// Identifies one timer of one [`Wheel`](crate::Wheel), from when it is scheduled until it fires or is
/// cancelled.
///
/// A key is eight bytes, and so is an `Option` of it. It carries the generation of its slot, so the wheel recognizes a
/// stale key even after the slot has been reused: [`cancel`](crate::Wheel::cancel) returns `None` for it, and
/// [`reschedule`](crate::Wheel::reschedule) returns `false`. This holds for as long as the wheel lives, unless the
/// wheel is replaced by an older copy of itself. A key does not record its wheel: in another wheel it is either stale
/// or identifies one of that wheel's timers.
///
/// Keys are ordered so that they can be sorted and kept in trees; the order has nothing to do with time. With feature `serde`,
/// a key is stored as a pair, which cannot be the key of a JSON map: use [`to_bits`](TimerKey::to_bits) there.
///
/// ```
/// use timer_wheel::{TimerKey, Wheel};
///
/// let mut wheel = Wheel::<&str>::new(0);
/// let old: TimerKey = wheel.schedule(10, "old");
/// assert_eq!(wheel.cancel(old), Some("old"));
/// let new = wheel.schedule(10, "new"); // in the slot that has become free
/// assert_eq!((wheel.cancel(old), wheel.reschedule(old, 99)), (None, false));
/// assert_eq!(wheel.get(new), Some(&"new"));
/// assert_eq!(size_of::<Option<TimerKey>>(), 8);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    index: NodeIndex,
    generation: NonZeroU32,
}

impl TimerKey {
    #[inline]
    pub(crate) const fn new(index: NodeIndex, generation: NonZeroU32) -> Self {
        debug_assert!(generation.get() % 2 == 1, "only taken slots have keys");
        Self { index, generation }
    }

    /// The key that a number stands for, or `None` if the number stands for no key. O(1).
    ///
    /// Any number is harmless. A key that no wheel issued is stale, or identifies some timer of the
    /// wheel that it is passed to, as a key of another wheel would.
    ///
    /// ```
    /// use timer_wheel::{TimerKey, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// assert_eq!(TimerKey::from_bits(0), None);
    /// let made_up = TimerKey::from_bits(u64::MAX).unwrap();
    /// assert_eq!(wheel.cancel(made_up), None);
    /// ```
    #[inline]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match NonZeroU32::new(bits as u32) {
            // Only taken slots have keys, and their generations are odd.
            Some(generation) if generation.get() % 2 == 1 => {
                let index = NodeIndex::from_bits((bits >> 32) as u32);
                Some(Self { index, generation })
            }
            _ => None,
        }
    }

    /// The key as a number, for places that take nothing else: the user data of an epoll or io_uring
    /// event, a pointer-sized word of a C library. Never 0. Ordered as the keys are. O(1).
    ///
    /// ```
    /// use timer_wheel::{TimerKey, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// let key = wheel.schedule(10, "value");
    /// let word: u64 = key.to_bits();
    /// assert_eq!(TimerKey::from_bits(word), Some(key));
    /// ```
    #[inline]
    pub const fn to_bits(self) -> u64 {
        (self.index.to_bits() as u64) << 32 | self.generation.get() as u64
    }

    #[inline]
    pub(crate) const fn index(self) -> NodeIndex {
        self.index
    }

    #[inline]
    pub(crate) const fn generation(self) -> NonZeroU32 {
        self.generation
    }
}

impl fmt::Debug for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimerKey({}v{})", self.index.get(), self.generation)
    }
}
