//! The wheel for indexes of one's own.

use timer_wheel::Geometry;
use timer_wheel::Millis;
use timer_wheel::index::IndexWheel;

use super::Need::{self, Budget, List, Work};
use super::{Order, Queue};

/// An index wheel; a timer's key is its index, which is its value.
#[derive(Debug)]
pub struct Indexed<G: Geometry = Millis>(IndexWheel<G>);

impl<G: Geometry> Queue for Indexed<G> {
    const NAME: &'static str = "index-wheel";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[List, Budget, Work];
    type Key = u32;

    fn new(now: u64) -> Self {
        Self(IndexWheel::with_geometry(now))
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.set(value, deadline);
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        while let Some((deadline, index)) = self.pop_expired(now) {
            fire(deadline, index);
        }
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.cancel(key).then_some(key)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        self.0.set(*key, deadline);
        true
    }

    #[inline]
    fn next_wake(&self) -> Option<u64> {
        let delay = self.0.expiration_delay()?;
        Some(self.0.now().saturating_add(delay))
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop_first().map(|first| (first.deadline, first.index))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let due = self.0.pop_expired(now)?;
        Some((due.deadline, due.index))
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
