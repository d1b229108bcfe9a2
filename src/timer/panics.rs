//! Swallowed panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`, and swallows its panic. A report of a panic may panic, and so may the drop of a payload.
pub(super) fn swallow_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping the payload could panic again and again.
        std::mem::forget(payload);
    }
}
