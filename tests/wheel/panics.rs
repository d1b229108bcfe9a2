//! Panics in the caller's code leave the wheel valid, and every value is dropped exactly once.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use timer_wheel::{Budget, Compact, Geometry, Millis, TimerKey, Wheel};

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
        Value { number, ledger: Rc::clone(self) }
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
    /// Nothing is due, and every timer is in one of two lanes.
    Lanes,
}

const STATES: [State; 4] = [State::Fresh, State::HalfFired, State::Backlog, State::Lanes];

/// Timers ever scheduled in a prepared wheel.
const COUNT: u64 = 60;

/// A wheel in a state, at its clock; what fired on the way there is dropped.
fn prepared<G: Geometry>(state: State) -> (Wheel<Value, G>, Rc<Ledger>, Vec<TimerKey>) {
    let ledger = Rc::new(Ledger::default());
    let spans = spans::<G>();
    let mut wheel = Wheel::with_geometry(spans[0] / 3);
    let lanes = [wheel.add_lane(), wheel.add_lane()];
    let keys: Vec<TimerKey> = (0..COUNT)
        .map(|number| {
            let span = spans[number as usize % 5];
            let deadline = wheel.now() + 2 * span + number;
            match state {
                State::Lanes => wheel.schedule_in(lanes[number as usize % 2], spans[1] + number, ledger.value(number)),
                _ => wheel.schedule(deadline, ledger.value(number)),
            }
        })
        .collect();
    for key in [keys[4], keys[17], keys[33]] {
        // Some have their entries where their old time is.
        let later = wheel.deadline(key).expect("it lives") + spans[1];
        assert!(wheel.reschedule(key, later));
    }
    let far = wheel.now() + 3 * spans[3];
    match state {
        State::Fresh | State::Lanes => {}
        State::HalfFired => assert_eq!(wheel.advance(far).take(20).count(), 20),
        State::Backlog => {
            wheel.advance_with_budget(far, &mut Budget::of_work(30)).for_each(drop);
            assert!(wheel.has_backlog());
        }
    }
    (wheel, ledger, keys)
}

