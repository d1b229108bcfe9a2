//! Events for `tracing`, and panics that are swallowed.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables))]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Emits an event under the crate's target, and swallows a panic of a listener, such as one that prints to a closed
/// output.
macro_rules! tell {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        swallow_panic(|| tracing::event!(target: "timer_wheel", $($event)*))
    };
}

pub(super) fn started() {
    tell!(tracing::Level::DEBUG, "timer started");
}

pub(super) fn stopped(unrun: usize) {
    tell!(tracing::Level::DEBUG, unrun, "timer stopped");
}

pub(super) fn late(lateness_ns: u64, threshold_ns: u64) {
    let lateness = Duration::from_nanos(lateness_ns);
    let threshold = Duration::from_nanos(threshold_ns);
    tell!(tracing::Level::WARN, ?lateness, ?threshold, "job is late");
}

pub(super) fn panicked(payload: &(dyn Any + Send)) {
    let reason = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("not a text");
    tell!(tracing::Level::ERROR, reason, "job panicked");
}

/// Runs `f`, and swallows its panic. A report of a panic may panic, and so may the drop of a payload.
pub(super) fn swallow_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping the payload could panic again and again.
        std::mem::forget(payload);
    }
}
