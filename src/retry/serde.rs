//! Storing and loading a retry queue (feature `serde`).
//!
//! The stored form is that of a [`Wheel`], whose values hold the attempts and the end of a pending delivery. So the
//! clock and the keys are stored as well, and damaged input is refused.

use alloc::vec::Vec;

use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{RetryConfig, RetryQueue};
use crate::{TimerKey, Wheel};

impl<T: Serialize> Serialize for RetryQueue<T> {
    /// Stores the clock and every value with its key, attempts and time, but not the settings. O(capacity).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.deliveries.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for RetryQueue<T> {
    /// Loads a queue, with the default settings. Pending deliveries are due at once. O(n log n).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut queue = Self { deliveries: Wheel::deserialize(deserializer)?, config: RetryConfig::default() };
        queue.make_pending_due();
        Ok(queue)
    }
}

impl<T> RetryQueue<T> {
    /// Makes pending deliveries due: their outcomes are unknown.
    fn make_pending_due(&mut self) {
        let now = self.deliveries.now();
        let pending = self.deliveries.ascending().filter(|timer| now < timer.value.pending_until);
        let pending: Vec<TimerKey> = pending.map(|timer| timer.key).collect();
        for key in pending {
            if let Some(delivery) = self.deliveries.get_mut(key) {
                delivery.pending_until = 0;
            }
            self.deliveries.reschedule(key, now);
        }
    }
}
