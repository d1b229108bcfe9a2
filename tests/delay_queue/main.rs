//! The delay queue: against tokio-util's in what both promise, against a model in what only this
//! one does, and the wake-ups of the task that waits for it.
//!
//! What both promise is one source, compiled twice: `ours` and `theirs` differ in their `use` line.
//!
//! Every test runs on a paused clock. `model`, `pair`, `rig` and `script` need nothing but `std`,
//! tokio and the crate, so that the fuzz target can include them by path.

#![cfg(feature = "tokio")]
#![allow(
    clippy::duplicate_mod,
    reason = "what both queues promise is compiled for each of them"
)]

mod model;
mod pair;
mod rig;
mod script;

mod ours;
mod theirs;

mod burst;
mod deadlines;
mod fused;
mod keys;
mod random;
mod side_by_side;
mod wake_ups;
