//! Sleeps and timeouts of a local timer allocate nothing once the wheel has room, and give all back.
//!
//! A program of its own without the harness of tests, as the counts are those of the whole process.

use std::alloc::System;
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timer_wheel::Budget;
use timer_wheel::local::{LocalTimer, TurnClock};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SLEEPS: u64 = 1_000;
const MS: Duration = Duration::from_millis(1);

/// Sleeps that are reset and fire, and timeouts that are dropped.
fn round(timer: &LocalTimer<TurnClock>) {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..SLEEPS {
        let mut sleep = pin!(timer.sleep(MS));
        let mut timeout = pin!(timer.timeout(MS, pending::<()>()));
        assert!(sleep.as_mut().poll(&mut context).is_pending() && timeout.as_mut().poll(&mut context).is_pending());
        let now = timer.clock().now() + 2_000_000;
        sleep.reset(now);
        timer.clock().set(now);
        assert_eq!(timer.fire(now, &mut Budget::of_fires(2)), 2);
        assert!(sleep.poll(&mut context).is_ready() && timeout.poll(&mut context).is_ready());
        let dropped = pin!(timer.timeout(MS, pending::<()>()));
        assert!(dropped.poll(&mut context).is_pending());
    }
    assert!(timer.is_empty());
}

fn main() {
    let all = Region::new(ALLOCATOR);
    let timer = LocalTimer::new(TurnClock::new());
    round(&timer);
    let region = Region::new(ALLOCATOR);
    round(&timer);
    let asked = region.change();
    assert_eq!((asked.allocations, asked.reallocations), (0, 0), "for {} futures", 3 * SLEEPS);
    drop(timer);
    let change = all.change();
    assert_eq!(change.bytes_allocated, change.bytes_deallocated, "nothing stays");
}
