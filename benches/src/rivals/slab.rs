//! A bare slab: what storing and finding the values costs when nothing is ever due. It is the limit, not a queue.

use slab::Slab;

use crate::queue::Need::{self, Clear, Fire, First};
use crate::queue::{Order, Queue};

#[derive(Clone, Debug)]
pub struct BareSlab(Slab<u32>);

impl Queue for BareSlab {
    const NAME: &'static str = "slab";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Fire, Clear, First];
    type Key = u32;

    #[inline]
    fn new(_now: u64) -> Self {
        Self(Slab::new())
    }

    #[inline]
    fn schedule(&mut self, _deadline: u64, value: u32) -> u32 {
        self.0.insert(value) as u32
    }

    #[inline]
    fn advance(&mut self, _now: u64, _fire: impl FnMut(u64, u32)) {}

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.try_remove(key as usize)
    }

    /// Touches the entry: the deadline's low half takes the place of the value.
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let Some(value) = self.0.get_mut(*key as usize) else {
            return false;
        };
        *value = deadline as u32;
        true
    }
}
