//! The laws of the filing, checked by name.

use alloc::vec::Vec;

use crate::filing::blocks::Sentinel;
use crate::filing::card::{Cards, NOWHERE};
use crate::filing::{Filing, NEVER};
use crate::geometry::{BucketIndex, Geometry, Layout, Placement};

impl<G: Geometry> Filing<G> {
    /// Checks every law of the filing against the cards of the `live` timers. O(n + buckets).
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<C: Cards>(&self, cards: &C, live: usize) {
        let mut found = 0;
        let mut postponed = 0;
        let mut blocks = 0;
        for index in 0..self.buckets.len() {
            let bucket = BucketIndex::new(index as u16);
            let (list_blocks, list_found, list_postponed) = self.check_bucket(cards, bucket);
            blocks += list_blocks;
            found += list_found;
            postponed += list_postponed;
        }
        assert!(
            blocks == self.blocks.len(),
            "every block in use belongs to exactly one list"
        );
        self.due.check(cards, |deadline, order, slot| {
            let card = cards.card(slot);
            assert!(
                (card.deadline, card.order()) == (deadline, order),
                "an entry of the due run has its timer's deadline and order"
            );
            assert!(!card.is_postponed(), "no timer of the due run is postponed");
            assert!(
                Layout::<G>::tick(deadline) <= self.cursor,
                "the due run holds nothing behind the cursor's tick"
            );
            found += 1;
        });
        assert!(
            found == live && found == cards.filed().count(),
            "every live timer has exactly one entry"
        );
        assert!(
            postponed == self.postponed(),
            "postponed timers are counted"
        );
        let mut sequences: Vec<u64> = cards
            .filed()
            .map(|slot| cards.card(slot).order().sequence())
            .collect();
        sequences.sort_unstable();
        assert!(
            sequences.is_sorted_by(|a, b| a < b)
                && sequences
                    .last()
                    .is_none_or(|&last| last < self.next_sequence),
            "no two timers share a sequence number, and none has one to come"
        );
        self.check_clock();
    }

    fn check_bucket<C: Cards>(&self, cards: &C, bucket: BucketIndex) -> (usize, usize, usize) {
        let list: Sentinel = self.buckets[bucket.get()];
        let mut found = 0;
        let mut postponed = 0;
        let blocks = self.blocks.check_list(list, |entry, location| {
            found += 1;
            let card = cards.card(entry.slot);
            assert!(
                card.bucket == bucket && card.location == location,
                "a filed timer knows where its entry is"
            );
            postponed += usize::from(card.is_postponed());
            if bucket == Self::ARRIVALS {
                assert!(
                    card.deadline >= self.arrivals_floor,
                    "no arrival is due before the arrivals' floor"
                );
                assert!(
                    card.is_postponed() || Layout::<G>::tick(card.deadline) <= self.cursor,
                    "an arrival is of the cursor's tick or before it"
                );
                return;
            }
            let tick = Layout::<G>::tick(card.deadline);
            assert!(
                card.is_postponed() || entry.tick == tick.low(),
                "an entry carries its timer's tick, unless the timer is postponed"
            );
            if bucket == self.opened {
                if bucket.get() < Layout::<G>::BUCKETS {
                    let (level, digit) = Layout::<G>::level_and_digit(bucket);
                    assert!(
                        Layout::<G>::bucket_start(level, digit, self.cursor) == self.cursor
                            && Layout::<G>::in_rotation(entry.tick, self.cursor) >= self.cursor,
                        "the cursor is at the start of the opened bucket"
                    );
                }
                return;
            }
            if bucket == self.overflow {
                assert!(
                    card.deadline >= self.overflow_floor,
                    "no timer of the overflow is due before its floor"
                );
                assert!(
                    Layout::<G>::place(tick, self.cursor) == Placement::Overflow,
                    "the overflow holds only later rotations"
                );
                return;
            }
            let filed = Layout::<G>::in_rotation(entry.tick, self.cursor);
            assert!(
                filed > self.cursor,
                "nothing on the levels lies before the cursor"
            );
            assert!(
                Layout::<G>::place(filed, self.cursor) == Placement::Bucket(bucket),
                "an entry is in the bucket of its tick's highest digit that differs"
            );
            assert!(
                filed <= tick,
                "no entry is filed later than its timer is due"
            );
        });
        assert!(
            list.is_empty()
                || bucket != Self::OVERFLOW[0] && bucket != Self::OVERFLOW[1]
                || bucket == self.overflow
                || bucket == self.opened,
            "the spare overflow bucket is empty unless it is being emptied"
        );
        if bucket.get() < Layout::<G>::BUCKETS {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            assert!(
                self.occupancy.is_set(level, digit) != list.is_empty(),
                "an occupancy bit is set if and only if its bucket holds entries"
            );
        }
        (blocks, found, postponed)
    }

    fn check_clock(&self) {
        if self.opened != NOWHERE {
            let index = self.opened.get();
            assert!(
                index < Layout::<G>::BUCKETS + Self::OVERFLOW.len(),
                "only buckets of the levels and the overflow are opened"
            );
            assert!(
                !self.buckets[index].is_empty(),
                "the opened bucket holds entries"
            );
        }
        assert!(
            self.cursor <= Layout::<G>::tick(self.now),
            "the cursor does not run ahead of the clock"
        );
        assert!(
            self.wake <= self.earliest_work().unwrap_or(NEVER).max(self.now),
            "the wake-up is no later than the next work"
        );
        let arrivals = self.buckets[Self::ARRIVALS.get()];
        assert!(
            !arrivals.is_empty() || self.arrivals_floor == NEVER,
            "no arrivals, no floor"
        );
        let overflow = self.buckets[self.overflow.get()];
        assert!(
            !overflow.is_empty() || self.overflow_floor == NEVER,
            "no overflow, no floor"
        );
    }
}
