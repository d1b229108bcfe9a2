//! Looking through the filed timers in the order of time, without disturbing them.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::filing::blocks::Entry;
use crate::filing::card::{Cards, Order};
use crate::filing::{Filing, NEVER, NO_BUCKET};
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

    /// The timers of a part, each with a time before which it is not due.
    fn timers_of<C: Cards>(&self, cards: &C, part: Part) -> impl Iterator<Item = (u64, SlotIndex)> {
        let due = (part == Part::Current).then(|| self.due.slots(cards).map(|slot| (0, slot)));
        let (list, is_on_level) = match part {
            Part::Current => (Self::ARRIVALS, false),
            Part::Bucket { level, digit } => (Layout::<G>::bucket(level, digit), true),
            Part::Overflow => (self.overflow, false),
        };
        let filed = self.entries_of(cards, list).map(move |entry| {
            let floor = if is_on_level {
                Layout::<G>::start_ns(Layout::<G>::in_rotation(entry.tick, self.cursor))
            } else {
                0
            };
            (floor, entry.slot)
        });
        due.into_iter().flatten().chain(filed)
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
        let deadline = |slot| cards.card(slot).deadline;
        let mut earliest = self.opened_timers(cards).map(deadline).min();
        let mut part = Part::Current;
        // The run is sorted: unless its head is stale, there is no need to go through it.
        if let Some(head) = self
            .due
            .head(cards)
            .filter(|&head| !self.due.is_stale(cards, head))
        {
            let arrivals = self.entries_of(cards, Self::ARRIVALS);
            let arrivals = arrivals.map(|entry| deadline(entry.slot));
            earliest = arrivals.chain(earliest).chain([head.deadline]).min();
            match self.part_after(part) {
                Some(after) => part = after,
                None => return earliest,
            }
        }
        loop {
            if earliest.is_some_and(|earliest| earliest < self.floor(part)) {
                return earliest;
            }
            for (floor, slot) in self.timers_of(cards, part) {
                if earliest.is_none_or(|earliest| floor < earliest) {
                    earliest = Some(earliest.unwrap_or(NEVER).min(deadline(slot)));
                }
            }
            match self.part_after(part) {
                Some(after) => part = after,
                None => return earliest,
            }
        }
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
                    .map(|(_, slot)| Reverse(keyed(cards, slot))),
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
                    .filter(|&(_, slot)| {
                        let card = cards.card(slot);
                        !(card.is_postponed() || self.has_read_due && card.place.is_due())
                    })
                    .map(|(_, slot)| keyed(cards, slot)),
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
