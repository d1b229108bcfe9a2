//! Panics in the caller's code leave the wheel valid, and every value is dropped exactly once.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use timer_wheel::{Compact, Geometry, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::TinyTick;
use crate::script::spans;

/// Who was dropped, and who panics when it is.
#[derive(Default)]
struct Ledger {
    dropped: RefCell<Vec<u64>>,
    fuse: Cell<Option<u64>>,
}

/// A value that tells of its end.
struct Value {
    number: u64,
    ledger: Rc<Ledger>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.ledger.dropped.borrow_mut().push(self.number);
        if self.ledger.fuse.get() == Some(self.number) {
            self.ledger.fuse.set(None);
            panic!("value {} panics in its drop", self.number);
        }
    }
}

impl Ledger {
    fn value(self: &Rc<Self>, number: u64) -> Value {
        Value {
            number,
            ledger: Rc::clone(self),
        }
    }

    fn dropped(&self) -> Vec<u64> {
        let mut dropped = self.dropped.borrow().clone();
        dropped.sort_unstable();
        dropped
    }

    #[track_caller]
    fn assert_each_once(&self, count: u64) {
        let all: Vec<u64> = (0..count).collect();
        assert_eq!(self.dropped(), all, "each value is dropped once");
    }
}

/// What the wheel is in the middle of when something happens to it.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing is due, and timers wait on every level.
    Fresh,
    /// Half of what is due was taken.
    HalfFired,
    /// A budget ran out in a cascade.
    Backlog,
}

const STATES: [State; 3] = [State::Fresh, State::HalfFired, State::Backlog];

/// Timers ever scheduled in a prepared wheel.
const COUNT: u64 = 60;

/// A wheel in a state, at its clock; what fired on the way there is dropped.
fn prepared<G: Geometry>(state: State) -> (Wheel<Value, G>, Rc<Ledger>, Vec<TimerKey>) {
    let ledger = Rc::new(Ledger::default());
    let spans = spans::<G>();
    let mut wheel = Wheel::with_geometry(spans[0] / 3);
    let keys: Vec<TimerKey> = (0..COUNT)
        .map(|number| {
            let span = spans[number as usize % 5];
            let deadline = wheel.now() + 2 * span + number;
            wheel.schedule(deadline, ledger.value(number))
        })
        .collect();
    for key in [keys[4], keys[17], keys[33]] {
        // Some have their entries where their old time is.
        let later = wheel.deadline(key).expect("it lives") + spans[1];
        assert!(wheel.reschedule(key, later));
    }
    let far = wheel.now() + 3 * spans[3];
    match state {
        State::Fresh => {}
        State::HalfFired => assert_eq!(wheel.advance(far).take(20).count(), 20),
        State::Backlog => {
            let mut advance = wheel.advance_with_budget(far, 30);
            while advance.next().is_some() {}
            assert!(advance.has_backlog());
        }
    }
    (wheel, ledger, keys)
}

/// The wheel is whole, and all that is left fires in order.
fn check_rest<G: Geometry>(wheel: &mut Wheel<Value, G>) {
    wheel.check_invariants();
    let expected: Vec<u64> = wheel.ascending().map(|timer| timer.value.number).collect();
    assert_eq!(expected.len(), wheel.len());
    let fired: Vec<u64> = wheel
        .advance(u64::MAX)
        .map(|item| item.value.number)
        .collect();
    assert_eq!(fired, expected);
    assert!(wheel.is_empty());
    wheel.check_invariants();
}

/// Runs something that panics.
#[track_caller]
fn panicking(run: impl FnOnce()) {
    let result = catch_unwind(AssertUnwindSafe(run));
    assert!(result.is_err(), "nothing panicked");
}

#[test]
fn advance_with_panic_between_items_keeps_the_rest() {
    fn check<G: Geometry>() {
        for state in STATES {
            let (mut wheel, ledger, _) = prepared::<G>(state);
            let before = wheel.len();
            panicking(|| {
                for (nth, item) in wheel.advance(u64::MAX).enumerate() {
                    assert!(nth < 7, "value {} is one too many", item.value.number);
                }
            });
            assert_eq!(wheel.len(), before - 8, "the eighth was given away already");
            check_rest(&mut wheel);
            ledger.assert_each_once(COUNT);
        }
    }
    check::<Millis>();
    check::<Compact>();
    check::<TinyTick>();
}

