//! Swallowed panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What reports a panic may panic, and so may what was panicked with when it is dropped.
pub(super) fn swallow_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping it could go on like this for ever.
        std::mem::forget(payload);
    }
}
