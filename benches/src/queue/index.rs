//! The wheel for indexes of one's own.

use timer_wheel::index::IndexWheel;
use timer_wheel::{Budget, Geometry, Millis};

use super::{Order, Queue};

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

    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    fn advance_with_budget(&mut self, now: u64, budget: &mut Budget, mut fire: impl FnMut(u64, T)) -> bool {
        for due in self.0.advance_with_budget(now, budget) {
            fire(due.deadline, due.index.into());
        }
        self.0.has_backlog()
    }
}
