//! The delay queue: against tokio-util's in what both promise, against a model in what only this
//! one does, and the wake-ups of the task that waits for it.
//!
//! What both promise is one source, compiled twice: `ours` and `theirs` differ in their `use` line.
//!
//! Every test runs on a paused clock. `pair`, `rig` and `script` need nothing but `std`, tokio, the crate, and of the
//! wheel's tests `bytes` and the model, so that the fuzz target can include them by path.

#![allow(clippy::duplicate_mod, reason = "what both queues promise is compiled for each of them")]

#[path = "../wheel/bytes.rs"]
mod bytes;
#[path = "../wheel/model.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod model;
mod pair;
mod rig;
mod script;

mod ours;
mod theirs;

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
mod contract;
mod random;
mod wake_ups;
