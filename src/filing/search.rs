//! Looking through the filed timers in the order of time, without disturbing them.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::filing::blocks::Entry;
use crate::filing::card::{Cards, Order};
use crate::filing::{Filing, NO_BUCKET};
use crate::geometry::{BucketIndex, Geometry, Layout, OVERFLOW_LEVEL};
use crate::key::SlotIndex;

/// A part of the filing. In the order of their declaration, every timer of one part that is neither
/// postponed nor brought up early is due before every timer of the next.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The due run and the arrivals.
    Current,
    /// One occupied bucket.
    Bucket { level: usize, digit: usize },
    /// The overflow bucket.
    Overflow,
}

impl<G: Geometry> Filing<G> {
    /// The first part after the given one that may hold timers.
    fn part_after(&self, part: Part) -> Option<Part> {
        let mut next = match part {
            Part::Current => self.occupancy.first(),
            Part::Bucket { level, digit } => self.occupancy.next_after(level, digit),
            Part::Overflow => return None,
        };
        if let Some((level, digit)) = next {
            if Layout::<G>::bucket(level, digit) == self.opened {
                next = self.occupancy.next_after(level, digit);
            }
        }
        match next {
            Some((level, digit)) => Some(Part::Bucket { level, digit }),
            None => self.overflow_part(),
        }
    }

    fn overflow_part(&self) -> Option<Part> {
        let is_empty = self.lists[self.overflow.get()].is_empty();
        (!is_empty).then_some(Part::Overflow)
    }

    /// The last part before the given one, or the last of all.
    fn part_before(&self, part: Option<Part>) -> Option<Part> {
        let mut previous = match part {
            None if self.overflow_part().is_some() => return Some(Part::Overflow),
            None | Some(Part::Overflow) => self.occupancy.last_before(OVERFLOW_LEVEL, 0),
            Some(Part::Bucket { level, digit }) => self.occupancy.last_before(level, digit),
            Some(Part::Current) => return None,
        };
        if let Some((level, digit)) = previous {
            if Layout::<G>::bucket(level, digit) == self.opened {
                previous = self.occupancy.last_before(level, digit);
            }
        }
        match previous {
            Some((level, digit)) => Some(Part::Bucket { level, digit }),
            None => Some(Part::Current),
        }
    }

    /// No timer of the part is due before this time, and every timer of the parts before it that
    /// is neither postponed nor brought up early is.
    fn floor(&self, part: Part) -> u64 {
        match part {
            Part::Current => 0,
            Part::Bucket { level, digit } => self.start_ns(level, digit),
            Part::Overflow => self.overflow_floor,
        }
    }

    /// The list of a part.
    fn list_of(&self, part: Part) -> BucketIndex {
        match part {
            Part::Current => Self::ARRIVALS,
            Part::Bucket { level, digit } => Layout::<G>::bucket(level, digit),
            Part::Overflow => self.overflow,
        }
    }

    /// The timers of a part. Several may be the same.
    fn timers_of<C: Cards>(&self, cards: &C, part: Part) -> impl Iterator<Item = SlotIndex> {
        let due = (part == Part::Current).then(|| self.due.slots(cards));
        let filed = self.entries_of(cards, self.list_of(part));
        due.into_iter()
            .flatten()
            .chain(filed.map(|entry| entry.slot))
    }

    /// The entries of a list that are not stale. Several may look alike.
    fn entries_of<C: Cards>(&self, cards: &C, list: BucketIndex) -> impl Iterator<Item = Entry> {
        let kind = Self::kind(list);
        self.blocks
            .slices(self.lists[list.get()])
            .flatten()
            .copied()
            .filter(move |&entry| cards.card(entry.slot).owns(entry, kind))
    }

    /// The timers of the bucket that is being emptied, if there is one.
    fn opened_timers<C: Cards>(&self, cards: &C) -> impl Iterator<Item = SlotIndex> {
        let list = (self.opened != NO_BUCKET).then_some(self.opened);
        list.into_iter()
            .flat_map(|list| self.entries_of(cards, list))
            .map(|entry| entry.slot)
    }

    /// The deadline of the timer that is due next. See
    /// [`Wheel::next_deadline`](crate::Wheel::next_deadline) for what it costs.
    pub(crate) fn next_deadline<C: Cards>(&self, cards: &C) -> Option<u64> {
        self.next_deadline_within(cards, usize::MAX)
            .expect("a search without a limit comes to its end")
    }

