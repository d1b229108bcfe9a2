//! What both queues promise, of tokio-util's.

use tokio_util::time::{DelayQueue, delay_queue};

#[path = "shared/behaviour.rs"]
mod behaviour;
#[path = "shared/signatures.rs"]
mod signatures;
#[path = "shared/transcript.rs"]
pub(crate) mod transcript;
