//! What is measured: queues of timers with `u32` values, driven without indirection.

mod bare_set;
mod btree_slab;
mod textbook;
mod wheel;

pub(crate) use bare_set::BareSet;

/// A queue, with what all of them can do.
pub(crate) trait Queue {
    const NAME: &'static str;
    type Key: Copy;

    /// An empty queue at time zero.
    fn new() -> Self;

    fn len(&self) -> usize;

    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key;

    fn cancel(&mut self, key: Self::Key) -> Option<u32>;

    /// Moves a timer; `key` is brought up to date by a queue whose keys do not outlive a move.
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool;

    /// Fires every timer due by `now`.
    fn advance(&mut self, now: u64, fire: impl FnMut(u32));

    /// When to advance next, without a look at the clock: never later than the earliest deadline.
    fn wake(&self) -> Option<u64>;

    /// A queue of these deadlines: timer `i` has value `i`.
    fn filled(deadlines: &[u64]) -> Self
    where
        Self: Sized,
    {
        let mut queue = Self::new();
        for (&deadline, value) in deadlines.iter().zip(0..) {
            queue.schedule(deadline, value);
        }
        queue
    }

    /// As [`Queue::filled`], with the keys.
    fn filled_with_keys(deadlines: &[u64]) -> (Self, Vec<Self::Key>)
    where
        Self: Sized,
    {
        let mut queue = Self::new();
        let keys = deadlines
            .iter()
            .zip(0..)
            .map(|(&deadline, value)| queue.schedule(deadline, value))
            .collect();
        (queue, keys)
    }
}

/// A queue that can be walked in order of deadline. A textbook wheel has no order until it fires.
pub(crate) trait Ordered: Queue {
    fn ascending(&self) -> impl Iterator<Item = u32>;

    fn descending(&self) -> impl Iterator<Item = u32>;
}

/// A queue that bounds the work of a call. A textbook wheel moves a whole bucket down at once.
pub(crate) trait Budgeted: Queue {
    /// Fires timers due by `now` until the budget is used up, and says whether a backlog is left.
    fn advance_with_budget(&mut self, now: u64, budget: usize, fire: impl FnMut(u32)) -> bool;
}
