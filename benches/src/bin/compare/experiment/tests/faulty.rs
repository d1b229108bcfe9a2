//! An exact queue that can be made to go wrong.

use std::marker::PhantomData;

use timer_wheel_bench::btree::{BTreeKey, BTreeQueue};
use timer_wheel_bench::queue::{
    Budgeted, Cancel, Instalment, Ordered, Pop, Promise, Queue, Reschedule, Wakes, Work,
};

/// How a queue goes wrong.
pub(super) trait Fault {
    /// The time to which the queue advances when asked for `now`.
    fn distort_now(now: u64) -> u64 {
        now
    }
    fn distort_value(value: u32) -> u32 {
        value
    }
    fn distort_deadline(deadline: u64, _value: u32) -> u64 {
        deadline
    }
    fn clear(queue: &mut BTreeQueue<u32>) {
        queue.clear();
    }
}

/// An exact queue with a fault put in.
pub(super) struct Faulty<F> {
    queue: BTreeQueue<u32>,
    fault: PhantomData<F>,
}

impl<F: Fault> Queue for Faulty<F> {
    const NAME: &'static str = "faulty";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::FiresOnly;
    type Key = BTreeKey;

    fn new(now: u64) -> Self {
        Self {
            queue: BTreeQueue::new(now),
            fault: PhantomData,
        }
    }

    fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
        let deadline = F::distort_deadline(deadline, value);
        self.queue.schedule(deadline, F::distort_value(value))
    }

    fn advance(&mut self, now: u64, fire: impl FnMut(u64, u32)) {
        self.queue.advance(F::distort_now(now), fire);
    }
}

impl<F: Fault> Cancel for Faulty<F> {
    fn cancel(&mut self, key: BTreeKey) -> Option<u32> {
        self.queue.cancel(key)
    }
}

impl<F: Fault> Reschedule for Faulty<F> {
    fn reschedule(&mut self, key: &mut BTreeKey, deadline: u64) -> bool {
        self.queue.reschedule(key, deadline)
    }
}

impl<F: Fault> Pop for Faulty<F> {
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.queue.pop_first()
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        self.queue.pop_expired(F::distort_now(now))
    }

    fn clear(&mut self) {
        F::clear(&mut self.queue);
    }
}

impl<F: Fault> Budgeted for Faulty<F> {
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        fire: impl FnMut(u64, u32),
    ) -> Instalment {
        Instalment::of_pops(&mut self.queue, F::distort_now(now), budget, fire)
    }
}

impl<F: Fault> Wakes for Faulty<F> {
    fn next_wake(&self) -> Option<u64> {
        self.queue.next_wake().map(F::distort_now)
    }
}

/// Fires a copy of itself to see the order, with its fault.
impl<F: Fault> Ordered for Faulty<F> {
    fn ascending(&self) -> impl Iterator<Item = u32> {
        self.listed().into_iter()
    }

    fn descending(&self) -> impl Iterator<Item = u32> {
        self.listed().into_iter().rev()
    }
}

impl<F: Fault> Faulty<F> {
    fn listed(&self) -> Vec<u32> {
        let mut copy = self.queue.clone();
        let mut listed = Vec::new();
        copy.advance(u64::MAX, |_, value| listed.push(F::distort_value(value)));
        listed
    }
}

pub(super) struct NoFault;
impl Fault for NoFault {}

pub(super) struct Late;
impl Fault for Late {
    fn distort_now(now: u64) -> u64 {
        now.saturating_sub(3 << 20)
    }
}

pub(super) struct Early;
impl Fault for Early {
    fn distort_now(now: u64) -> u64 {
        now.saturating_add(3 << 20)
    }
}

pub(super) struct HoursLate;
impl Fault for HoursLate {
    fn distort_now(now: u64) -> u64 {
        now + (10 << 40)
    }
}

pub(super) struct Forgetful;
impl Fault for Forgetful {
    fn distort_value(value: u32) -> u32 {
        value & !1
    }
}

/// Keeps what it should forget.
pub(super) struct Tenacious;
impl Fault for Tenacious {
    fn clear(_queue: &mut BTreeQueue<u32>) {}
}

/// Yields equals in another order than they came.
pub(super) struct Unfair;
impl Fault for Unfair {
    fn distort_deadline(deadline: u64, value: u32) -> u64 {
        deadline - u64::from(value % 2)
    }
}
