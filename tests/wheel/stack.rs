//! No call needs much of the stack, whatever a value is: a page of timers is not made there, nor does a sort call itself
//! often.

use std::thread;

use timer_wheel::index::IndexWheel;
use timer_wheel::{Compact, Geometry, Millis, Wheel};

const TIMERS: u64 = 100_000;

/// Runs something on a thread with so little of a stack that a page of large values, or of 1,024 small ones, would not fit.
/// Tests are compiled with optimization.
fn on_small_thread(run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(24 << 10).spawn(run);
    thread.expect("a thread can be started").join().expect("nothing fails");
}

/// Overdue, in one tick in no order, on every level, in every far bucket, and in a crowd with deadlines that agree in
/// most bits.
fn deadline(n: u64) -> u64 {
    match n % 5 {
        0 => n,
        1 => (300 << 20) + n * 7_919 % (1 << 20),
        2 => n << 30,
        3 => 1 << (n % 64),
        _ => (1 << 40) + (1 << (n % 19)),
    }
}

fn use_wheel<T: Clone, G: Geometry>(value: T) {
    let mut wheel: Wheel<T, G> = Wheel::with_geometry(1 << 20);
    for n in 0..TIMERS {
        let key = wheel.schedule(deadline(n), value.clone());
        assert!(n % 3 != 0 || wheel.reschedule(key, deadline(n + 1)));
        assert!(n % 7 != 0 || wheel.cancel(key).is_some());
    }
    assert!(wheel.peek_first().is_some() && wheel.next_deadline().is_some());
    (0..1_000).for_each(|n| _ = wheel.schedule((1 << 20) + n, value.clone()));
    (0..100).for_each(|_| assert!(wheel.pop_first().is_some()));
    wheel.shrink_to_fit();
    let timers = wheel.len();
    let fired: usize = [1 << 29, 1 << 41, u64::MAX].map(|now| wheel.advance(now).count()).iter().sum();
    assert_eq!((fired, wheel.is_empty()), (timers, true));
}

#[test]
fn wheel_of_a_hundred_thousand_timers_is_used_on_a_small_thread() {
    on_small_thread(|| use_wheel::<u32, Millis>(7));
    on_small_thread(|| use_wheel::<[u64; 4], Millis>([7; 4]));
    on_small_thread(|| use_wheel::<[u64; 32], Compact>([7; 32]));
}

#[test]
fn index_wheel_of_a_hundred_thousand_timers_is_used_on_a_small_thread() {
    on_small_thread(|| {
        let mut wheel = IndexWheel::new(0);
        (0..TIMERS).for_each(|n| wheel.set(n as u32, deadline(n)));
        assert!(wheel.peek_first().is_some());
        (0..TIMERS).step_by(3).for_each(|n| wheel.set(n as u32, deadline(n + 1)));
        let fired: usize = [1 << 29, 1 << 41, u64::MAX].map(|now| wheel.advance(now).count()).iter().sum();
        assert_eq!(fired as u64, TIMERS);
    });
}
