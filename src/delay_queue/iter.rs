//! Looking at the items of a queue.

use core::fmt;
use core::iter::FusedIterator;

use tokio::time::Instant;

use crate::delay_queue::DelayQueue;
use crate::delay_queue::key::Key;
use crate::delay_queue::timeline::Timeline;
use crate::geometry::Millis;
use crate::wheel::iter::Ascending;
use crate::wheel::timer::TimerRef;

/// An item in a queue, as [`Items`] shows it.
///
/// ```
/// use timer_wheel::DelayQueue;
/// use tokio::time::{Duration, Instant};
///
/// let mut queue = DelayQueue::new();
/// let when = Instant::now() + Duration::from_secs(60);
/// let key = queue.insert_at("item", when);
/// let entry = queue.iter().next().unwrap();
/// assert_eq!((entry.key, entry.deadline, *entry.value), (key, when, "item"));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedItem<'a, T> {
    /// The item's key.
    pub key: Key,
    /// When the item is due.
    pub deadline: Instant,
    /// The item.
    pub value: &'a T,
}

impl<T> Clone for QueuedItem<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for QueuedItem<'_, T> {}

/// The items of a queue in the order in which they will be delivered, from [`DelayQueue::iter`].
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::DelayQueue;
///
/// let mut queue = DelayQueue::new();
/// queue.insert("item", Duration::from_secs(5));
/// let mut entries = queue.iter();
/// assert_eq!(entries.next().map(|entry| *entry.value), Some("item"));
/// assert!(entries.next().is_none());
/// ```
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Items<'a, T> {
    timers: Ascending<'a, T, Millis>,
    timeline: Timeline,
}

impl<T> DelayQueue<T> {
    /// All items in the order in which they will be delivered.
    ///
    /// Lazy: `.take(n)` looks at little more than the next n items. O(n log n) for all n of them.
    /// tokio-util's queue has no such method.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("later", Duration::from_secs(2));
    /// queue.insert("sooner", Duration::from_secs(1));
    /// let values: Vec<&str> = queue.iter().map(|entry| *entry.value).collect();
    /// assert_eq!(values, ["sooner", "later"]);
    /// ```
    pub fn iter(&self) -> Items<'_, T> {
        Items { timers: self.wheel.ascending(), timeline: self.timeline }
    }
}

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        Self { timers: self.timers.clone(), timeline: self.timeline }
    }
}

impl<'a, T> IntoIterator for &'a DelayQueue<T> {
    type Item = QueuedItem<'a, T>;
    type IntoIter = Items<'a, T>;

    fn into_iter(self) -> Items<'a, T> {
        self.iter()
    }
}

impl<'a, T> Iterator for Items<'a, T> {
    type Item = QueuedItem<'a, T>;

    fn next(&mut self) -> Option<QueuedItem<'a, T>> {
        let TimerRef { key, deadline, value } = self.timers.next()?;
        Some(QueuedItem { key: Key(key), deadline: self.timeline.instant(deadline), value })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.timers.size_hint()
    }
}

impl<T> ExactSizeIterator for Items<'_, T> {}

impl<T> FusedIterator for Items<'_, T> {}

impl<T> fmt::Debug for Items<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("left", &self.len()).finish_non_exhaustive()
    }
}
