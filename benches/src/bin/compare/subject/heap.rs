//! A binary heap from the standard library: it can schedule and fire, and nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Absence, NO_BUDGET, NO_CANCEL, NO_ORDER, PopFirst, Queue, Subject, Wakes, Work};
use crate::answer::Promise;
use crate::experiment::{fill, memory};
use crate::figure;

pub(super) const SUBJECT: Subject = Subject {
    absences: &[
        NO_BUDGET,
        NO_ORDER,
        NO_CANCEL,
        Absence::new(
            figure::OF_CANCELLING,
            "a timer cannot be cancelled or moved",
        ),
    ],
    fill: Some(fill::measure_fresh::<Heap>),
    memory: Some(memory::measure_fresh::<Heap>),
    ..Subject::firing::<Heap, Heap>()
        .waking::<Heap, Heap>()
        .popping::<Heap, Heap>()
        .far::<Heap>()
};

struct Heap(BinaryHeap<Reverse<(u64, u32)>>);

impl Queue for Heap {
    const NAME: &'static str = "heap";
    const PROMISE: Promise = Promise::DeadlineOrder;
    const WORK: Work = Work::FiresOnly;
    type Key = ();

    #[inline]
    fn new() -> Self {
        Self(BinaryHeap::new())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) {
        self.0.push(Reverse((deadline, value)));
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        while self
            .0
            .peek()
            .is_some_and(|&Reverse((deadline, _))| deadline <= now)
        {
            if let Some(Reverse((_, value))) = self.0.pop() {
                fire(value);
            }
        }
    }
}

impl Wakes for Heap {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.0.peek().map(|&Reverse((deadline, _))| deadline)
    }
}

impl PopFirst for Heap {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop().map(|Reverse(first)| first)
    }
}
