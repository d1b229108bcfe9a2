//! A binary heap from the standard library: it can schedule and fire, and nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::queue::Need::{self, Cancel, Move};
use crate::queue::{Order, Queue};

#[derive(Clone, Debug)]
pub struct Heap(BinaryHeap<Reverse<(u64, u32)>>);

impl Queue for Heap {
    const NAME: &'static str = "heap";
    const ORDER: Order = Order::Deadline;
    const LACKS: &'static [Need] = &[Cancel, Move];
    type Key = ();

    #[inline]
    fn new(_now: u64) -> Self {
        Self(BinaryHeap::new())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) {
        self.0.push(Reverse((deadline, value)));
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop().map(|Reverse(first)| first)
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let &Reverse((deadline, _)) = self.0.peek()?;
        if deadline > now {
            return None;
        }
        self.pop_first()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
