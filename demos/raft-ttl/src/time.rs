//! The clocks of a node, and when it received which entry of the log.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use timer_wheel::clock::{Clock as _, SystemClock};

const NS_PER_MS: u64 = 1_000_000;

/// Where the monotonic clock of a node begins: 146 years after its origin. A TTL may have begun long
/// before the process did, and at an origin of 0 that would be cut off, and the TTL run again.
const HEAD_START_NS: u64 = 1 << 62;

/// The monotonic clock of a node and the wall clock of its machine, and the receipts of entries.
#[derive(Debug, Default)]
pub struct Clock {
    monotonic: SystemClock,
    /// When entries of the log were received that have not been applied, by index.
    received: Mutex<BTreeMap<u64, u64>>,
}

impl Clock {
    /// The time of the monotonic clock, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        HEAD_START_NS.saturating_add(self.monotonic.now())
    }

    /// When a TTL began that began at `wall_ms`, by the monotonic clock: what is left for entries of
    /// which nobody knows when they were received.
    pub fn moment_of(&self, wall_ms: u64) -> u64 {
        let elapsed_ms = wall_ms_now().saturating_sub(wall_ms);
        self.now_ns()
            .saturating_sub(elapsed_ms.saturating_mul(NS_PER_MS))
    }

    /// Takes down that entries were received now.
    pub(crate) fn receive(&self, indexes: impl Iterator<Item = u64>) {
        let now_ns = self.now_ns();
        self.with_received(|received| received.extend(indexes.map(|index| (index, now_ns))));
    }

    /// When an entry was received, for the one who applies it; `None` in a replay.
    pub(crate) fn received(&self, index: u64) -> Option<u64> {
        self.with_received(|received| received.remove(&index))
    }

    /// Forgets all entries up to this one: a snapshot took their place.
    pub(crate) fn forget_up_to(&self, index: u64) {
        self.with_received(|received| *received = received.split_off(&index.saturating_add(1)));
    }

    /// Forgets all entries from this one on: they are not in the log any more.
    pub(crate) fn forget_from(&self, index: u64) {
        self.with_received(|received| drop(received.split_off(&index)));
    }

    fn with_received<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, u64>) -> T) -> T {
        // No change of it can be half done.
        change(&mut self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The wall clock in whole milliseconds, rounded down.
pub fn wall_ms_now() -> u64 {
    wall_us_now() / 1_000
}

/// The wall clock in milliseconds, rounded up: for the beginning of a TTL, lest it end early.
pub fn wall_ms_stamp() -> u64 {
    wall_us_now().div_ceil(1_000)
}

/// The wall clock in microseconds.
pub fn wall_us_now() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_that_began_before_the_process_is_not_cut_off() {
        let clock = Clock::default();
        let hour_ago = wall_ms_now() - 3_600_000;
        let began_ns = clock.moment_of(hour_ago);
        let elapsed_ns = clock.now_ns() - began_ns;
        assert!((3_600_000 * NS_PER_MS..3_700_000 * NS_PER_MS).contains(&elapsed_ns));
    }

    #[test]
    fn receipt_is_handed_out_once_and_forgotten_with_its_entry() {
        let clock = Clock::default();
        clock.receive(1..=6);
        assert!(clock.received(1).is_some());
        assert_eq!(clock.received(1), None);
        clock.forget_up_to(3);
        clock.forget_from(5);
        let known: Vec<u64> = (1..=6)
            .filter(|&index| clock.received(index).is_some())
            .collect();
        assert_eq!(known, [4]);
    }
}
