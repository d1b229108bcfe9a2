//! Records of somebody else's, and what the wheel keeps in each.

use alloc::vec::Vec;
use core::fmt;

use slab::Slab;

use crate::header::{Header, Headers, Place};
use crate::key::SlotIndex;

/// What a wheel must know of one timer, 24 bytes, to be kept in the record that the timer is of.
///
/// It belongs to its record's index in one [`IndexWheel`](super::IndexWheel), and is not to be copied: so it is
/// not `Clone`. A record that begins anew takes a [new](Timer::new) one.
///
/// ```
/// use timer_wheel::index::Timer;
///
/// struct Entry {
///     value: String,
///     timer: Timer,
/// }
///
/// let entry = Entry { value: "value".into(), timer: Timer::new() };
/// assert_eq!((entry.value.len(), size_of::<Timer>()), (5, 24));
/// ```
pub struct Timer(Header);

impl Timer {
    /// A timer that is not scheduled.
    ///
    /// ```
    /// assert!(!timer_wheel::index::Timer::new().is_scheduled());
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self(Header::new(0))
    }

    /// Whether it is scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert!(timers[0].is_scheduled());
    /// ```
    #[inline]
    pub fn is_scheduled(&self) -> bool {
        self.0.place != Place::NONE
    }

    /// When it is due, in nanoseconds, if it is scheduled. O(1).
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(timers[0].deadline(), Some(500));
    /// ```
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        self.is_scheduled().then_some(self.0.deadline)
    }

    #[inline]
    pub(super) fn header_mut(&mut self) -> &mut Header {
        &mut self.0
    }

    #[inline]
    pub(super) fn set_unscheduled(&mut self) {
        self.0.set_place(Place::NONE, 0);
    }
}

impl Default for Timer {
    /// A timer that is not scheduled.
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Timer").field(&self.deadline()).finish()
    }
}

impl AsRef<Timer> for Timer {
    fn as_ref(&self) -> &Timer {
        self
    }
}

impl AsMut<Timer> for Timer {
    fn as_mut(&mut self) -> &mut Timer {
        self
    }
}

/// Where the records are: what an [`IndexWheel`](super::IndexWheel) asks its owner.
///
/// Implemented for slices, `Vec` and [`Slab`] of records that are `AsRef<Timer> + AsMut<Timer>`. Both methods
/// are to be O(1) and give the same timer for the same index; the wheel asks for indexes it was given, also
/// for those whose records are gone, and never for others.
///
/// ```
/// use timer_wheel::index::{IndexWheel, Timer, Timers};
///
/// /// Records by index, some of them not there.
/// struct Table(Vec<Option<(String, Timer)>>);
///
/// impl Timers for Table {
///     fn timer(&self, index: u32) -> Option<&Timer> {
///         let record = self.0.get(index as usize)?.as_ref();
///         record.map(|(_, timer)| timer)
///     }
///
///     fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
///         let record = self.0.get_mut(index as usize)?.as_mut();
///         record.map(|(_, timer)| timer)
///     }
/// }
///
/// let mut table = Table(vec![None, Some(("ada".into(), Timer::new()))]);
/// let mut wheel = IndexWheel::new(0);
/// wheel.schedule(&mut table, 1, 500);
/// assert_eq!(wheel.pop_expired(&mut table, 500), Some((1, 500)));
/// ```
pub trait Timers {
    /// The timer of the record at an index, if there is one.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer, Timers};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert_eq!(timers.timer(0).and_then(Timer::deadline), Some(500));
    /// assert!(timers.timer(1).is_none());
    /// ```
    fn timer(&self, index: u32) -> Option<&Timer>;

    /// The timer of the record at an index, to be changed, if there is one.
    ///
    /// ```
    /// use timer_wheel::index::{IndexWheel, Timer, Timers};
    ///
    /// let mut timers = vec![Timer::new()];
    /// let mut wheel = IndexWheel::new(0);
    /// wheel.schedule(&mut timers, 0, 500);
    /// assert!(timers.timer_mut(0).is_some_and(|timer| timer.is_scheduled()));
    /// ```
    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer>;
}

impl<T: AsRef<Timer> + AsMut<Timer>> Timers for [T] {
    #[inline]
    fn timer(&self, index: u32) -> Option<&Timer> {
        Some(self.get(index as usize)?.as_ref())
    }

    #[inline]
    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        Some(self.get_mut(index as usize)?.as_mut())
    }
}

impl<T: AsRef<Timer> + AsMut<Timer>> Timers for Vec<T> {
    #[inline]
    fn timer(&self, index: u32) -> Option<&Timer> {
        self.as_slice().timer(index)
    }

    #[inline]
    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        self.as_mut_slice().timer_mut(index)
    }
}

impl<T: AsRef<Timer> + AsMut<Timer>> Timers for Slab<T> {
    #[inline]
    fn timer(&self, index: u32) -> Option<&Timer> {
        Some(self.get(index as usize)?.as_ref())
    }

    #[inline]
    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        Some(self.get_mut(index as usize)?.as_mut())
    }
}

/// A store as the core wants it: one that always has a header to show, and is not believed.
pub(super) struct Foreign<'a, S: ?Sized> {
    store: &'a mut S,
    /// Entries of the wheel.
    len: &'a mut usize,
    /// Stands in for that of a record that is gone.
    vacant: Header,
}

/// The header of no record: it owns no entry.
static VACANT: Header = Header::new(0);

impl<'a, S: Timers + ?Sized> Foreign<'a, S> {
    #[inline]
    pub(super) fn new(store: &'a mut S, len: &'a mut usize) -> Self {
        Self {
            store,
            len,
            vacant: VACANT,
        }
    }
}

impl<S: Timers + ?Sized> Headers for Foreign<'_, S> {
    const IS_TRUE: bool = false;

    #[inline]
    fn header(&self, slot: SlotIndex) -> &Header {
        let timer = self.store.timer(slot.to_bits());
        timer.map_or(&VACANT, |timer| &timer.0)
    }

    #[inline]
    fn header_mut(&mut self, slot: SlotIndex) -> &mut Header {
        match self.store.timer_mut(slot.to_bits()) {
            Some(timer) => &mut timer.0,
            None => {
                self.vacant = VACANT;
                &mut self.vacant
            }
        }
    }

    #[inline]
    fn disowned(&mut self) {
        *self.len -= 1;
    }
}
