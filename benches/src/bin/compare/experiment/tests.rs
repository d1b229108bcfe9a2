//! That right answers become figures, and that wrong ones do not.

mod faulty;

use timer_wheel_bench::btree::{BTreeKey, BTreeQueue};
use timer_wheel_bench::queue::{Cancel, Promise, Queue, Work};

use super::{
    budgeted, burst, caffeine, churn, evict, expire, far, fill, hold, idle, longest, memory, moves,
    pause, peak, refresh, server, small, wake,
};
use crate::figure::{CANCELLED_BYTES, CHURN_BYTES, FRESH_BYTES, MOVES};

use faulty::{Early, Faulty, Forgetful, HoursLate, Late, NoFault, Tenacious, Unfair};

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
    assert!(pause::measure::<Exact>(&pause::Input::new(N)).is_ok());
    assert!(hold::measure::<Exact>(&hold::Input::new(N)).is_ok());
    assert!(small::measure::<Exact>(&small::Input::new(N)).is_ok());
    assert!(small::weigh::<Exact>(&small::Input::new(N)).is_ok());
    assert!(evict::measure::<Exact>(&evict::Input::new(N)).is_ok());
    assert!(far::measure::<Exact>(&far::Input::new(N)).is_ok());
    assert!(peak::measure::<Exact>(&peak::Input::new(N)).is_ok());
    assert!(server::measure::<Exact>(&server::Input::new(N)).is_ok());
}

#[test]
fn timers_that_begin_again_are_refused_late_and_with_wrong_values() {
    let input = pause::Input::new(N);
    assert!(pause::measure::<Faulty<Late>>(&input).is_err());
    assert!(pause::measure::<Faulty<Forgetful>>(&input).is_err());
    let input = small::Input::new(N);
    assert!(small::measure::<Faulty<Late>>(&input).is_err());
    assert!(small::weigh::<Faulty<Forgetful>>(&input).is_err());
    let input = server::Input::new(N);
    assert!(server::measure::<Faulty<Late>>(&input).is_err());
    assert!(server::measure::<Faulty<Early>>(&input).is_err());
    assert!(server::measure::<Faulty<Forgetful>>(&input).is_err());
}

#[test]
fn other_first_timers_are_refused() {
    assert!(hold::measure::<Faulty<Unfair>>(&hold::Input::new(N)).is_err());
    assert!(evict::measure::<Faulty<Unfair>>(&evict::Input::new(N)).is_err());
    assert!(evict::measure::<Faulty<HoursLate>>(&evict::Input::new(N)).is_err());
    assert!(far::measure::<Faulty<Late>>(&far::Input::new(N)).is_err());
}

#[test]
fn peak_with_wrong_values_or_not_cleared_is_refused() {
    let input = peak::Input::new(N);
    assert!(peak::measure::<Faulty<Forgetful>>(&input).is_err());
    assert!(peak::measure::<Faulty<Tenacious>>(&input).is_err());
}

#[test]
fn late_answers_are_allowed_to_whom_promises_no_more() {
    /// Promises what the one that it is made of does not keep.
    struct Tardy(Faulty<Late>);

    impl Queue for Tardy {
        const NAME: &'static str = "tardy";
        const PROMISE: Promise = Promise::Late;
        const WORK: Work = Work::FiresOnly;
        type Key = BTreeKey;

        fn new(now: u64) -> Self {
            Self(Queue::new(now))
        }

        fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
            self.0.schedule(deadline, value)
        }

        fn advance(&mut self, now: u64, fire: impl FnMut(u64, u32)) {
            self.0.advance(now, fire);
        }
    }

    impl Cancel for Tardy {
        fn cancel(&mut self, key: BTreeKey) -> Option<u32> {
            self.0.cancel(key)
        }
    }

    assert!(server::measure::<Tardy>(&server::Input::new(N)).is_ok());
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

        fn new(now: u64) -> Self {
            Self(BTreeQueue::new(now))
        }

        fn schedule(&mut self, deadline: u64, value: u32) -> BTreeKey {
            self.0.schedule(deadline, value)
        }

        fn advance(&mut self, now: u64, fire: impl FnMut(u64, u32)) {
            self.0.advance(now, fire);
        }

        fn advance_counting(&mut self, now: u64, fire: impl FnMut(u64, u32)) -> usize {
            3 * self.0.advance_counting(now, fire) + 1
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
