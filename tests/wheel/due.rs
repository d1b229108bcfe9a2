//! A due timer is looked at, changed, removed or kept where it is, and a loop or a callback stops when
//! it has had enough.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use timer_wheel::{Budget, Geometry, TimerKey, Verdict, Wheel};

use crate::script::spans;

/// Timers on every level, equal deadlines among them, some postponed and one cancelled.
fn mixed<G: Geometry>() -> (Wheel<u64, G>, Vec<TimerKey>) {
    let spans = spans::<G>();
    let mut wheel = Wheel::with_geometry(spans[0] / 3);
    let keys: Vec<TimerKey> = (0..200_u64)
        .map(|n| wheel.schedule(spans[n as usize % 5].saturating_mul(1 + n % 3), n))
        .collect();
    for (nth, key) in keys.iter().step_by(7).enumerate() {
        assert!(wheel.reschedule(*key, spans[nth % 5].saturating_mul(3)));
    }
    assert!(wheel.cancel(keys[11]).is_some());
    (wheel, keys)
}

/// To look changes nothing: not what fires, not its order, however often it is done.
#[test]
fn due_timer_that_is_dropped_stays_due() {
    fn check<G: Geometry>() {
        let (mut wheel, _) = mixed::<G>();
        let order: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        for &key in &order {
            for _ in 0..3 {
                let timer = wheel.peek_expired(u64::MAX).expect("all are due");
                assert_eq!(timer.key(), key);
            }
            assert_eq!((wheel.has_backlog(), wheel.contains(key)), (true, true));
            wheel.check_invariants();
            assert_eq!(wheel.pop_expired(0).map(|item| item.key), Some(key));
        }
        assert!(wheel.peek_expired(u64::MAX).is_none());
    }
    in_every_geometry!(check);
}

#[test]
fn nothing_is_shown_before_its_time() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    assert!(wheel.peek_expired(u64::MAX / 2).is_none());
    let now = wheel.now();
    assert_eq!(now, u64::MAX / 2, "the clock moves all the same");
    wheel.schedule(now + 10, 1);
    assert!(wheel.peek_expired(now + 9).is_none());
    assert!(wheel.peek_expired(0).is_none(), "nor backwards");
    assert!(!wheel.has_backlog());
    assert_eq!(
        wheel.peek_expired(now + 10).map(|timer| timer.deadline()),
        Some(now + 10)
    );
}

/// Trap: what is kept under an equal deadline takes its place behind the others, as if rescheduled.
#[test]
fn rearmed_timer_goes_behind_its_equals() {
    let mut wheel: Wheel<char> = Wheel::new(0);
    for value in ['a', 'b', 'c'] {
        wheel.schedule(50, value);
    }
    let first = wheel.peek_expired(60).expect("it is due");
    let (key, deadline) = (first.key(), first.deadline());
    first.rearm(deadline);
    assert!(wheel.contains(key), "the key is the same");
    let fired: String = wheel.advance(60).map(|timer| timer.value).collect();
    assert_eq!(fired, "bca");
}

/// Trap: user code between two timers cancels the successor, schedules into the same moment, and goes on.
#[test]
fn wheel_can_be_used_between_two_due_timers() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..5).map(|n| wheel.schedule(10, n)).collect();
    let mut seen = Vec::new();
    while let Some(timer) = wheel.peek_expired(10) {
        let value = timer.remove().value;
        seen.push(value);
        match value {
            0 => assert_eq!(wheel.cancel(keys[1]), Some(1)),
            2 => assert!(wheel.reschedule(keys[3], 11)),
            4 => _ = wheel.schedule(0, 99),
            _ => {}
        }
        wheel.check_invariants();
    }
    assert_eq!(seen, [0, 2, 4, 99]);
    assert_eq!(wheel.next_deadline(), Some(11));
}

#[test]
fn panic_with_a_due_timer_in_hand_leaves_it_due() {
    fn check<G: Geometry>() {
        let (mut wheel, _) = mixed::<G>();
        let order: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        let mut taken = 0;
        for _ in 0..20 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                loop {
                    let mut timer = wheel.peek_expired(u64::MAX).expect("all are due");
                    assert_eq!(timer.key(), order[taken]);
                    *timer.get_mut() += 1_000;
                    if *timer.get() < 2_000 && taken % 5 == 4 {
                        std::panic::resume_unwind(Box::new(()));
                    }
                    timer.remove();
                    taken += 1;
                }
            }));
            assert!(caught.is_err());
            wheel.check_invariants();
            assert_eq!(wheel.len(), order.len() - taken, "a timer is lost");
        }
        assert_eq!(taken, 99, "every fifth was tried again");
    }
    in_every_geometry!(check);
}

/// A value that panics when it is dropped.
struct Bomb(Rc<Cell<u32>>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(self.0.get() != 2, "the second goes off");
    }
}

#[test]
fn removed_value_with_panicking_drop_leaves_the_rest() {
    let dropped = Rc::new(Cell::new(0));
    let mut wheel: Wheel<Bomb> = Wheel::new(0);
    (0..4).for_each(|_| _ = wheel.schedule(10, Bomb(Rc::clone(&dropped))));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        while let Some(timer) = wheel.peek_expired(10) {
            drop(timer.remove());
        }
    }));
    assert!(caught.is_err());
    wheel.check_invariants();
    assert_eq!((wheel.len(), dropped.get()), (2, 2));
    drop(wheel);
    assert_eq!(dropped.get(), 4);
}

/// What stops a call is left due, and counts for nothing: neither as fired nor in the budget.
#[test]
fn stop_leaves_the_timer_due_and_unpaid() {
    fn check<G: Geometry>() {
        let (mut wheel, _) = mixed::<G>();
        let order: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
        for (nth, &key) in order.iter().enumerate() {
            let mut asked = 0;
            let budget = Budget::UNLIMITED.with_fires(2);
            let progress = wheel.advance_with(u64::MAX, budget, |at, _, _| {
                asked += 1;
                assert_eq!(at, order[nth + asked - 1]);
                match asked {
                    1 if nth + 1 < order.len() => Verdict::Remove,
                    _ => Verdict::Stop,
                }
            });
            let is_last = nth + 1 == order.len();
            assert_eq!(progress.fired, usize::from(!is_last));
            assert_eq!(wheel.contains(key), is_last);
            assert!(progress.has_backlog, "what stopped it is due");
            assert_eq!(wheel.expiration_delay(), Some(0));
            wheel.check_invariants();
        }
        assert_eq!(wheel.len(), 1);
    }
    in_every_geometry!(check);
}

#[test]
fn stopped_call_leaves_the_rest_of_its_budget() {
    let mut wheel: Wheel<u32> = Wheel::new(0);
    (0..10).for_each(|n| _ = wheel.schedule(10, n));
    let progress = wheel.advance_with(10, 100, |_, _, value| match *value {
        3 => Verdict::Stop,
        _ => Verdict::Remove,
    });
    assert_eq!((progress.fired, progress.unused), (3, 97));
    let progress = wheel.advance_with(10, 100, |_, _, _| Verdict::Stop);
    assert_eq!((progress.fired, progress.unused, wheel.len()), (0, 100, 7));
    // With no fires to spend nobody is asked.
    let none = Budget::UNLIMITED.with_fires(0);
    let progress = wheel.advance_with(10, none, |_, _, _| panic!("asked"));
    assert_eq!((progress.fired, progress.has_backlog), (0, true));
}
