//! A queue of items that come out when they are due: a stream for tokio, in place of
//! tokio-util's.
//!
//! See [`DelayQueue`]. The module has the names of `tokio_util::time::delay_queue`. So
//! `use tokio_util::time::delay_queue::{DelayQueue, Expired, Key}` becomes
//! `use timer_wheel::delay_queue::{DelayQueue, Expired, Key}`.
//!
//! ```
//! use std::collections::HashMap;
//! use std::time::Duration;
//! use timer_wheel::{DelayQueue, delay_queue};
//!
//! let mut timeouts = DelayQueue::new();
//! let mut keys: HashMap<u32, delay_queue::Key> = HashMap::new();
//! keys.insert(17, timeouts.insert(17, Duration::from_secs(30)));
//! timeouts.reset(&keys[&17], Duration::from_secs(60));
//! ```

mod alarm;
mod expired_item;
mod key;
mod poll;
mod timeline;

use core::fmt;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

pub use expired_item::ExpiredItem;
/// [`ExpiredItem`] under its name in tokio-util. `timer_wheel::Expired` is a timer of a wheel.
#[doc(no_inline)]
pub use expired_item::ExpiredItem as Expired;
pub use key::Key;

use crate::Wheel;
use crate::delay_queue::alarm::Alarm;
use crate::delay_queue::timeline::Timeline;

/// The panic message for a key that names no item.
const INVALID_KEY: &str = "invalid key: the item has expired or was removed";

/// A queue of items that come out when they are due.
///
/// A drop-in for [tokio-util]'s type of the same name: the same methods with the same meanings, so
/// that changing the `use` line is the whole migration. It is a [`Stream`] of [`ExpiredItem`]s,
/// driven by the task that polls it: a [`Wheel`] with one tokio timer, and no task or thread of its
/// own. It follows tokio's clock, even while that is paused. The timer belongs to the runtime of the poll that made it:
/// while that runtime lives and is not driven, no task of another runtime is woken.
///
/// ```
/// use std::future::poll_fn;
/// use std::time::Duration;
/// use timer_wheel::DelayQueue;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut queue = DelayQueue::new();
/// queue.insert("second", Duration::from_secs(2));
/// let key = queue.insert("first", Duration::from_secs(9));
/// queue.reset(&key, Duration::from_secs(1));
///
/// let mut values = Vec::new();
/// while let Some(expired) = poll_fn(|cx| queue.poll_expired(cx)).await {
///     values.push(expired.into_inner());
/// }
/// assert_eq!(values, ["first", "second"]);
/// # }
/// ```
///
/// # Where it differs from tokio-util's
///
/// - Items come out in exact order of their deadlines, and first in first out among equals.
///   [`peek`](DelayQueue::peek) always gives the key of the next one.
/// - A key whose item is gone never refers to another item, and compacting leaves keys as they are.
/// - No deadline is too far: see below.
/// - [`get`](DelayQueue::get), [`get_mut`](DelayQueue::get_mut), [`contains`](DelayQueue::contains),
///   [`try_reset`](DelayQueue::try_reset) and [`try_reset_at`](DelayQueue::try_reset_at) are new.
/// - Only polling touches the runtime. A queue can be filled and changed outside of one.
/// - [`capacity`](DelayQueue::capacity) may be more than was asked for, and
///   [`compact`](DelayQueue::compact) keeps memory up to the highest slot in use.
///
/// # Deadlines
///
/// An item's deadline is kept to the nanosecond, where tokio-util rounds it up to the millisecond,
/// and no item comes before its deadline. How late it comes depends on tokio, whose timers fire at the end of a
/// millisecond, and on the task.
///
/// An instant more than 548 years after the queue was made counts as 548 years after it, and one more than 36 years
/// before as 36 years before. That includes any [`Duration`] that is too long to be added to the
/// present time, such as [`Duration::MAX`]. [`deadline`](DelayQueue::deadline) returns that last instant, or another
/// one in the far future where `Instant` does not reach as far.
///
/// # Costs
///
/// Those of the [`Wheel`]: inserting, removing and resetting are O(1). Resetting an item to a later time leaves the
/// tokio timer as it is, as does removing one that is not the last. The timer then fires once without an item, and is
/// set for the next one.
///
/// One poll delivers one item and does a bounded amount of work. Tens of thousands of items may
/// have to be moved within the wheel before the first can be delivered. Polls in between return
/// `Pending` and wake the task at once. Delivering takes from the task's
/// [budget](tokio::task::coop), so that a burst does not starve other tasks.
///
/// An empty queue takes less than a kilobyte.
///
/// [tokio-util]: https://docs.rs/tokio-util/0.7/tokio_util/time/struct.DelayQueue.html
/// [`Stream`]: futures_core::Stream
pub struct DelayQueue<T> {
    /// Its time is that of the timeline.
    wheel: Wheel<T>,
    timeline: Timeline,
    /// Invariant: not set while the queue is empty.
    alarm: Alarm,
    /// The task that waits, unless it has been woken since.
    waiting: Option<Waker>,
}

