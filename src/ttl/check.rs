//! The laws of a queue as a whole, each checked by name.

use core::hash::{BuildHasher, Hash};

use super::TtlQueue;
use super::entry::Role;
use super::item::{NO_ITEM, Place, Wait};
use crate::geometry::Geometry;

impl<K: Hash + Eq, G: Geometry, S: BuildHasher> TtlQueue<K, G, S> {
    /// Checks every law that the structure promises to keep. O(n log n); for tests.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        self.roster.check();
        self.drawn.check();
        self.queue.check(self.roster.slots());
        self.retries.check();
        self.check_places();
        self.check_mark();
        self.check_pending();
    }

    fn check_places(&self) {
        let (mut queued, mut drawn, mut retrying) = (0, 0, 0);
        for (index, item) in self.roster.items() {
            match item.place {
                Place::Queued => queued += 1,
                Place::Drawn(_) => {
                    drawn += 1;
                    assert!(
                        item.rank.deadline_ns <= self.now,
                        "only what is due is drawn"
                    );
                }
            }
            if let Wait::Retry(timer) = item.wait_in(self.epoch) {
                retrying += 1;
                assert_eq!(
                    self.retries.item(timer),
                    Some(index),
                    "a retry is on its wheel"
                );
            }
        }
        assert_eq!(
            queued,
            self.queue.len(),
            "the wheel holds queued entries only"
        );
        assert_eq!(
            drawn,
            self.drawn.len(),
            "the drawn order holds drawn entries only"
        );
        assert_eq!(
            retrying,
            self.retries.len(),
            "the wheel of retries holds retries only"
        );
    }

    fn check_mark(&self) {
        let mark = self.drawn.put_back().map(|(rank, _)| rank);
        for (rank, index) in self.drawn.iter() {
            let item = self.roster.item(index);
            assert_eq!(item.rank, rank, "a drawn entry keeps its rank");
            let waits_for_turn = matches!(item.wait_in(self.epoch), Wait::Turn);
            assert_eq!(
                waits_for_turn,
                mark.is_some_and(|mark| rank >= mark),
                "the mark divides what is of this epoch from what was put back"
            );
        }
    }

    fn check_pending(&self) {
        let mut count = 0;
        let mut previous = NO_ITEM;
        let mut latest = 0;
        let mut next = self.pending.first();
        while let Some(index) = next {
            let Wait::Answer(link) = self.roster.item(index).wait_in(self.epoch) else {
                panic!("the list of pending entries holds pending entries only");
            };
            assert_eq!(link.previous, previous, "pending entries link both ways");
            assert!(
                latest <= link.proposed_ns() && link.proposed_ns() <= self.now,
                "pending entries are in order of their proposals"
            );
            count += 1;
            (previous, latest) = (index, link.proposed_ns());
            next = (link.next != NO_ITEM).then_some(link.next);
        }
        assert_eq!(count, self.pending.len(), "pending entries are counted");
        let is_pending = |wait| matches!(wait, Wait::Answer(_));
        let waits = self.roster.items();
        let pending = waits.filter(|(_, item)| is_pending(item.wait_in(self.epoch)));
        assert_eq!(pending.count(), count, "every pending entry is on the list");
        assert!(
            self.role == Role::Leader || (count == 0 && self.retries.len() == 0),
            "only a leader has proposals out"
        );
    }
}
