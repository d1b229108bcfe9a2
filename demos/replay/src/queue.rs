//! What the cache asks of a queue of timers, and the queues that can answer.

mod calls;
mod index;

use crate::trace::KeyId;

pub(crate) use calls::{BTree, BudgetedWheel, PlainWheel, Textbook};
pub(crate) use index::Index;

/// Whether one call left due timers behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backlog {
    /// All that was due has fired.
    Done,
    /// The call's budget ran out: it has to be repeated.
    Remains,
}

/// A queue of timers, each for one key of the cache.
///
/// A timer that fired or was cancelled leaves a stale key behind, which must change nothing.
pub(crate) trait Queue {
    /// A timer's name.
    type Key: Copy;

    /// Sets a timer for a cache key at a time in nanoseconds.
    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Self::Key;

    /// Takes a timer out.
    fn cancel(&mut self, timer: Self::Key);

    /// Moves a timer.
    fn reschedule(&mut self, timer: Self::Key, deadline_ns: u64);

    /// Hands over what is due, in order, each with its deadline; once, or until a budget runs out.
    fn advance(&mut self, now_ns: u64, expire: impl FnMut(KeyId, u64)) -> Backlog;

    /// How many timers are set.
    fn len(&self) -> usize;
}