/// The wheel is whole, and all that is left fires in order.
fn check_rest<G: Geometry>(wheel: &mut Wheel<Value, G>) {
    wheel.check_invariants();
    let expected: Vec<u64> = wheel.ascending().map(|timer| timer.value.number).collect();
    assert_eq!(expected.len(), wheel.len());
    let fired: Vec<u64> = wheel.advance(u64::MAX).map(|item| item.value.number).collect();
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
fn panic_between_peeks_leaves_that_timer_due() {
    fn check<G: Geometry>(state: State, mut budget: Budget) {
        let (mut wheel, ledger, _) = prepared::<G>(state);
        let order: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        let mut calls = 0;
        panicking(|| {
            while let Some(timer) = wheel.peek_expired_with_budget(u64::MAX, &mut budget) {
                assert_eq!(timer.key(), order[calls]);
                calls += 1;
                // Neither the first nor the last: others went both ways before.
                match calls {
                    9 => panic!("with {} of {} in hand", timer.get().number, timer.deadline()),
                    nth if nth % 3 == 0 => timer.rearm(u64::MAX),
                    _ => drop(timer.remove()),
                }
            }
        });
        assert_eq!(calls, 9);
        wheel.check_invariants();
        // Removed were 1, 2, 4, 5, 7 and 8.
        assert_eq!(wheel.len(), order.len() - 6);
        assert!(wheel.contains(order[8]), "the timer in hand is lost");
        assert_eq!(wheel.expiration_delay(), Some(0));
        let first = wheel.ascending().next().expect("timers live").key;
        assert_eq!(first, order[8], "it is no longer the first");
        let item = wheel.advance(u64::MAX).next().expect("it is still due");
        assert_eq!(item.key, order[8]);
        drop(item);
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
    for state in STATES {
        for budget in [Budget::unlimited(), Budget::of_work(100_000)] {
            check::<Millis>(state, budget);
            check::<Compact>(state, budget);
            check::<TinyTick>(state, budget);
        }
    }
}

#[test]
fn panic_in_retain_keeps_what_was_not_answered_for() {
    for state in STATES {
        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let (live, mut asked) = (wheel.len(), 0);
        panicking(|| {
            wheel.retain(|_, _, _| {
                asked += 1;
                assert_ne!(asked, 10, "no answer");
                asked % 2 == 0
            });
        });
        assert_eq!(wheel.len(), live - 5);
        check_rest(&mut wheel);
        ledger.assert_each_once(COUNT);
    }
}

/// Something that takes values out of a wheel, given the keys of all that ever were in it.
type Way<G> = fn(&mut Wheel<Value, G>, &[TimerKey]);

/// In every way in which values leave, and whichever of them panics when it is dropped.
#[test]
fn values_leaving_in_every_way_are_dropped_once_and_one_that_panics_leaves_the_rest() {
    fn check<G: Geometry>(state: State) {
        let ways: [Way<G>; 12] = [
            |wheel, _| wheel.clear(),
            |wheel, _| drop(wheel.drain()),
            |wheel, _| drop(wheel.drain().take(3).collect::<Vec<_>>()),
            |wheel, _| wheel.advance(u64::MAX).for_each(drop),
            |wheel, _| drop(wheel.advance(u64::MAX).take(3).collect::<Vec<_>>()),
            |wheel, _| wheel.advance_with_budget(u64::MAX, &mut Budget::of_work(90)).for_each(drop),
            |wheel, _| while wheel.advance(u64::MAX).next().is_some() {},
            |wheel, _| while wheel.pop_first().is_some() {},
            |wheel, _| {
                while let Some(timer) = wheel.peek_expired(u64::MAX) {
                    drop(timer.remove());
                }
            },
            |wheel, keys| keys.iter().for_each(|&key| drop(wheel.cancel(key))),
            |wheel, _| wheel.retain(|_, _, value| value.number % 7 == 0),
            |wheel, _| drop(std::mem::take(wheel)),
        ];
        for (nth, way) in ways.into_iter().enumerate() {
            for fuse in (0..COUNT).step_by(6).map(Some).chain([None]) {
                let (mut wheel, ledger, keys) = prepared::<G>(state);
                let is_live = wheel.iter().any(|timer| Some(timer.value.number) == fuse);
                ledger.fuse.set(fuse.filter(|_| is_live));
                let left = catch_unwind(AssertUnwindSafe(|| way(&mut wheel, &keys)));
                let went_off = is_live && ledger.fuse.take().is_none();
                assert_eq!(left.is_err(), went_off, "value {fuse:?}");
                assert!(nth > 1 || wheel.is_empty(), "what is to drop all goes on after a panic");
                let dropped = ledger.dropped();
                assert_eq!(dropped.len() + wheel.len(), COUNT as usize);
                let stale = |key: &&TimerKey| !wheel.contains(**key);
                assert_eq!(keys.iter().filter(stale).count(), dropped.len());
                check_rest(&mut wheel);
                ledger.assert_each_once(COUNT);
            }
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
        let (mut wheel, ledger, _) = prepared::<Millis>(state);
        let before = wheel.len();
        let mut advance = wheel.advance(u64::MAX);
        let taken = advance.next().expect("all are due").key;
        std::mem::forget(advance);
        assert_eq!((wheel.len(), wheel.contains(taken)), (before - 1, false));
        wheel.check_invariants();
        let mut drain = wheel.drain();
        let taken = drain.next().expect("timers live").key;
        std::mem::forget(drain);
        assert!(!wheel.contains(taken));
        wheel.schedule(7, ledger.value(COUNT));
        check_rest(&mut wheel);
        drop(wheel);
        let dropped = ledger.dropped();
        let is_once = |pair: &[u64]| pair[0] < pair[1];
        assert!(dropped.windows(2).all(is_once), "dropped twice");
    }
}
