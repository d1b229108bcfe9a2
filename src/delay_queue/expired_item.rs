//! An item that was taken out.

use tokio::time::Instant;

use crate::delay_queue::key::Key;

/// An item that has expired, or was removed, with its key and deadline. Every method is O(1).
///
/// ```
/// use timer_wheel::DelayQueue;
/// use tokio::time::{Duration, Instant};
///
/// let mut queue = DelayQueue::new();
/// let when = Instant::now() + Duration::from_secs(60);
/// let key = queue.insert_at("item", when);
/// let expired = queue.remove(&key);
/// assert_eq!((expired.key(), expired.deadline()), (key, when));
/// assert_eq!(expired.into_inner(), "item");
/// ```
#[derive(Debug)]
pub struct ExpiredItem<T> {
    pub(super) key: Key,
    pub(super) deadline: Instant,
    pub(super) data: T,
}

impl<T> ExpiredItem<T> {
    /// The item.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// let expired = queue.remove(&key);
    /// assert_eq!(expired.get_ref(), &"item");
    /// ```
    pub fn get_ref(&self) -> &T {
        &self.data
    }

    /// The item, to be changed.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// let mut expired = queue.remove(&key);
    /// *expired.get_mut() = "another";
    /// assert_eq!(expired.into_inner(), "another");
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// The item, without its key and deadline.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// let expired = queue.remove(&key);
    /// assert_eq!(expired.into_inner(), "item");
    /// ```
    pub fn into_inner(self) -> T {
        self.data
    }

    /// When the item was, or would have been, due: exactly what it was inserted or last reset
    /// with, unless that is [out of range](crate::DelayQueue#deadlines).
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// let expired = queue.remove(&key);
    /// assert_eq!(expired.deadline(), when);
    /// ```
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The key under which the item was in the queue, which is stale now.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// let expired = queue.remove(&key);
    /// assert_eq!(expired.key(), key);
    /// assert!(!queue.contains(&expired.key()));
    /// ```
    pub fn key(&self) -> Key {
        self.key
    }
}
