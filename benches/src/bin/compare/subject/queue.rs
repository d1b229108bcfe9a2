//! The operations that a queue is measured by, a trait for each kind.

use std::time::Duration;

use crate::answer::Promise;

/// A queue of timers with `u32` values, as the timed loops drive it: without indirection.
pub(crate) trait Queue {
    const NAME: &'static str;
    const PROMISE: Promise;
    const WORK: Work;
    type Key: Copy;

    /// An empty queue at time zero.
    fn new() -> Self;

    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key;

    /// Fires every timer due by `now`.
    fn advance(&mut self, now: u64, fire: impl FnMut(u32));

    /// The same, and says how many entries it handled, as far as [`WORK`](Self::WORK) goes.
    fn advance_counting(&mut self, now: u64, mut fire: impl FnMut(u32)) -> usize {
        let mut fired = 0;
        self.advance(now, |value| {
            fired += 1;
            fire(value);
        });
        fired
    }

    /// How long the advances so far took for what is not the queue's own work: a queue that is told
    /// the time by something else is not to pay for it.
    fn clock_cost(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// What [`Queue::advance_counting`] knows of a queue's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// All of it: a timer is handled when it fires and at no other time.
    FiresOnly,
    /// All of it: timers are also moved on the way, and the queue says how many were.
    Counted,
    /// Timers are moved on the way, and the queue does not say how many were.
    Untold,
}

/// A queue whose timers can be cancelled.
pub(crate) trait Cancel: Queue {
    /// Whether a key is refused for good once its timer has fired.
    const REFUSES_STALE_KEYS: bool = true;

    fn cancel(&mut self, key: Self::Key) -> Option<u32>;
}

/// A queue whose timers can be moved.
pub(crate) trait Reschedule: Queue {
    /// Moves a timer; `key` is brought up to date by a queue whose keys do not outlive a move.
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool;
}

/// A queue that knows when to be advanced next.
pub(crate) trait Wakes: Queue {
    /// A time by which no timer has come yet, except that it may be the earliest deadline; `None` when
    /// the queue is empty. A queue that knows ticks only says the end of the tick.
    fn next_wake(&self) -> Option<u64>;
}

/// A queue whose timers can be listed in order.
pub(crate) trait Ordered: Queue {
    fn ascending(&self, visit: impl FnMut(u32));

    fn descending(&self, visit: impl FnMut(u32));
}

/// A queue that gives its earliest timer, whether that is due or not.
pub(crate) trait PopFirst: Queue {
    /// The deadline and the value.
    fn pop_first(&mut self) -> Option<(u64, u32)>;
}

/// A queue that fires one timer at a time.
pub(crate) trait PopExpired: Queue {
    /// Fires the earliest timer due by `now`, and no other.
    fn pop_expired(&mut self, now: u64) -> Option<u32>;
}

/// A queue that can be emptied at one go.
pub(crate) trait Clear: Queue {
    fn clear(&mut self);
}

/// A queue that can stop an advance part way and resume it. The budget is of its own work: what it handles,
/// fires included.
pub(crate) trait Budgeted: Queue {
    fn advance_with_budget(&mut self, now: u64, budget: usize, fire: impl FnMut(u32))
    -> Instalment;
}

/// What one call with a budget did.
pub(crate) struct Instalment {
    pub(crate) used: usize,
    pub(crate) has_backlog: bool,
}
