//! What both queues promise, of tokio-util's.

use tokio_util::time::delay_queue::{self, DelayQueue, Expired, Key};

#[path = "both.rs"]
pub(crate) mod both;
