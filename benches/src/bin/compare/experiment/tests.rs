//! That right answers become figures, and that wrong ones do not.

use std::marker::PhantomData;

use timer_wheel_bench::btree::{BTreeKey, BTreeQueue};

use super::{
    budgeted, burst, caffeine, churn, expire, fill, idle, longest, memory, moves, refresh, wake,
};
use crate::answer::Promise;
use crate::figure::{CANCELLED_BYTES, CHURN_BYTES, FRESH_BYTES, MOVES};
use crate::subject::{Budgeted, Cancel, Instalment, Ordered, Queue, Reschedule, Wakes, Work};

/// How a queue goes wrong.
trait Fault {
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
}

/// An exact queue with a fault put in.
struct Faulty<F> {
    queue: BTreeQueue<u32>,
    fault: PhantomData<F>,
}

impl<F: Fault> Queue for Faulty<F> {
    const NAME: &'static str = "faulty";
    const PROMISE: Promise = Promise::FirstComeFirstServed;
    const WORK: Work = Work::FiresOnly;
    type Key = BTreeKey;

    fn new() -> Self {
        Self {
            queue: BTreeQueue::new(0),
            fault: PhantomData,
        }
    }

    fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
        let deadline = F::distort_deadline(deadline, value);
        self.queue.schedule(deadline, F::distort_value(value))
    }

    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        self.queue
            .advance(F::distort_now(now), |_, value| fire(value));
    }
}

impl<F: Fault> Cancel for Faulty<F> {
    fn cancel(&mut self, key: BTreeKey) -> Option<u32> {
        self.queue.cancel(key)
    }
}

impl<F: Fault> Reschedule for Faulty<F> {
    fn reschedule(&mut self, key: &mut BTreeKey, deadline: u64) -> bool {
        self.queue.reschedule(*key, deadline)
    }
}

impl<F: Fault> Budgeted for Faulty<F> {
    fn advance_with_budget(
        &mut self,
        now: u64,
        budget: usize,
        mut fire: impl FnMut(u32),
    ) -> Instalment {
        for used in 0..budget {
            let Some((_, value)) = self.queue.pop_expired(F::distort_now(now)) else {
                return Instalment {
                    used,
                    has_backlog: false,
                };
            };
            fire(value);
        }
        Instalment {
            used: budget,
            has_backlog: true,
        }
    }
}

impl<F: Fault> Wakes for Faulty<F> {
    fn next_wake(&self) -> Option<u64> {
        self.queue.next_wake().map(F::distort_now)
    }
}

/// Fires a copy of itself to see the order, with its fault.
impl<F: Fault> Ordered for Faulty<F> {
    fn ascending(&self, visit: impl FnMut(u32)) {
        self.listed().into_iter().for_each(visit);
    }

