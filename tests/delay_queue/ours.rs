//! What both queues promise, of this crate's.

use timer_wheel::delay_queue::{self, DelayQueue, Expired, Key};

#[path = "shared/behaviour.rs"]
mod behaviour;
#[path = "shared/signatures.rs"]
mod signatures;
#[path = "shared/transcript.rs"]
pub(crate) mod transcript;
