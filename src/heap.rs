//! What fires next: timers in exact order, each found again by its position.
//!
//! What is scheduled into the cursor's tick or before it lies in a heap, and so do the timers of a small
//! wheel, whenever they are due: it makes no lists. The timers of a bucket that is opened
//! are sorted, a page full at a time, into *runs*; the heap has an entry for each run, which is its first timer,
//! and so merges them. A heap of fan-out four is half as deep as a binary one, and every level less is a
//! header that need not be told where its entry is.

mod ordered;
mod run;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::mem;

use slab::Slab;

use self::run::{PAGE, Page, Run, RunIndex};
use crate::header::{Headers, Place, Sequence};
use crate::key::SlotIndex;
use crate::pages::{Pages, Placeholder};

pub(crate) use self::ordered::Ordered;
pub(crate) use self::run::LARGE;

/// Children of an entry.
const FANOUT: usize = 4;

/// Runs that may be nearly empty. Of more, the pages are an eighth full on average when one is added.
const FEW_RUNS: usize = 8;

impl Placeholder for Ordered {
    const PLACEHOLDER: Self = Self::new(0, Sequence::new(0), SlotIndex::NONE);
}

/// An indexed heap of timers and of runs of timers, the earliest first.
///
/// Invariant: no entry precedes its parent, at `(index - 1) / 4`; the entry of a run is its first timer; the
/// header of each timer and each run says at which index its entry is, that of a timer in a run where there.
#[derive(Clone, Debug)]
pub(crate) struct NearHeap {
    entries: Pages<Ordered, 8, 64>,
    /// A copy of the first entry, if there is one: it is asked for three times for each timer that fires.
    first: Ordered,
    runs: Slab<Run>,
    /// The run that was added last, or any other, or none.
    newest: RunIndex,
    /// Timers, in runs or not.
    len: usize,
    /// The page of a run that has gone, for the next.
    spare: Option<Page>,
    /// The memory of [`room`](Self::room); there is nothing in it.
    room: Vec<Ordered>,
    /// The memory in which timers are sorted.
    order: Vec<u64>,
}

