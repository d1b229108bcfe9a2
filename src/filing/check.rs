//! The laws of the filing, checked by name.

use alloc::vec::Vec;

use crate::filing::blocks::{Entry, Sentinel};
use crate::filing::card::{Card, Cards};
use crate::filing::{Filing, NEVER, NO_BUCKET};
use crate::geometry::{BucketIndex, Geometry, Layout, Placement};
use crate::key::SlotIndex;

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
        let mut stale = 0;
        for index in 0..self.lists.len() {
            let bucket = BucketIndex::new(index as u16);
            let list = self.lists[index];
            let slots = self.check_bucket(cards, bucket, &mut blocks);
            assert!(
                slots.len() == list.live as usize,
                "a list counts its timers"
            );
            found += slots.len();
            stale += list.stale.count();
            postponed += slots
                .into_iter()
                .filter(|&slot| cards.card(slot).is_postponed())
                .count();
        }
        assert!(stale == self.stale, "stale entries are counted");
        assert!(
            blocks == self.blocks.len(),
            "every block in use belongs to exactly one list"
        );
        self.blocks.check_spares();
        self.due.check(cards, |slot| {
            let card = cards.card(slot);
            assert!(!card.is_postponed(), "no timer of the due run is postponed");
            found += 1;
        });
        assert!(
            found == live && found == cards.filed().count(),
            "every live timer has an entry where it is looked for"
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
        self.check_clock(cards);
    }

    /// Checks the laws of a list, counts its blocks, and gives the slots of its timers.
    fn check_bucket<C: Cards>(
        &self,
        cards: &C,
        bucket: BucketIndex,
        blocks: &mut usize,
    ) -> Vec<SlotIndex> {
        let list: Sentinel = self.lists[bucket.get()];
        let kind = Self::kind(bucket);
        let mut slots = Vec::new();
        *blocks += self.blocks.check_list(list, |entry| {
            let card = cards.card(entry.slot);
            if card.owns(entry, kind) {
                assert!(
                    self.bucket_of(card.filed()) == bucket,
                    "a timer is looked for where its entry is"
                );
                self.check_entry(card, entry, bucket);
                slots.push(entry.slot);
            }
        });
        // Entries that look alike count once.
        slots.sort_unstable();
        slots.dedup();
        assert!(
            list.is_empty() || list.live != 0,
            "a list without timers has no entries"
        );
        assert!(
            list.is_empty()
                || !Self::OVERFLOW.contains(&bucket)
                || bucket == self.overflow
                || bucket == self.opened,
            "the spare overflow bucket is empty unless it is being emptied"
        );
        if Layout::<G>::is_on_level(bucket) {
            let (level, digit) = Layout::<G>::level_and_digit(bucket);
            assert!(
                self.occupancy.is_set(level, digit) != list.is_empty(),
                "an occupancy bit is set if and only if its bucket holds timers"
            );
        }
        slots
    }

    /// Checks what holds for a timer and its entry, in the bucket where it is.
    fn check_entry(&self, card: &Card, entry: Entry, bucket: BucketIndex) {
        let tick = Layout::<G>::tick(card.deadline);
        if bucket == Self::ARRIVALS {
            assert!(
                card.deadline >= self.arrivals_floor,
                "no arrival is due before the arrivals' floor"
            );
            assert!(
                card.is_postponed() || tick <= self.cursor,
                "an arrival is of the cursor's tick or before it"
            );
            return;
        }
        assert!(
            card.is_postponed() || entry.tick == tick.low(),
            "an entry carries its timer's tick, unless the timer is postponed"
        );
        if bucket == self.opened {
            if Layout::<G>::is_on_level(bucket) {
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
            matches!(
                Layout::<G>::place(filed, self.cursor),
                Placement::Bucket(placed, _) if placed == bucket
            ),
            "an entry is in the bucket of its tick's highest digit that differs"
        );
        assert!(
            filed <= tick,
            "no entry is filed later than its timer is due"
        );
    }

    fn check_clock<C: Cards>(&self, cards: &C) {
        if self.opened != NO_BUCKET {
            assert!(
                self.opened != Self::ARRIVALS,
                "only buckets of the levels and the overflow are opened"
            );
            assert!(
                self.lists[self.opened.get()].live != 0,
                "the opened bucket holds timers"
            );
        }
        assert!(
            self.cursor <= Layout::<G>::tick(self.now),
            "the cursor does not run ahead of the clock"
        );
        let first = self.first_bucket().map_or(NEVER, |(start, _)| start);
        assert!(
            self.opened != NO_BUCKET || self.first_start <= first,
            "no bucket is due before the first start"
        );
        assert!(
            self.wake <= self.earliest_work(cards).unwrap_or(NEVER).max(self.now),
            "the wake-up is no later than the next work"
        );
        let arrivals = self.lists[Self::ARRIVALS.get()];
        assert!(
            !arrivals.is_empty() || self.arrivals_floor == NEVER,
            "no arrivals, no floor"
        );
        let overflow = self.lists[self.overflow.get()];
        assert!(
            !overflow.is_empty() || self.overflow_floor == NEVER,
            "no overflow, no floor"
        );
    }
}