    /// The same, unless that takes a look at more than `most` entries: then `None`.
    pub(crate) fn next_deadline_within<C: Cards>(
        &self,
        cards: &C,
        most: usize,
    ) -> Option<Option<u64>> {
        let mut left = most;
        let mut earliest = None;
        match self.due.head(cards) {
            // The run is sorted: unless its head is stale, there is no need to go through it.
            Some(head) if !self.due.is_stale(cards, head) => earliest = Some(head.deadline),
            Some(_) => {
                left = left.checked_sub(self.due.len())?;
                let slots = self.due.slots(cards);
                earliest = slots.map(|slot| cards.card(slot).deadline).min();
            }
            None => {}
        }
        if self.opened != NO_BUCKET {
            earliest = self.earliest_with(cards, self.opened, earliest, &mut left)?;
        }
        let mut part = Some(Part::Current);
        while let Some(next) = part {
            if earliest.is_some_and(|earliest| earliest <= self.floor(next)) {
                break;
            }
            earliest = self.earliest_with(cards, self.list_of(next), earliest, &mut left)?;
            part = self.part_after(next);
        }
        Some(earliest)
    }

    /// The earliest of a time and the deadlines of a list, unless the list has more than `left`
    /// entries: then `None`.
    fn earliest_with<C: Cards>(
        &self,
        cards: &C,
        list: BucketIndex,
        mut earliest: Option<u64>,
        left: &mut usize,
    ) -> Option<Option<u64>> {
        let sentinel = self.lists[list.get()];
        *left = left.checked_sub(sentinel.entries() as usize)?;
        let kind = Self::kind(list);
        let is_on_level = Layout::<G>::is_on_level(list);
        for &entry in self.blocks.slices(sentinel).flatten() {
            // On the levels an entry tells more or less when it is due. So the cards, each of which
            // lies elsewhere in memory, are looked up only of those that may be the earliest.
            let floor = Layout::<G>::start_ns(Layout::<G>::in_rotation(entry.tick, self.cursor));
            if is_on_level && earliest.is_some_and(|earliest| floor >= earliest) {
                continue;
            }
            let card = cards.card(entry.slot);
            if card.owns(entry, kind) {
                let deadline = card.deadline;
                earliest = Some(earliest.map_or(deadline, |earliest| earliest.min(deadline)));
            }
        }
        Some(earliest)
    }
}

/// A walk through all timers in the order in which they fire.
///
/// It reads a part of the filing when it has used up what comes before it. What it has read and
/// not yet handed out, because it is postponed or belongs to the same bucket, waits in a heap. A
/// timer of which several entries look alive waits there as often, and is handed out once.
pub(crate) struct Ascent {
    waiting: BinaryHeap<Reverse<(u64, Order, SlotIndex)>>,
    unread: Option<Part>,
}

impl Ascent {
    pub(crate) fn new<G: Geometry, C: Cards>(filing: &Filing<G>, cards: &C) -> Self {
        let waiting = filing
            .opened_timers(cards)
            .map(|slot| Reverse(keyed(cards, slot)))
            .collect();
        Self {
            waiting,
            unread: Some(Part::Current),
        }
    }

    pub(crate) fn next<G: Geometry, C: Cards>(
        &mut self,
        filing: &Filing<G>,
        cards: &C,
    ) -> Option<SlotIndex> {
        while let Some(part) = self.unread {
            let floor = filing.floor(part);
            if self
                .waiting
                .peek()
                .is_some_and(|Reverse((deadline, ..))| *deadline < floor)
            {
                break;
            }
            self.waiting.extend(
                filing
                    .timers_of(cards, part)
                    .map(|slot| Reverse(keyed(cards, slot))),
            );
            self.unread = filing.part_after(part);
        }
        let next = self.waiting.pop()?;
        while self.waiting.peek() == Some(&next) {
            self.waiting.pop();
        }
        let Reverse((_, _, slot)) = next;
        Some(slot)
    }
}

/// A walk through all timers in the reverse of the order in which they fire.
///
/// A postponed timer may be later than those of any part behind it, so all of them are read
/// first, and the bucket that is being emptied with them, and the due run if some of it was brought
/// up early; the others part by part.
pub(crate) struct Descent {
    waiting: BinaryHeap<(u64, Order, SlotIndex)>,
    unread: Option<Part>,
    /// The floor of the part that was read last.
    floor: Option<u64>,
    /// Whether the due run has been read.
    has_read_due: bool,
}

