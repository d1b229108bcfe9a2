//! The wall clock, which deadlines are measured by.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock of the machine, and for tests how far this process's is ahead of it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    ahead_ms: Arc<AtomicI64>,
}

impl Clock {
    pub fn set_ahead(&self, ms: i64) {
        self.ahead_ms.store(ms, Ordering::Relaxed);
    }

    /// In microseconds since the Unix epoch.
    pub fn now_us(&self) -> u64 {
        let us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64);
        us.saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed) * 1_000)
    }

    /// In whole milliseconds since the Unix epoch, as deadlines are.
    pub fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }
}
