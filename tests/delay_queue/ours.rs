//! What both queues promise, of this crate's.

use timer_wheel::delay_queue::{self, DelayQueue, Expired, Key};

#[path = "both.rs"]
pub(crate) mod both;
