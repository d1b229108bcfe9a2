//! What expired here, and how late: what the demo and the tests count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::limits::{MESSAGE, MOST_REMEMBERED, MOST_REMEMBERED_BYTES};
use crate::types::NodeId;

/// A key that expired, as one node saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    pub key: String,
    /// The index of the entry that set its TTL.
    pub index: u64,
    pub by: NodeId,
    /// When its TTL was over by the time of the cluster, in milliseconds.
    pub due_ms: u64,
    /// When it was applied here by the wall clock, in microseconds.
    pub at_us: u64,
}

/// The latest expiries on this node since it was started, numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct History {
    latest: VecDeque<Expired>,
    bytes: usize,
    forgotten: u64,
}

impl History {
    pub(crate) fn add(&mut self, expired: Expired) {
        self.bytes += expired.key.len();
        self.latest.push_back(expired);
        while self.latest.len() > MOST_REMEMBERED || self.bytes > MOST_REMEMBERED_BYTES {
            let Some(oldest) = self.latest.pop_front() else {
                break;
            };
            self.bytes -= oldest.key.len();
            self.forgotten += 1;
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.forgotten + self.latest.len() as u64
    }

    /// The number of the first expiry remembered from this one on, and as many as one message holds.
    pub(crate) fn since(&self, number: u64) -> (u64, Vec<Expired>) {
        let skipped = number.saturating_sub(self.forgotten);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let told = self.latest.iter().skip(skipped).take_while(|expired| {
            let is_first = bytes == 0;
            bytes += expired.key.len() + 32; // and its numbers
            is_first || bytes <= MESSAGE
        });
        (number.max(self.forgotten), told.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_forgets_the_oldest_and_keeps_count() {
        let mut history = History::default();
        let expired = |length| Expired { key: "k".repeat(length), index: 1, by: 1, due_ms: 0, at_us: 0 };
        for _ in 0..=MOST_REMEMBERED {
            history.add(expired(1));
        }
        assert_eq!(history.len(), MOST_REMEMBERED as u64 + 1);
        assert_eq!(history.since(0).0, 1);
        assert_eq!(history.since(7).1.len(), MESSAGE / 33);
        assert_eq!(history.since(MOST_REMEMBERED as u64).1.len(), 1);
        assert!(history.since(u64::MAX).1.is_empty());
        history.add(expired(MOST_REMEMBERED_BYTES));
        assert_eq!(history.latest.len(), 1);
        assert_eq!(history.bytes, MOST_REMEMBERED_BYTES);
    }
}
