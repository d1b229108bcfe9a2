//! What expired here, and how late: what the demo and the tests count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::limits::{MESSAGE, MOST_REMEMBERED};
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

impl Expired {
    /// About how many bytes it takes, here and in a message.
    fn bytes(&self) -> usize {
        self.key.len() + 32
    }
}

impl History {
    pub(crate) fn add(&mut self, expired: Expired) {
        self.bytes += expired.bytes();
        self.latest.push_back(expired);
        while self.bytes > MOST_REMEMBERED
            && let Some(oldest) = self.latest.pop_front()
        {
            self.bytes -= oldest.bytes();
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
            bytes += expired.bytes();
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
        let most = MOST_REMEMBERED as u64 / 64;
        (0..=most).for_each(|_| history.add(expired(32)));
        assert_eq!((history.len(), history.since(0).0), (most + 1, 1));
        assert_eq!(history.since(7).1.len(), MESSAGE / 64);
        assert_eq!(history.since(most).1.len(), 1);
        assert!(history.since(u64::MAX).1.is_empty());
        history.add(expired(MOST_REMEMBERED - 32));
        assert_eq!((history.latest.len(), history.bytes), (1, MOST_REMEMBERED));
    }
}
