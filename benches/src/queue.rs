//! What a queue of timers is measured by: one trait for what all do, and one for each thing more.
//!
//! The programs, the benchmarks and the replay drive every queue through these, without indirection. An
//! operation that a queue lacks is not made up for: a figure would be the substitute's.

mod wheel;

use std::time::Duration;

/// A queue of timers with values of a type. Times are nanoseconds from an origin of the caller's.
pub trait Queue<T = u32> {
    /// The name under which it stands in tables.
    const NAME: &'static str;
    /// What holds for the timers that it fires.
    const PROMISE: Promise;
    /// What [`advance_counting`](Self::advance_counting) counts.
    const WORK: Work;
    /// Names a timer.
    type Key: Copy;

    /// An empty queue at a time.
    fn new(now: u64) -> Self;

    /// Schedules a value for a deadline; a past one is due at once.
    fn schedule(&mut self, deadline: u64, value: T) -> Self::Key;

    /// Fires every timer due by `now`, each with its deadline; a queue that knows ticks only gives the end
    /// of the tick.
    fn advance(&mut self, now: u64, fire: impl FnMut(u64, T));

    /// The same, and says how many entries it handled, as far as [`WORK`](Self::WORK) goes.
    fn advance_counting(&mut self, now: u64, mut fire: impl FnMut(u64, T)) -> usize {
        let mut fired = 0;
        self.advance(now, |deadline, value| {
            fired += 1;
            fire(deadline, value);
        });
        fired
    }

    /// How long the advances so far took for what is not the queue's own work: a queue that is told
    /// the time by something else is not to pay for it.
    fn clock_cost(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// What a queue promises about the timers it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// In order of deadline, equals as they were last scheduled.
    FirstComeFirstServed,
    /// In order of deadline, equals in any order of the queue's own, though one that was filled fresh
    /// fires them as they came.
    DeadlineOrder,
    /// In order of deadline, equals in no order at all.
    AnyAmongEquals,
    /// In the step of the measurement in which it is due, in any order within the step.
    StepOrder,
    /// Some time after it is due.
    Late,
    /// It fires nothing at all: it is here for what comes before.
    NothingExpires,
}

/// What [`Queue::advance_counting`] knows of a queue's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// All of it: a timer is handled when it fires and at no other time.
    FiresOnly,
    /// All of it: timers are also moved on the way, and the queue says how many were.
    Counted,
    /// Timers are moved on the way, and the queue does not say how many were.
    Untold,
}

/// A queue that knows how many timers it has.
#[expect(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait Counted<T = u32>: Queue<T> {
    /// How many are scheduled.
    fn len(&self) -> usize;
}

/// A queue whose timers can be cancelled.
pub trait Cancel<T = u32>: Queue<T> {
    /// Whether a key is refused for good once its timer has fired.
    const REFUSES_STALE_KEYS: bool = true;

    /// Gives the value back, or `None` if the key is stale.
    fn cancel(&mut self, key: Self::Key) -> Option<T>;
}

/// A queue whose timers can be moved.
pub trait Reschedule<T = u32>: Cancel<T> {
    /// Moves a timer; `key` is brought up to date by a queue whose keys do not outlive a move. `false` if it
    /// is stale.
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool;
}

/// A queue that knows when to be advanced next.
pub trait Wakes<T = u32>: Queue<T> {
    /// A time by which no timer has come yet, except that it may be the earliest deadline; `None` when
    /// the queue is empty. A queue that knows ticks only says the end of the tick.
    fn next_wake(&self) -> Option<u64>;
}

/// A queue whose timers can be listed in order of deadline.
pub trait Ordered<T = u32>: Queue<T> {
    /// The earliest first.
    fn ascending(&self) -> impl Iterator<Item = T>;

    /// The latest first.
    fn descending(&self) -> impl Iterator<Item = T>;
}

/// A queue that gives its timers one at a time, or lets go of all of them.
pub trait Pop<T = u32>: Queue<T> {
    /// Takes the earliest timer, due or not, with its deadline.
    fn pop_first(&mut self) -> Option<(u64, T)>;

    /// Takes the earliest timer due by `now`, and no other.
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)>;

    /// Forgets every timer.
    fn clear(&mut self);
}

/// A queue that can stop an advance part way and resume it. The budget is of its own work: what it handles,
/// fires included.
pub trait Budgeted<T = u32>: Queue<T> {
    /// Fires what is due by `now` as far as the budget goes.
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        fire: impl FnMut(u64, T),
    ) -> Instalment;
}

/// What one call with a budget did.
#[derive(Clone, Copy, Debug)]
pub struct Instalment {
    /// How much of the budget was used.
    pub used: usize,
    /// Whether something due was left.
    pub has_backlog: bool,
}

impl Instalment {
    /// Fires one timer at a time, for a queue whose work that is: a tree's call is as long as it has timers to
    /// take. O(budget) calls of `pop_expired`.
    pub fn of_pops<T, Q: Pop<T> + Wakes<T>>(
        queue: &mut Q,
        now: u64,
        budget: usize,
        mut fire: impl FnMut(u64, T),
    ) -> Self {
        for used in 0..budget {
            let Some((deadline, value)) = queue.pop_expired(now) else {
                return Self {
                    used,
                    has_backlog: false,
                };
            };
            fire(deadline, value);
        }
        Self {
            used: budget,
            has_backlog: queue.next_wake().is_some_and(|deadline| deadline <= now),
        }
    }
}

/// A queue of timers with these deadlines, numbered from zero by their values. O(n) schedules.
pub fn filled<Q: Queue>(deadlines: &[u64]) -> Q {
    let mut queue = Q::new(0);
    for (&deadline, value) in deadlines.iter().zip(0..) {
        queue.schedule(deadline, value);
    }
    queue
}

/// The same, with the keys.
pub fn filled_with_keys<Q: Queue>(deadlines: &[u64]) -> (Q, Vec<Q::Key>) {
    let mut queue = Q::new(0);
    let timers = deadlines.iter().zip(0..);
    let keys = timers.map(|(&deadline, value)| queue.schedule(deadline, value));
    let keys = keys.collect();
    (queue, keys)
}