#[test]
fn advance_with_panic_in_the_answer_leaves_that_timer_due() {
    fn check<G: Geometry>(state: State, budget: usize) {
        let (mut wheel, ledger, _) = prepared::<G>(state);
        let order: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        let mut calls = 0;
        panicking(|| {
            wheel.advance_with(u64::MAX, budget, |key, deadline, value| {
                assert_eq!(key, order[calls]);
                calls += 1;
                // Neither the first nor the last: others went both ways before.
                match calls {
                    9 => panic!("no answer for {} at {deadline}", value.number),
                    nth if nth % 3 == 0 => Verdict::Rearm(u64::MAX),
                    _ => Verdict::Remove,
                }
            });
        });
        assert_eq!(calls, 9);
        wheel.check_invariants();
        // Removed were 1, 2, 4, 5, 7 and 8.
        assert_eq!(wheel.len(), order.len() - 6);
        assert!(
            wheel.contains(order[8]),
            "the timer without an answer is lost"
        );
        assert_eq!(wheel.expiration_delay(), Some(0));
        let first = wheel.ascending().next().expect("timers live").key;
        assert_eq!(first, order[8], "it is no longer the first");
        let item = wheel.pop_expired(u64::MAX).expect("it is still due");
        assert_eq!(item.key, order[8]);
        drop(item);
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
    for state in STATES {
        for budget in [usize::MAX, 100_000] {
            check::<Millis>(state, budget);
            check::<Compact>(state, budget);
            check::<TinyTick>(state, budget);
        }
    }
}

#[test]
fn panic_in_the_answer_every_time_loses_nothing() {
    let (mut wheel, ledger, _) = prepared::<Millis>(State::HalfFired);
    let before = wheel.len();
    for _ in 0..50 {
        panicking(|| {
            wheel.advance_with(u64::MAX, 1_000, |_, _, _| panic!("never an answer"));
        });
        assert_eq!(wheel.len(), before);
        wheel.check_invariants();
    }
    check_rest(&mut wheel);
    ledger.assert_each_once(COUNT);
}

#[test]
fn removal_with_panicking_drop_leaves_the_wheel_valid() {
    for state in STATES {
        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let order: Vec<u64> = wheel.ascending().map(|timer| timer.value.number).collect();
        ledger.fuse.set(Some(order[4]));
        panicking(|| {
            wheel.advance_with(u64::MAX, usize::MAX, |_, _, _| Verdict::Remove);
        });
        wheel.check_invariants();
        assert_eq!(wheel.len(), order.len() - 5, "five were removed");
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
}

#[test]
fn fired_value_with_panicking_drop_leaves_the_rest() {
    for state in STATES {
        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let order: Vec<u64> = wheel.ascending().map(|timer| timer.value.number).collect();
        ledger.fuse.set(Some(order[2]));
        panicking(|| wheel.advance(u64::MAX).for_each(drop));
        assert_eq!(wheel.len(), order.len() - 3);
        wheel.check_invariants();
        ledger.fuse.set(Some(order[3]));
        panicking(|| drop(wheel.pop_expired(u64::MAX)));
        assert_eq!(wheel.len(), order.len() - 4);
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
}

#[test]
fn cancelled_value_with_panicking_drop_is_gone() {
    for state in STATES {
        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let keys: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        for key in keys.into_iter().step_by(5) {
            let number = wheel.get(key).expect("it lives").number;
            ledger.fuse.set(Some(number));
            panicking(|| drop(wheel.cancel(key)));
            assert!(!wheel.contains(key));
            wheel.check_invariants();
        }
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
}

#[test]
fn clear_with_panicking_drop_leaves_the_wheel_valid() {
    for state in STATES {
        let (mut wheel, ledger, keys) = prepared::<Millis>(state);
        ledger.fuse.set(Some(57));
        panicking(|| wheel.clear());
        wheel.check_invariants();
        // Whatever was not dropped is still there, or goes with the wheel; nothing goes twice.
        wheel.clear();
        assert!(wheel.is_empty());
        assert!(keys.iter().all(|&key| wheel.cancel(key).is_none()));
        wheel.schedule(5, ledger.value(COUNT));
        check_rest(&mut wheel);
        drop(wheel);
        ledger.assert_each_once(COUNT + 1);
    }
}

#[test]
fn drain_with_panicking_drop_leaves_the_wheel_valid() {
    for state in STATES {
        for taken in [0, 1, 10, usize::MAX] {
            let (mut wheel, ledger, keys) = prepared::<Millis>(state);
            ledger.fuse.set(Some(58));
            panicking(|| drop(wheel.drain().take(taken).collect::<Vec<_>>()));
            wheel.check_invariants();
            wheel.clear();
            assert!(keys.iter().all(|&key| !wheel.contains(key)));
            wheel.schedule(5, ledger.value(COUNT));
            check_rest(&mut wheel);
            drop(wheel);
            ledger.assert_each_once(COUNT + 1);
        }
    }
}

#[test]
fn dropped_wheel_with_panicking_drop_drops_the_others() {
    for state in STATES {
        let (wheel, ledger, _) = prepared::<Millis>(state);
        ledger.fuse.set(Some(59));
        panicking(|| drop(wheel));
        ledger.assert_each_once(COUNT);
    }
}

#[test]
fn refused_value_is_handed_back_and_dropped_once() {
    let ledger = Rc::new(Ledger::default());
    let mut wheel: Wheel<Value> = Wheel::new(0);
    wheel.set_limit(1);
    assert!(wheel.try_schedule(1, ledger.value(0)).is_ok());
    match wheel.try_schedule(1, ledger.value(1)) {
        Ok(_) => panic!("past the limit"),
        Err(full) => assert_eq!(full.0.number, 1),
    }
    assert_eq!(ledger.dropped(), [1]);
    drop(wheel);
    ledger.assert_each_once(2);
}

/// Something that takes values out of a wheel, given the keys of all that ever were in it.
type Way<G> = fn(&mut Wheel<Value, G>, &[TimerKey]);

#[test]
fn values_leaving_in_every_way_are_dropped_once() {
    fn check<G: Geometry>(state: State) {
        let ways: [Way<G>; 10] = [
            |wheel, _| wheel.clear(),
            |wheel, _| drop(wheel.drain()),
            |wheel, _| drop(wheel.drain().take(3).collect::<Vec<_>>()),
            |wheel, _| wheel.advance(u64::MAX).for_each(drop),
            |wheel, _| drop(wheel.advance(u64::MAX).take(3).collect::<Vec<_>>()),
            |wheel, _| wheel.advance_with_budget(u64::MAX, 90).for_each(drop),
            |wheel, _| {
                wheel.advance_with(u64::MAX, usize::MAX, |_, _, _| Verdict::Remove);
            },
            |wheel, _| while wheel.pop_expired(u64::MAX).is_some() {},
            |wheel, keys| keys.iter().for_each(|&key| drop(wheel.cancel(key))),
            |wheel, keys| {
                for &key in keys {
                    wheel.reschedule(key, 0);
                }
                wheel.shrink_to_fit();
            },
        ];
        for way in ways {
            let (mut wheel, ledger, keys) = prepared::<G>(state);
            way(&mut wheel, &keys);
            wheel.check_invariants();
            assert_eq!(ledger.dropped().len() + wheel.len(), COUNT as usize);
            drop(wheel);
            ledger.assert_each_once(COUNT);
        }
    }
    for state in STATES {
        check::<Millis>(state);
        check::<TinyTick>(state);
    }
}

/// A forgotten iterator may leak what it holds. The wheel stays whole, and nothing comes twice.
#[test]
#[allow(
    clippy::forget_non_drop,
    reason = "whether the iterators do anything when dropped is not for this test to know"
)]
fn forgotten_iterators_leave_the_wheel_valid() {
    for state in STATES {
        let (mut wheel, _, _) = prepared::<Millis>(state);
        let before = wheel.len();
        let mut advance = wheel.advance(u64::MAX);
        let taken = advance.next().expect("all are due").key;
        std::mem::forget(advance);
        assert_eq!(wheel.len(), before - 1);
        assert!(!wheel.contains(taken));
        wheel.check_invariants();
        check_rest(&mut wheel);

        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let mut drain = wheel.drain();
        let taken = drain.next().expect("timers live").key;
        std::mem::forget(drain);
        assert!(!wheel.contains(taken));
        wheel.check_invariants();
        wheel.schedule(7, ledger.value(COUNT));
        check_rest(&mut wheel);
        drop(wheel);
        let dropped = ledger.dropped();
        assert!(
            dropped.windows(2).all(|pair| pair[0] < pair[1]),
            "dropped twice"
        );
    }
}
