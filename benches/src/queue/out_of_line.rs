//! A queue whose `schedule` and `cancel` are calls, wherever they stand.

use std::time::Duration;

use timer_wheel::Budget;

use super::{Need, Order, Queue};

/// Whether the compiler copies a function into its caller depends on how many callers a program has. A program with
/// several gets a call, and a figure that is to stay while callers are added asks for one.
#[derive(Debug)]
pub struct OutOfLine<Q>(Q);

impl<Q: Queue> OutOfLine<Q> {
    #[inline(never)]
    fn call_schedule(queue: &mut Q, deadline: u64, value: u32) -> Q::Key {
        queue.schedule(deadline, value)
    }

    #[inline(never)]
    fn call_cancel(queue: &mut Q, key: Q::Key) -> Option<u32> {
        queue.cancel(key)
    }
}

impl<Q: Queue> Queue for OutOfLine<Q> {
    const NAME: &'static str = Q::NAME;
    const ORDER: Order = Q::ORDER;
    const LACKS: &'static [Need] = Q::LACKS;
    type Key = Q::Key;

    fn new(now: u64) -> Self {
        Self(Q::new(now))
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> Q::Key {
        Self::call_schedule(&mut self.0, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, fire: impl FnMut(u64, u32)) {
        self.0.advance(now, fire);
    }

    fn clock_cost(&mut self) -> Duration {
        self.0.clock_cost()
    }

    #[inline]
    fn key_of(value: &u32) -> Option<Q::Key> {
        Q::key_of(value)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn cancel(&mut self, key: Q::Key) -> Option<u32> {
        Self::call_cancel(&mut self.0, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut Q::Key, deadline: u64) -> bool {
        self.0.reschedule(key, deadline)
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop_first()
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        self.0.pop_expired(now)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, fire: impl FnMut(u64, u32)) -> bool {
        self.0.advance_with_budget(now, budget, fire)
    }
}