impl<T> DelayQueue<T> {
    /// Makes an empty queue. O(1).
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    ///
    /// let queue: DelayQueue<u32> = DelayQueue::new();
    /// assert!(queue.is_empty());
    /// ```
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Makes an empty queue with memory for at least `capacity` items. O(capacity).
    ///
    /// # Panics
    ///
    /// If a queue could never hold that many.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    ///
    /// let queue: DelayQueue<u32> = DelayQueue::with_capacity(10);
    /// assert!(queue.capacity() >= 10);
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            wheel: Wheel::with_capacity(Timeline::ORIGIN, capacity),
            timeline: Timeline::from_now(),
            alarm: Alarm::default(),
            waiting: None,
        }
    }

    /// Inserts an item that comes out once `timeout` has passed, and returns its key. O(1).
    ///
    /// Any duration will do: see [deadlines](DelayQueue#deadlines).
    ///
    /// # Panics
    ///
    /// If the queue holds 1,610,612,736 items, the maximum.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// queue.insert("much later", Duration::MAX);
    /// assert_eq!(queue.remove(&key).into_inner(), "item");
    /// ```
    #[track_caller]
    pub fn insert(&mut self, value: T, timeout: Duration) -> Key {
        self.insert_for(value, self.timeline.after(timeout))
    }

    /// Inserts an item that comes out at `when`, and returns its key. O(1).
    ///
    /// A due item waits for the end of the current millisecond if the queue was going to deliver an item then, and
    /// otherwise not at all.
    ///
    /// # Panics
    ///
    /// As [`insert`](DelayQueue::insert).
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_nanos(1_234_567);
    /// let key = queue.insert_at("item", when);
    /// assert_eq!(queue.deadline(&key), when);
    /// ```
    #[track_caller]
    pub fn insert_at(&mut self, value: T, when: Instant) -> Key {
        self.insert_for(value, self.timeline.at(when))
    }

    /// Takes out the next item that is due, or arranges for the task to be woken once one is. A
    /// bounded amount of work, usually O(1): see [costs](DelayQueue#costs).
    ///
    /// Returns `None` when the queue is empty. The stream is at its end only until an item is inserted, which wakes the
    /// task too.
    ///
    /// # Panics
    ///
    /// If it has to wait outside of a tokio runtime, or in one without time.
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(1));
    /// let expired = poll_fn(|cx| queue.poll_expired(cx)).await.expect("there is an item");
    /// assert_eq!((expired.key(), *expired.get_ref()), (key, "item"));
    /// assert!(poll_fn(|cx| queue.poll_expired(cx)).await.is_none());
    /// # }
    /// ```
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<ExpiredItem<T>>> {
        if self.is_empty() {
            self.remember(cx);
            return Poll::Ready(None);
        }
        let Poll::Ready(timer) = self.poll_due(cx) else {
            self.remember(cx);
            return Poll::Pending;
        };
        // The task will ask again before it waits.
        self.waiting = None;
        if self.is_empty() {
            self.alarm.cancel();
        }
        Poll::Ready(Some(ExpiredItem {
            key: Key(timer.key),
            deadline: self.timeline.instant(timer.deadline),
            data: timer.value,
        }))
    }

    /// Takes an item out, due or not, with the deadline that it had. O(1).
    ///
    /// # Panics
    ///
    /// If the item is not in the queue any more. [`try_remove`](DelayQueue::try_remove) then returns `None`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// assert_eq!(queue.remove(&key).into_inner(), "item");
    /// assert!(queue.is_empty());
    /// ```
    #[track_caller]
    pub fn remove(&mut self, key: &Key) -> ExpiredItem<T> {
        self.try_remove(key).expect(INVALID_KEY)
    }

    /// Takes an item out, due or not, or returns `None` if it is not in the queue any more.
    /// O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// assert_eq!(queue.try_remove(&key).unwrap().into_inner(), "item");
    /// queue.insert("another", Duration::from_secs(5));
    /// assert!(queue.try_remove(&key).is_none());
    /// ```
    pub fn try_remove(&mut self, key: &Key) -> Option<ExpiredItem<T>> {
        let deadline = self.wheel.deadline(key.0)?;
        let data = self.wheel.cancel(key.0)?;
        if self.is_empty() {
            self.alarm.cancel();
            self.wake();
        }
        Some(ExpiredItem { key: *key, deadline: self.timeline.instant(deadline), data })
    }

    /// Reschedules an item to `timeout` from now. O(1).
    ///
    /// It comes after the items that have that deadline already.
    ///
    /// # Panics
    ///
    /// If the item is not in the queue any more. [`try_reset`](DelayQueue::try_reset) then returns `false`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let touched = queue.insert("touched", Duration::from_secs(5));
    /// let idle = queue.insert("idle", Duration::from_secs(5));
    /// queue.reset(&touched, Duration::from_secs(60));
    /// assert_eq!(queue.peek(), Some(idle));
    /// ```
    #[track_caller]
    pub fn reset(&mut self, key: &Key, timeout: Duration) {
        assert!(self.try_reset(key, timeout), "{INVALID_KEY}");
    }

    /// Reschedules an item to `when`. O(1).
    ///
    /// # Panics
    ///
    /// As [`reset`](DelayQueue::reset).
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// queue.reset_at(&key, when);
    /// assert_eq!(queue.deadline(&key), when);
    /// ```
    #[track_caller]
    pub fn reset_at(&mut self, key: &Key, when: Instant) {
        assert!(self.try_reset_at(key, when), "{INVALID_KEY}");
    }

    /// Like [`reset`](DelayQueue::reset), but returns `false` if the item is not in the queue any more. O(1).
    ///
    /// tokio-util's queue has no such method.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// assert!(queue.try_reset(&key, Duration::from_secs(10)));
    /// queue.remove(&key);
    /// assert!(!queue.try_reset(&key, Duration::from_secs(20)));
    /// ```
    #[must_use = "a stale key resets nothing"]
    pub fn try_reset(&mut self, key: &Key, timeout: Duration) -> bool {
        self.reset_for(key, self.timeline.after(timeout))
    }

    /// Like [`reset_at`](DelayQueue::reset_at), but returns `false` if the item is not in the queue any more. O(1).
    ///
    /// tokio-util's queue has no such method.
    #[must_use = "a stale key resets nothing"]
    pub fn try_reset_at(&mut self, key: &Key, when: Instant) -> bool {
        self.reset_for(key, self.timeline.at(when))
    }

    fn reset_for(&mut self, key: &Key, deadline: u64) -> bool {
        let is_live = self.wheel.reschedule(key.0, deadline);
        if is_live {
            self.wake_if_late();
        }
        is_live
    }

    /// When an item is due. O(1).
    ///
    /// # Panics
    ///
    /// If the item is not in the queue any more.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    /// use tokio::time::{Duration, Instant};
    ///
    /// let mut queue = DelayQueue::new();
    /// let when = Instant::now() + Duration::from_secs(60);
    /// let key = queue.insert_at("item", when);
    /// assert_eq!(queue.deadline(&key), when);
    /// ```
    #[track_caller]
    pub fn deadline(&self, key: &Key) -> Instant {
        let deadline = self.wheel.deadline(key.0).expect(INVALID_KEY);
        self.timeline.instant(deadline)
    }

    /// Whether the key's item is in the queue. O(1). tokio-util's queue has no such method.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// assert!(queue.contains(&key));
    /// queue.remove(&key);
    /// assert!(!queue.contains(&key));
    /// ```
    pub fn contains(&self, key: &Key) -> bool {
        self.wheel.contains(key.0)
    }

    /// An item in the queue, or `None` if it is no longer there. O(1). tokio-util's queue has no
    /// such method.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// assert_eq!(queue.get(&key), Some(&"item"));
    /// ```
    pub fn get(&self, key: &Key) -> Option<&T> {
        self.wheel.get(key.0)
    }

    /// An item in the queue, to be changed, or `None` if it is no longer there. O(1). tokio-util's
    /// queue has no such method.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert(1, Duration::from_secs(5));
    /// *queue.get_mut(&key).unwrap() += 1;
    /// assert_eq!(queue.remove(&key).into_inner(), 2);
    /// assert!(queue.get(&key).is_none());
    /// ```
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut T> {
        self.wheel.get_mut(key.0)
    }

    /// The key of the item that will be delivered next, due or not.
    ///
    /// O(items that are due, or share the first bucket of the wheel with that one), with each call: 20 ms with a
    /// million items within 200 ms. Do not call it for each item that is inserted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("second", Duration::from_secs(10));
    /// let key = queue.insert("first", Duration::from_secs(5));
    /// assert_eq!(queue.peek(), Some(key));
    /// ```
    pub fn peek(&self) -> Option<Key> {
        self.wheel.ascending().next().map(|timer| Key(timer.key))
    }

    /// The number of items in the queue, due or not. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// queue.insert("overdue", Duration::ZERO);
    /// queue.insert("not yet", Duration::from_secs(5));
    /// assert_eq!(queue.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether no item is in the queue. O(1).
    ///
    /// A stream that has come to its end in this way goes on when an item is inserted.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// assert!(queue.is_empty());
    /// queue.insert("item", Duration::from_secs(5));
    /// assert!(!queue.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Removes all items. O(n).
    ///
    /// The memory stays. A task that waits for the queue is woken, and finds the stream at its end.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::new();
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// queue.clear();
    /// assert!(queue.is_empty() && queue.try_remove(&key).is_none());
    /// ```
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.alarm.cancel();
            // Before any value is dropped: that may panic.
            self.wake();
        }
        self.wheel.clear();
    }

    /// The number of items that fit before more memory is allocated. O(1).
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    ///
    /// let queue: DelayQueue<u32> = DelayQueue::with_capacity(100);
    /// assert!(queue.capacity() >= 100);
    /// ```
    pub fn capacity(&self) -> usize {
        self.wheel.capacity()
    }

    /// Makes room for `additional` more items. O(additional).
    ///
    /// # Panics
    ///
    /// If the queue could never hold that many.
    ///
    /// ```
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue: DelayQueue<u32> = DelayQueue::new();
    /// queue.reserve(100);
    /// assert!(queue.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.wheel.reserve(additional);
    }

    /// Gives back memory that the items in the queue do not need. O(n).
    ///
    /// An item keeps its slot, so memory is kept up to the highest slot in use.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::DelayQueue;
    ///
    /// let mut queue = DelayQueue::with_capacity(10_000);
    /// let key = queue.insert("item", Duration::from_secs(5));
    /// queue.shrink_to_fit();
    /// assert!(queue.capacity() < 10_000);
    /// assert!(queue.contains(&key), "keys stay valid");
    /// ```
    pub fn shrink_to_fit(&mut self) {
        self.wheel.shrink_to_fit();
    }

    /// See [`shrink_to_fit`](DelayQueue::shrink_to_fit). O(n).
    ///
    /// tokio-util's `compact` moves the items together, and looks each key up in a map from then on. This
    /// one moves nothing.
    pub fn compact(&mut self) {
        self.shrink_to_fit();
    }

    #[track_caller]
    fn insert_for(&mut self, value: T, deadline: u64) -> Key {
        let key = self.wheel.schedule(deadline, value);
        self.wake_if_late();
        Key(key)
    }

    /// The time at which there is something to do; the end of time if the queue is empty.
    fn next_advance(&self) -> u64 {
        let next = self.wheel.wake_at().unwrap_or(u64::MAX);
        if next > self.wheel.now() || next <= self.timeline.now() {
            return next;
        }
        // The clock is behind the wheel's, because a runtime whose paused clock ran ahead is gone.
        self.wheel.next_deadline().unwrap_or(u64::MAX)
    }

    /// Wakes the task that waits for the queue if it would sleep for too long.
    #[inline]
    fn wake_if_late(&mut self) {
        if self.waiting.is_some() && self.alarm.is_too_late_for(self.next_advance()) {
            self.wake();
        }
    }

    /// Wakes the task that waits for the queue, if there is one.
    fn wake(&mut self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// Items are never pinned.
impl<T> Unpin for DelayQueue<T> {}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    /// Prints how many items there are and the state of the wheel, never the items.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue")
            .field("len", &self.len())
            .field("wheel", &self.wheel)
            .field("is_awaited", &self.waiting.is_some())
            .finish_non_exhaustive()
    }
}
