//! That right answers become figures, and that wrong ones do not.

use std::marker::PhantomData;

use timer_wheel_bench::btree::{BTreeKey, BTreeQueue};

use super::{budgeted, burst, churn, expire, fill, longest, refresh};
use crate::answer::Promise;
use crate::subject::{Budgeted, Cancel, Instalment, Queue, Reschedule, Work};

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
