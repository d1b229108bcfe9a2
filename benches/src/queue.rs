//! The trait by which every queue is driven, without indirection, by the workloads, the benchmarks and the replay.

mod ttl;
mod wheels;

use std::time::Duration;

use timer_wheel::Budget;

pub use ttl::{Applied, Layer, Proposal, TwoSets};
pub use wheels::{InLane, Indexed, OutOfLine};

/// A queue of timers with values of a type. Times are nanoseconds from an origin of the caller's.
///
/// A queue without one of the operations names it in [`LACKS`](Self::LACKS) and leaves the method out, which then
/// panics. An operation that a queue lacks is not made up for: the figure would be the substitute's.
#[expect(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait Queue<T = u32> {
    /// The name under which it stands in tables.
    const NAME: &'static str;
    const ORDER: Order;
    const LACKS: &'static [Need] = &[];
    type Key: Copy;

    /// An empty queue at a time.
    fn new(now: u64) -> Self;

    /// Schedules a value for a deadline; a past one is due at once.
    fn schedule(&mut self, deadline: u64, value: T) -> Self::Key;

    /// Fires every timer due by `now`, each with its deadline; a queue that knows ticks only gives the end of the tick.
    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        while let Some((deadline, value)) = self.pop_expired(now) {
            fire(deadline, value);
        }
    }

    /// The time that the advances so far spent on a clock that the queue needs and a program has anyway.
    fn clock_cost(&mut self) -> Duration {
        Duration::ZERO
    }

    /// The key of a live timer, if the queue finds it by the timer's value.
    #[inline]
    fn key_of(_value: &T) -> Option<Self::Key> {
        None
    }

    fn len(&self) -> usize {
        lacking()
    }

    /// Returns the value, or `None` if the key is stale.
    fn cancel(&mut self, _key: Self::Key) -> Option<T> {
        lacking()
    }

    /// Moves a timer; a queue whose keys do not outlive a move updates `key`. `false` if the key is stale.
    fn reschedule(&mut self, _key: &mut Self::Key, _deadline: u64) -> bool {
        lacking()
    }

    /// A time up to which there is nothing to do, or `None` if the queue is empty.
    fn wake_at(&self) -> Option<u64> {
        lacking()
    }

    /// Takes the earliest timer, due or not, with its deadline.
    fn pop_first(&mut self) -> Option<(u64, T)> {
        lacking()
    }

    /// Takes the earliest timer due by `now`, and no other.
    fn pop_expired(&mut self, _now: u64) -> Option<(u64, T)> {
        lacking()
    }

    fn clear(&mut self) {
        lacking()
    }

    /// Fires what is due by `now` within a budget of work, the entries it handles, and says whether that may have left
    /// some. By default it fires one timer at a time, for a queue that has no other work.
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, mut fire: impl FnMut(u64, T)) -> bool {
        while budget.work > 0 {
            let Some((deadline, value)) = self.pop_expired(now) else {
                return false;
            };
            budget.work -= 1;
            fire(deadline, value);
        }
        true
    }

    /// Whether it has something that a measurement needs. O(1).
    #[inline]
    fn has(need: Need) -> bool {
        !Self::LACKS.contains(&need)
    }
}

#[cold]
fn lacking<R>() -> R {
    panic!("the queue lacks this operation")
}

/// What a measurement needs of a queue, beyond scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Timers fire in the step of the measurement in which they are due.
    Fire,
    /// A single advance can be timed.
    SingleCalls,
    /// [`Queue::cancel`].
    Cancel,
    /// [`Queue::reschedule`].
    Move,
    /// [`Queue::pop_first`] and the like.
    First,
    /// [`Queue::advance_with_budget`].
    Budget,
    /// Timers of any rotation, each found without a look at the others.
    Horizon,
    /// Timers of any delay. All measurements need it but those of one TTL.
    Delays,
}

/// The order in which timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Any order within a step of the measurement.
    Step,
    /// Order of deadline, equals in any order.
    Deadline,
    /// Order of deadline, equals as they were last scheduled.
    FirstComeFirstServed,
}

/// A queue of timers with these deadlines, numbered from zero by their values, and their keys. O(n) schedules.
pub fn filled_with_keys<Q: Queue>(deadlines: &[u64]) -> (Q, Vec<Q::Key>) {
    let mut queue = Q::new(0);
    let timers = deadlines.iter().zip(0..);
    let keys = timers.map(|(&deadline, value)| queue.schedule(deadline, value));
    let keys = keys.collect();
    (queue, keys)
}

/// The same without the keys.
pub fn filled<Q: Queue>(deadlines: &[u64]) -> Q {
    let mut queue = Q::new(0);
    for (&deadline, value) in deadlines.iter().zip(0..) {
        queue.schedule(deadline, value);
    }
    queue
}
