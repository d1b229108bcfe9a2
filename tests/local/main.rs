//! The timer for loops with one thread: its futures against a model and against `Timer`, and wakers that use it.

#![cfg(all(feature = "local", feature = "timer"))]

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
#[path = "../wheel/bytes.rs"]
mod bytes;
mod contract;
#[path = "../timer/executor.rs"]
mod executor;
mod like_timer;
#[path = "../wheel/model.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod model;
mod random;
mod reentrancy;
mod world;

use std::time::Duration;

use timer_wheel::Budget;
use timer_wheel::local::{LocalTimer, TurnClock};

const MS: Duration = Duration::from_millis(1);
const MS_NS: u64 = 1_000_000;

fn timer() -> LocalTimer<TurnClock> {
    LocalTimer::new(TurnClock::new())
}

/// A turn of a loop at so many milliseconds.
fn fire(timer: &LocalTimer<TurnClock>, ms: u64) -> usize {
    timer.clock().set(ms * MS_NS);
    timer.fire(ms * MS_NS, &mut Budget::unlimited())
}
