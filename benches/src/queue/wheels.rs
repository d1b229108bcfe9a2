//! The wheels of the library: by handle, by index, with all timers in one lane, and with calls that are not inlined.

use std::time::Duration;

use timer_wheel::index::IndexWheel;
use timer_wheel::{Budget, Geometry, Lane, Millis, TimerKey, Wheel};

use super::{Need, Order, Queue};

impl<T, G: Geometry> Queue<T> for Wheel<T, G> {
    const NAME: &'static str = "wheel";
    const ORDER: Order = Order::FirstComeFirstServed;
    type Key = TimerKey;

    #[inline]
    fn new(now: u64) -> Self {
        Wheel::with_geometry(now)
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TimerKey {
        Wheel::schedule(self, deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, T)) {
        for expired in Wheel::advance(self, now) {
            fire(expired.deadline, expired.value);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        Wheel::len(self)
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<T> {
        Wheel::cancel(self, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        Wheel::reschedule(self, *key, deadline)
    }

    #[inline]
    fn wake_at(&self) -> Option<u64> {
        Wheel::wake_at(self)
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        Wheel::pop_first(self).map(|first| (first.deadline, first.value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        Wheel::advance(self, now).next().map(|expired| (expired.deadline, expired.value))
    }

    fn clear(&mut self) {
        Wheel::clear(self);
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, mut fire: impl FnMut(u64, T)) -> bool {
        for expired in Wheel::advance_with_budget(self, now, budget) {
            fire(expired.deadline, expired.value);
        }
        self.has_backlog()
    }
}

/// An index wheel; a timer's key is its index, which is its value.
#[derive(Debug)]
pub struct Indexed<G: Geometry = Millis>(IndexWheel<G>);

impl<T: Copy + From<u32> + Into<u32>, G: Geometry> Queue<T> for Indexed<G> {
    const NAME: &'static str = "index-wheel";
    const ORDER: Order = Order::FirstComeFirstServed;
    type Key = u32;

    fn new(now: u64) -> Self {
        Self(IndexWheel::with_geometry(now))
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> u32 {
        let index = value.into();
        self.0.set(index, deadline);
        index
    }

    #[inline]
    fn key_of(&value: &T) -> Option<u32> {
        Some(value.into())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<T> {
        self.0.cancel(key).then(|| key.into())
    }

    /// Of a live timer, as all measurements ask for: a set would schedule a stale one.
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.0.set(*key, deadline);
        true
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, T)> {
        self.0.pop_first().map(|first| (first.deadline, first.index.into()))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, T)> {
        let due = self.0.advance(now).next()?;
        Some((due.deadline, due.index.into()))
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, mut fire: impl FnMut(u64, T)) -> bool {
        for due in self.0.advance_with_budget(now, budget) {
            fire(due.deadline, due.index.into());
        }
        self.0.has_backlog()
    }
}

/// What a queue around another leaves to it.
macro_rules! leave_to {
    ($inner:tt of $value:ty) => {
        #[inline]
        fn advance(&mut self, now: u64, fire: impl FnMut(u64, $value)) {
            Queue::advance(&mut self.$inner, now, fire);
        }

        fn len(&self) -> usize {
            Queue::len(&self.$inner)
        }

        #[inline]
        fn wake_at(&self) -> Option<u64> {
            Queue::wake_at(&self.$inner)
        }

        #[inline]
        fn pop_first(&mut self) -> Option<(u64, $value)> {
            Queue::pop_first(&mut self.$inner)
        }

        #[inline]
        fn pop_expired(&mut self, now: u64) -> Option<(u64, $value)> {
            Queue::pop_expired(&mut self.$inner, now)
        }

        #[inline]
        fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, fire: impl FnMut(u64, $value)) -> bool {
            Queue::advance_with_budget(&mut self.$inner, now, budget, fire)
        }
    };
}

/// A wheel and its only lane. Timers of other delays are taken as well, but a lane is not for them.
#[derive(Debug)]
pub struct InLane<T, G: Geometry = Millis> {
    wheel: Wheel<T, G>,
    lane: Lane,
}

impl<T, G: Geometry> Queue<T> for InLane<T, G> {
    const NAME: &'static str = "lane";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Need::Delays];
    type Key = TimerKey;

    fn new(now: u64) -> Self {
        let mut wheel = Wheel::with_geometry(now);
        let lane = wheel.add_lane();
        Self { wheel, lane }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: T) -> TimerKey {
        self.wheel.schedule_in(self.lane, deadline, value)
    }

    #[inline]
    fn cancel(&mut self, key: TimerKey) -> Option<T> {
        self.wheel.cancel(key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut TimerKey, deadline: u64) -> bool {
        self.wheel.reschedule_in(self.lane, *key, deadline)
    }

    leave_to!(wheel of T);
}

/// A queue whose `schedule` and `cancel` are calls, wherever they stand.
///
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

    fn clock_cost(&mut self) -> Duration {
        self.0.clock_cost()
    }

    #[inline]
    fn key_of(value: &u32) -> Option<Q::Key> {
        Q::key_of(value)
    }

    #[inline]
    fn cancel(&mut self, key: Q::Key) -> Option<u32> {
        Self::call_cancel(&mut self.0, key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut Q::Key, deadline: u64) -> bool {
        self.0.reschedule(key, deadline)
    }

    leave_to!(0 of u32);
}