impl NearHeap {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Pages::new(),
            first: Ordered::PLACEHOLDER,
            runs: Slab::new(),
            newest: RunIndex::NONE,
            len: 0,
            spare: None,
            room: Vec::new(),
            order: Vec::new(),
        }
    }

    /// The number of timers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of entries: timers that are in no run, and runs.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let pages = self
            .runs
            .iter()
            .map(|(_, run)| &run.page)
            .chain(&self.spare);
        // The slab's entry is a run, or the next vacant index.
        self.entries.bytes()
            + self.runs.capacity() * size_of::<Run>()
            + pages.map(|page| size_of_val(&**page)).sum::<usize>()
            + self.room.capacity() * size_of::<Ordered>()
            + self.order.capacity() * size_of::<u64>()
    }

    /// The timer that fires first. O(1).
    #[inline]
    pub(crate) fn first(&self) -> Option<&Ordered> {
        (self.entries.len() != 0).then_some(&self.first)
    }

    /// Where the first timer is, if there is one.
    #[inline]
    pub(crate) fn first_place(&self) -> (Place, u32) {
        let run = self.first.run;
        match self.runs.get(run.get()) {
            Some(it) => (Place::RUN, run.position(it.next)),
            None => (Place::HEAP, 0),
        }
    }

    /// A timer that is little trouble to remove. O(1).
    pub(crate) fn last(&self) -> Option<&Ordered> {
        self.entries.get(self.entries.len().checked_sub(1)?)
    }

    /// The timer of an entry, unless it is a run's.
    pub(crate) fn lone(&self, index: usize) -> Option<Ordered> {
        let entry = *self.entries.at(index);
        (entry.run == RunIndex::NONE).then_some(entry)
    }

    /// The entries: timers that are in no run, and the first of each run. In no particular order.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = &Ordered> {
        (0..self.entries.len()).map(|index| self.entries.at(index))
    }

    /// All timers, and where they are, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, u32, &Ordered)> {
        let alone = |(_, entry): &(_, &Ordered)| entry.run == RunIndex::NONE;
        let in_run = |(index, run)| {
            let timers = Run::timers_from(run, 0);
            timers.map(move |(nth, it)| (Place::RUN, RunIndex::new(index).position(nth), it))
        };
        let entries = (0..).zip(self.firsts()).filter(alone);
        entries
            .map(|(index, timer)| (Place::HEAP, index, timer))
            .chain(self.runs.iter().flat_map(in_run))
    }

    /// The timers of the run that fires next, if that is a run; in order.
    #[cfg(any(test, feature = "ttl"))]
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = &Ordered> {
        let run = self.first().and_then(|it| self.runs.get(it.run.get()));
        run.into_iter()
            .flat_map(|run| run.timers_from(0))
            .map(|(_, timer)| timer)
    }

    /// The timer that follows the one at a position in its run. O(1), and a look at the holes between them.
    pub(crate) fn after(&self, position: u32) -> Option<&Ordered> {
        let (run, nth) = RunIndex::of_position(position);
        let mut rest = self.runs.get(run.get())?.timers_from(nth + 1);
        rest.next().map(|(_, timer)| timer)
    }

    /// Whether the timer of a slot is there. O(1).
    pub(crate) fn holds(&self, place: Place, position: u32, slot: SlotIndex) -> bool {
        if place == Place::RUN {
            let (run, nth) = RunIndex::of_position(position);
            let run = self.runs.get(run.get());
            return run.is_some_and(|run| run.holds(nth, slot));
        }
        let index = position as usize;
        let is_entry = |it: &Ordered| it.slot == slot && it.run == RunIndex::NONE;
        index < self.entries.len() && is_entry(self.entries.at(index))
    }

    /// Adds a timer. O(log n), O(1) on average.
    #[inline]
    pub(crate) fn push<H: Headers>(&mut self, headers: &mut H, timer: Ordered) {
        let end = self.entries.len();
        let header = headers.header_mut(timer.slot);
        header.set_place(Place::HEAP, end as u32);
        self.len += 1;
        self.entries.push(timer);
        self.rise(headers, end, timer, end);
    }

    /// Memory in which to collect so many timers that are to be [added](Self::add) together.
    ///
    /// It is the caller's until then, so that a store of headers that panics leaves nothing behind.
    #[inline]
    pub(crate) fn room(&mut self, timers: usize) -> Vec<Ordered> {
        let mut room = mem::take(&mut self.room);
        room.reserve(timers);
        room
    }

    /// Adds timers, no more than find room on a [`LARGE`] page, in whatever order. O(n log n).
    pub(crate) fn add<H: Headers>(&mut self, headers: &mut H, mut timers: Vec<Ordered>) {
        let mut order = mem::take(&mut self.order);
        run::sort(&mut timers, &mut order);
        let sorted = order.iter().map(|&index| timers[index as usize]);
        if let Some((index, from)) = self.place_for(sorted.clone()) {
            self.len += timers.len();
            let to = from + timers.len();
            let run = &mut self.runs[index.get()];
            for (place, timer) in run.page[from..to].iter_mut().zip(sorted) {
                *place = Ordered {
                    run: index,
                    ..timer
                };
            }
            (run.next, run.end) = (run.next.min(from), run.end.max(to));
            let (at, first) = (run.at, run.page[run.next]);
            self.rise(headers, at, first, at);
            for (nth, timer) in (from..to).zip(&self.runs[index.get()].page[from..to]) {
                let header = headers.header_mut(timer.slot);
                header.set_place(Place::RUN, index.position(nth));
            }
        } else {
            sorted.for_each(|timer| self.push(headers, timer));
        }
        timers.clear();
        (self.room, self.order) = (timers, order);
    }

    /// The run and the place on its page where some sorted timers are to be put: beside those of the newest run
    /// if they all come before them, or all after them, and find room there; else in the middle of a new one.
    /// `None` if they are not worth one.
    fn place_for(
        &mut self,
        mut sorted: impl DoubleEndedIterator<Item = Ordered> + ExactSizeIterator,
    ) -> Option<(RunIndex, usize)> {
        let count = sorted.len();
        if let Some(run) = self.runs.get(self.newest.get()) {
            let first = sorted.next()?;
            let last = sorted.next_back().unwrap_or(first);
            if run.next >= count && last.precedes(&run.page[run.next]) {
                return Some((self.newest, run.next - count));
            }
            if run.end + count <= run.page.len() && run.page[run.end - 1].precedes(&first) {
                return Some((self.newest, run.end));
            }
        }
        let (runs, in_runs) = (
            self.runs.len() + 1,
            self.len + self.runs.len() - self.entries.len() + count,
        );
        let are_too_few = count < 2 || runs > FEW_RUNS && in_runs < runs * PAGE / 8;
        if are_too_few || runs > RunIndex::COUNT {
            return None;
        }
        let run = Run::new(self.spare.take(), count, self.entries.len());
        let from = run.next;
        self.entries.push(Ordered::PLACEHOLDER);
        self.newest = RunIndex::new(self.runs.insert(run));
        Some((self.newest, from))
    }

    /// Removes the first timer. O(log n).
    #[inline]
    pub(crate) fn pop<H: Headers>(&mut self, headers: &mut H) {
        let (place, position) = self.first_place();
        self.remove(headers, place, position);
    }

    /// Removes a timer. O(log n).
    #[inline]
    pub(crate) fn remove<H: Headers>(&mut self, headers: &mut H, place: Place, position: u32) {
        self.len -= 1;
        if place != Place::RUN {
            return self.remove_entry(headers, position as usize);
        }
        let (index, nth) = RunIndex::of_position(position);
        let run = &mut self.runs[index.get()];
        if !run.remove(nth) {
            return;
        }
        let at = run.at;
        if let Some(&first) = run.first() {
            if self.entries.len() == 1 {
                // As it mostly is.
                return self.write(at, first);
            }
            self.sink(headers, at, first, at);
        } else {
            self.spare = Some(self.runs.remove(index.get()).page);
            self.remove_entry(headers, at);
        }
    }

    /// Removes the entry at an index. O(log n).
    fn remove_entry<H: Headers>(&mut self, headers: &mut H, index: usize) {
        let end = self.entries.len() - 1;
        let last = *self.entries.at(end);
        self.entries.pop();
        // What a crowd has left behind is given back as it goes.
        self.entries.trim(1);
        if index == end {
            return;
        }
        if index == 0 || !last.precedes(self.entries.at((index - 1) / FANOUT)) {
            self.sink(headers, index, last, end);
        } else {
            self.rise(headers, index, last, end);
        }
    }

    /// Puts an entry where it belongs, at an index or above it. Its timer has been told another.
    ///
    /// Headers come last, lest an entry be lost or doubled should their store panic.
    #[inline]
    fn rise<H: Headers>(&mut self, headers: &mut H, from: usize, entry: Ordered, told: usize) {
        let mut index = from;
        while index != 0 {
            let parent = *self.entries.at((index - 1) / FANOUT);
            if !entry.precedes(&parent) {
                break;
            }
            self.write(index, parent);
            index = (index - 1) / FANOUT;
        }
        self.write(index, entry);
        let mut below = from;
        while below != index {
            let above = (below - 1) / FANOUT;
            self.tell(headers, above, below);
            below = above;
        }
        self.tell(headers, told, index);
    }

    /// Puts an entry where it belongs, at an index or below it. As [`rise`](Self::rise).
    fn sink<H: Headers>(&mut self, headers: &mut H, from: usize, entry: Ordered, told: usize) {
        let mut index = from;
        loop {
            let first = FANOUT * index + 1;
            let children = first..(first + FANOUT).min(self.entries.len());
            let Some(least) = children.reduce(|least, child| {
                if self.entries.at(child).precedes(self.entries.at(least)) {
                    child
                } else {
                    least
                }
            }) else {
                break;
            };
            let child = *self.entries.at(least);
            if !child.precedes(&entry) {
                break;
            }
            self.write(index, child);
            index = least;
        }
        self.write(index, entry);
        self.tell(headers, told, index);
        while index != from {
            let above = (index - 1) / FANOUT;
            self.tell(headers, index, above);
            index = above;
        }
    }

    /// Tells the timer of an entry where that is. The sequence number says whose entry it is, where a header that is
    /// not believed may have been used anew.
    #[inline]
    fn tell<H: Headers>(&mut self, headers: &mut H, from: usize, to: usize) {
        let entry = self.entries.at(to);
        let is_its = H::IS_TRUE || headers.header(entry.slot).sequence() == entry.sequence;
        if entry.run == RunIndex::NONE && is_its {
            headers.moved(entry.slot, Place::HEAP, from as u32, to as u32);
        }
    }

    #[inline]
    fn write(&mut self, index: usize, entry: Ordered) {
        *self.entries.at_mut(index) = entry;
        if index == 0 {
            self.first = entry;
        }
        if let Some(run) = self.runs.get_mut(entry.run.get()) {
            run.at = index;
        }
    }

    /// Takes note that the timers have been renumbered in the same order.
    pub(crate) fn renumber<H: Headers>(&mut self, headers: &H) {
        let runs = self.runs.iter_mut().flat_map(|(_, run)| run.timers_mut());
        for timer in self.entries.iter_mut().chain(runs) {
            timer.sequence = headers.header(timer.slot).sequence();
        }
        if let Some(&first) = self.entries.get(0) {
            self.first = first;
        }
    }

    /// Forgets every entry and gives back the memory of all but the first. O(runs).
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.entries.trim(1);
        self.runs = Slab::new();
        self.len = 0;
    }

    /// Packs the runs into as few pages as they need, and gives back spare memory. O(n log n).
    pub(crate) fn shrink_to_fit<H: Headers>(&mut self, headers: &mut H) {
        // Beside the old ones, which stay as they are should the store of headers panic on the way.
        let mut packed = Self::new();
        let mut timers = packed.room(0);
        for (place, position, &timer) in self.iter() {
            if !headers.owns(timer.slot, place, position) {
                headers.disowned();
            } else if place == Place::HEAP {
                packed.push(headers, timer);
            } else {
                timers.push(Ordered {
                    run: RunIndex::NONE,
                    ..timer
                });
            }
            if timers.len() == LARGE {
                packed.add(headers, timers);
                timers = packed.room(0);
            }
        }
        if timers.len() < PAGE / 8 {
            timers.drain(..).for_each(|it| packed.push(headers, it));
        }
        packed.add(headers, timers);
        packed.entries.truncate(packed.entries.len());
        packed.runs.shrink_to_fit();
        (packed.room, packed.order) = (Vec::new(), Vec::new());
        *self = packed;
    }

    /// Checks the laws of the heap, and hands each timer to `visit`.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(crate) fn check<H: Headers>(&self, headers: &H, mut visit: impl FnMut(SlotIndex)) {
        for (place, position, timer) in self.iter() {
            assert!(
                timer.rank() == Ordered::of(headers, timer.slot).rank(),
                "an entry of the near heap has its timer's deadline and sequence"
            );
            assert!(
                headers.header(timer.slot).is_at(place, position),
                "the header of a timer in the near heap says where"
            );
            visit(timer.slot);
        }
        for (index, entry) in self.firsts().enumerate() {
            assert!(
                index == 0 || !entry.precedes(self.entries.at((index - 1) / FANOUT)),
                "no entry of the near heap precedes its parent"
            );
            if let Some(run) = self.runs.get(entry.run.get()) {
                assert!(
                    run.at == index && run.first() == Some(entry),
                    "a run and its entry name each other"
                );
                assert!(
                    run.timers_from(0).map(|(_, timer)| timer).is_sorted(),
                    "a run is sorted by (deadline, sequence)"
                );
            }
        }
        assert!(
            self.iter().count() == self.len,
            "the timers of the near heap are counted"
        );
        assert!(
            self.room.is_empty(),
            "the room for timers to be added is empty"
        );
    }
}