impl Descent {
    /// O(timers in the opened bucket and the due run), and O(slots) when there are postponed timers.
    pub(crate) fn new<G: Geometry, C: Cards>(filing: &Filing<G>, cards: &C) -> Self {
        let mut waiting: BinaryHeap<_> = filing
            .opened_timers(cards)
            .map(|slot| keyed(cards, slot))
            .collect();
        if filing.postponed != 0 {
            let is_apart = |slot: &SlotIndex| {
                let card = cards.card(*slot);
                card.is_postponed() && filing.bucket_of(card.filed()) != filing.opened
            };
            waiting.extend(
                cards
                    .filed()
                    .filter(is_apart)
                    .map(|slot| keyed(cards, slot)),
            );
        }
        let cursor = filing.cursor;
        let is_ahead = |latest| Layout::<G>::tick(latest) > cursor;
        let has_read_due = filing.due.latest().is_some_and(is_ahead);
        if has_read_due {
            waiting.extend(filing.due.slots(cards).map(|slot| keyed(cards, slot)));
        }
        Self {
            waiting,
            unread: filing.part_before(None),
            floor: None,
            has_read_due,
        }
    }

    pub(crate) fn next<G: Geometry, C: Cards>(
        &mut self,
        filing: &Filing<G>,
        cards: &C,
    ) -> Option<SlotIndex> {
        while let Some(part) = self.unread {
            // What has not been read lies before the part that was read last.
            let is_last = |(deadline, ..): &(u64, Order, SlotIndex)| {
                self.floor.is_some_and(|floor| *deadline >= floor)
            };
            if self.waiting.peek().is_some_and(is_last) {
                break;
            }
            self.waiting.extend(
                filing
                    .timers_of(cards, part)
                    .filter(|&slot| {
                        let card = cards.card(slot);
                        !(card.is_postponed() || self.has_read_due && card.place.is_due())
                    })
                    .map(|slot| keyed(cards, slot)),
            );
            self.floor = Some(filing.floor(part));
            self.unread = filing.part_before(Some(part));
        }
        let next = self.waiting.pop()?;
        while self.waiting.peek() == Some(&next) {
            self.waiting.pop();
        }
        let (_, _, slot) = next;
        Some(slot)
    }
}

fn keyed<C: Cards>(cards: &C, slot: SlotIndex) -> (u64, Order, SlotIndex) {
    let card = cards.card(slot);
    (card.deadline, card.order(), slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filing::deck::Deck;
    use crate::filing::place::Place;
    use crate::geometry::Millis;

    /// Timers of one coarse bucket, in an order that is none.
    fn crowded(count: u64) -> (Filing<Millis>, Deck) {
        let bucket_ns = 1 << Layout::<Millis>::span_bits(2);
        let offsets = (0..count).map(|nth| nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) % bucket_ns);
        let mut deck = Deck::of(offsets.map(|offset| bucket_ns + offset));
        let mut filing = Filing::new(0);
        for (slot, card) in deck.cards.iter_mut().enumerate() {
            filing.file(card, SlotIndex::new(slot));
        }
        assert_eq!(filing.occupied(2), 1);
        (filing, deck)
    }

    #[test]
    fn earliest_of_a_crowded_bucket_is_found_with_few_looks_at_timers() {
        let (filing, deck) = crowded(100_000);
        let earliest = deck.cards.iter().map(|card| card.deadline).min();
        let before = deck.looks();
        assert_eq!(filing.next_deadline(&deck), earliest);
        let looks = deck.looks() - before;
        assert!(looks < 200, "{looks} of 100,000 timers were looked at");
    }

    #[test]
    fn search_within_a_limit_looks_at_no_more_entries() {
        let (mut filing, mut deck) = crowded(300);
        let earliest = filing.next_deadline(&deck);
        assert!(earliest.is_some());
        assert_eq!(filing.next_deadline_within(&deck, 300), Some(earliest));
        let before = deck.looks();
        assert_eq!(filing.next_deadline_within(&deck, 299), None);
        assert_eq!(deck.looks(), before);

        // What has left is an entry as well, and so are those that arrive and those that are due.
        let last = SlotIndex::new(299);
        let was = deck.cards[299].filed();
        deck.card_mut(last).place = Place::NOWHERE;
        filing.withdraw(&mut deck, was);
        assert_eq!(filing.next_deadline_within(&deck, 299), None);
        deck.card_mut(last).deadline = 0;
        filing.file(&mut deck.cards[299], last);
        assert_eq!(filing.next_deadline_within(&deck, 0), None);
        assert_eq!(filing.next_deadline_within(&deck, 1), Some(Some(0)));

        let none = Filing::<Millis>::new(0);
        assert_eq!(none.next_deadline_within(&deck, 0), Some(None));
    }
}
