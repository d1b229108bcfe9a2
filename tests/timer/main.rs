//! The thread driver against its promises, on a clock that the tests move: no test sleeps, and
//! none asserts how long something took.

#![cfg(feature = "timer")]

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
mod broken_clock;
#[path = "../wheel/bytes.rs"]
mod bytes;
mod cancel;
mod clocks;
mod executor;
mod fuse;
mod futures;
mod keyed;
mod limit;
mod log;
#[path = "../wheel/model.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod model;
mod panics;
mod periodic;
mod random;
mod reentrancy;
#[path = "../wheel/rng.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod rng;
mod shards;
mod shutdown;
mod slack;
mod sleep;
mod soak;
mod start;
mod stats;
mod wake_ups;