    fn descending(&self, visit: impl FnMut(u32)) {
        self.listed().into_iter().rev().for_each(visit);
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

struct NoFault;
impl Fault for NoFault {}

struct Late;
impl Fault for Late {
    fn distort_now(now: u64) -> u64 {
        now.saturating_sub(3 << 20)
    }
}

struct Early;
impl Fault for Early {
    fn distort_now(now: u64) -> u64 {
        now.saturating_add(3 << 20)
    }
}

struct HoursLate;
impl Fault for HoursLate {
    fn distort_now(now: u64) -> u64 {
        now + (10 << 40)
    }
}

struct Forgetful;
impl Fault for Forgetful {
    fn distort_value(value: u32) -> u32 {
        value & !1
    }
}

/// Yields equals in another order than they came.
struct Unfair;
impl Fault for Unfair {
    fn distort_deadline(deadline: u64, value: u32) -> u64 {
        deadline - u64::from(value % 2)
    }
}

const N: usize = 1_000;

#[test]
fn right_answers_become_figures() {
    type Exact = Faulty<NoFault>;
    assert_eq!(
        fill::measure::<Exact>(&fill::Input::new(N)).unwrap().len(),
        3
    );
    assert!(expire::measure::<Exact>(&expire::Input::new(N)).is_ok());
    assert!(expire::measure::<Exact>(&expire::Input::jumping(N)).is_ok());
    assert!(churn::measure::<Exact>(&churn::Input::new(N)).is_ok());
    assert!(refresh::measure::<Exact>(&refresh::Input::new(N)).is_ok());
    assert!(longest::measure::<Exact>(&longest::Input::new(N)).is_ok());
    assert!(budgeted::measure::<Exact>(&longest::Input::new(N)).is_ok());
    assert!(burst::measure::<Exact>(&burst::Input::new(N)).is_ok());
    assert!(burst::measure_budgeted::<Exact>(&burst::Input::new(N)).is_ok());
    assert!(wake::measure::<Exact>(&wake::Input::new()).is_ok());
    assert!(idle::measure::<Exact>(&idle::Input::new()).is_ok());
    let input = caffeine::Input::new();
    assert!(caffeine::measure_reschedule::<Exact>(&input).is_ok());
    assert!(caffeine::measure_expire::<Exact>(&input).is_ok());
    assert!(caffeine::measure_wake::<Exact>(&input).is_ok());
    assert!(caffeine::measure_order::<Exact>(&input).is_ok());
}

#[test]
fn late_wake_ups_are_refused() {
    // The fault that fires too early is the one that names a time too late.
    assert!(wake::measure::<Faulty<Early>>(&wake::Input::new()).is_err());
    assert!(idle::measure::<Faulty<Late>>(&idle::Input::new()).is_err());
}

#[test]
fn caffeines_shapes_refuse_wrong_answers() {
    let input = caffeine::Input::new();
    assert!(caffeine::measure_reschedule::<Faulty<Forgetful>>(&input).is_err());
    assert!(caffeine::measure_expire::<Faulty<Forgetful>>(&input).is_err());
    assert!(caffeine::measure_order::<Faulty<Forgetful>>(&input).is_err());
    assert!(caffeine::measure_wake::<Faulty<HoursLate>>(&input).is_err());
}

#[test]
fn memory_is_weighed_by_the_timer() {
    type Exact = Faulty<NoFault>;
    let samples = memory::measure::<Exact>(&memory::Input::new(N)).unwrap();
    let bytes = |figure| {
        let found = samples.iter().find(|sample| sample.figure == figure);
        found.unwrap().value
    };
    // A slot of 32 bytes and a place in the order of 24, in nodes that are half full or better; the
    // emptied order is freed and the slots are not.
    assert!((56.0..150.0).contains(&bytes(FRESH_BYTES)));
    assert!((32.0..bytes(FRESH_BYTES)).contains(&bytes(CANCELLED_BYTES)));
    assert!(bytes(CHURN_BYTES) >= 56.0);
}

#[test]
fn moves_are_those_of_one_set_of_timers() {
    /// Handles what fires, moves every timer twice, and opens as many buckets whatever they hold.
    struct Moving(BTreeQueue<u32>);

    impl Queue for Moving {
        const NAME: &'static str = "moving";
        const PROMISE: Promise = Promise::FirstComeFirstServed;
        const WORK: Work = Work::Counted;
        type Key = BTreeKey;

        fn new() -> Self {
            Self(BTreeQueue::new(0))
        }

        fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
            self.0.schedule(deadline, value)
        }

        fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
            self.0.advance(now, |_, value| fire(value));
        }

        fn advance_counting(&mut self, now: u64, mut fire: impl FnMut(u32)) -> usize {
            let mut fired = 0;
            self.0.advance(now, |_, value| {
                fired += 1;
                fire(value);
            });
            3 * fired + 1
        }
    }

    let samples = moves::measure::<Moving>(&expire::Input::new(N)).unwrap();
    assert_eq!((samples[0].figure, samples[0].value), (MOVES, 2.0));
}

#[test]
fn late_and_early_answers_are_refused() {
    let input = expire::Input::new(N);
    assert!(expire::measure::<Faulty<Late>>(&input).is_err());
    assert!(expire::measure::<Faulty<Early>>(&input).is_err());
    let input = burst::Input::new(N);
    assert!(burst::measure::<Faulty<Late>>(&input).is_err());
}

#[test]
fn wrong_values_are_refused() {
    assert!(fill::measure::<Faulty<Forgetful>>(&fill::Input::new(N)).is_err());
    assert!(churn::measure::<Faulty<Forgetful>>(&churn::Input::new(N)).is_err());
    assert!(refresh::measure::<Faulty<Forgetful>>(&refresh::Input::new(N)).is_err());
}

#[test]
fn equals_out_of_turn_are_refused() {
    assert!(burst::measure::<Faulty<Unfair>>(&burst::Input::new(N)).is_err());
    assert!(churn::measure::<Faulty<Unfair>>(&churn::Input::new(N)).is_err());
}
