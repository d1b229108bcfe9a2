//! The handle of an item.

use core::fmt;

use crate::TimerKey;

/// Identifies one item of one [`DelayQueue`](crate::DelayQueue), from when it is inserted until it is
/// taken out.
///
/// Unlike the keys of tokio-util's queue, which are indexes and used again, a key that has outlived
/// its item never refers to another one: see [`TimerKey`]. It is eight bytes, and so is an `Option` of
/// it. With feature `serde` it is stored as a [`TimerKey`] is.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::DelayQueue;
///
/// let mut queue = DelayQueue::new();
/// let old = queue.insert("old", Duration::from_secs(5));
/// queue.remove(&old);
/// let new = queue.insert("new", Duration::from_secs(5));
/// assert!(old != new && queue.try_remove(&old).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Key(pub(super) TimerKey);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.0).finish()
    }
}
