//! What both queues promise, of tokio-util's.

use tokio_util::time::delay_queue::{self, DelayQueue, Expired, Key};

#[path = "shared/behaviour.rs"]
mod behaviour;
#[path = "shared/signatures.rs"]
mod signatures;
#[path = "shared/transcript.rs"]
pub(crate) mod transcript;
