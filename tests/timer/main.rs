//! The thread driver against its promises, on a clock that the tests move: no test sleeps, and
//! none asserts how long something took.

#![cfg(feature = "timer")]

mod awaiting;
mod broken_clock;
#[path = "../wheel/bytes.rs"]
mod bytes;
mod cancel;
mod clocks;
mod contract;
#[path = "../wheel/drawn.rs"]
mod drawn;
mod hand;
mod hostile;
mod keyed;
mod log;
mod misuse;
mod nosy;
#[path = "../wheel/numbers.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod numbers;
mod order;
mod panics;
mod periodic;
mod random;
mod reset;
mod shards;
mod shutdown;
mod slack;
mod sleep;
mod soak;
mod stats;
mod wakes;
