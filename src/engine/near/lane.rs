//! The handle of a lane.

use crate::engine::node::NodeIndex;

/// A lane of a [`Wheel`](crate::Wheel) or an [`IndexWheel`](crate::index::IndexWheel): a list for timers that are
/// scheduled in the order in which they are due, such as timers with one constant delay.
///
/// Such a timer needs no bucket and no sorting. It is linked behind the last one of its lane, which is O(1), and it is
/// not moved before it fires.
///
/// A lane affects costs only. A timer that is due before the last one of its lane is linked
/// in front of the later ones if there are at most four, so a few outliers do no harm. If there are more, the lane is
/// ignored.
///
/// A lane of another wheel counts as this wheel's lane of the same number, in the order in which lanes were added. If
/// there is none, the lane is ignored. A wheel that was stored and loaded has no lanes; a clone has the lanes of its
/// original.
///
/// Use a lane for timers that mostly fire or are evicted: that takes 40 to 60 % of the time without a lane. Use none if
/// most timers are cancelled, or rescheduled several times before they fire. In a lane, a reschedule moves the timer to
/// the end; [`Wheel::reschedule`](crate::Wheel::reschedule) only writes the new deadline.
///
/// ```
/// use timer_wheel::{Lane, Wheel};
///
/// struct Sessions {
///     timers: Wheel<&'static str>,
///     idle: Lane,
/// }
///
/// let mut timers = Wheel::new(0);
/// let idle = timers.add_lane();
/// let mut sessions = Sessions { timers, idle };
/// for (now, user) in [(0, "ann"), (10, "bob")] {
///     sessions.timers.schedule_in(sessions.idle, now + 30, user);
/// }
/// assert_eq!(sessions.timers.wake_at(), Some(30), "it is exact");
/// assert!(sessions.timers.advance(40).map(|timer| timer.value).eq(["ann", "bob"]));
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane(u8);

impl Lane {
    pub(crate) const fn new(number: usize) -> Self {
        Self(number as u8)
    }

    #[inline]
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }

    /// The `next` of the last node of the lane.
    #[inline]
    pub(crate) const fn end(self) -> NodeIndex {
        NodeIndex::end_of(self.0)
    }
}
