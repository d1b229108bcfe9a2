//! An item that was taken out.

use tokio::time::Instant;

use crate::delay_queue::key::Key;

/// An item that has expired, or was removed, with its key and deadline.
#[derive(Debug)]
pub struct Expired<T> {
    pub(super) key: Key,
    pub(super) deadline: Instant,
    pub(super) data: T,
}

impl<T> Expired<T> {
    /// The item.
    pub fn get_ref(&self) -> &T {
        &self.data
    }

    /// The item, to be changed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// The item, without its key and deadline.
    pub fn into_inner(self) -> T {
        self.data
    }

    /// When the item was, or would have been, due: exactly what it was inserted or last reset
    /// with, unless that is [out of range](crate::DelayQueue#deadlines).
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The key under which the item was in the queue, which is stale now.
    pub fn key(&self) -> Key {
        self.key
    }
}
