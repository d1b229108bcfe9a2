//! An entry as the queue keeps it: the replicated part, its rank, and where it is.

use super::drawn::Tower;
use super::entry::{Entry, Phase};
use crate::header::Headers;
use crate::key::{SlotIndex, TimerKey};
use crate::slots::Slots;

/// The index of an entry in the roster: that of its slot.
pub(super) type ItemIndex = SlotIndex;

/// No entry: the roster never grows that far.
pub(super) const NO_ITEM: ItemIndex = SlotIndex::from_bits(u32::MAX);

/// An entry's place in the order of expiry: by deadline, and first come first among equals.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) deadline_ns: u64,
    /// Counts the calls that set a deadline, from 1 on.
    pub(super) sequence: u64,
}

impl Rank {
    /// Not above the rank of any entry of this deadline.
    #[inline]
    pub(super) const fn first_at(deadline_ns: u64) -> Self {
        Self {
            deadline_ns,
            sequence: 0,
        }
    }
}

/// An entry and where it is.
#[derive(Clone, Debug)]
pub(super) struct Item<K> {
    pub(super) entry: Entry<K>,
    pub(super) rank: Rank,
    pub(super) place: Place,
}

/// Which structure holds an entry.
#[derive(Copy, Clone, Debug)]
pub(super) enum Place {
    /// The wheel of deadlines.
    Queued,
    /// The entries that have been drawn from it.
    Drawn(Drawing),
}

/// What is known of an entry since it was drawn.
#[derive(Copy, Clone, Debug)]
pub(super) struct Drawing {
    pub(super) tower: Tower,
    /// When the entry was last proposed, in changes of role. In an older epoch than the present
    /// one it has been put back, and the rest means nothing any more.
    pub(super) epoch: Epoch,
    /// Proposals in this epoch.
    pub(super) attempts: u32,
    pub(super) wait: Wait,
}

/// The number of changes of role so far, as far as any entry remembers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Epoch(u32);

impl Epoch {
    /// Before every other.
    pub(super) const NEVER: Self = Self(0);

    pub(super) const FIRST: Self = Self(1);

    /// The next epoch, unless the numbers have run out.
    pub(super) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// The last epoch there is, so that a test need not change roles 2^32 times.
    #[cfg(test)]
    pub(super) const LAST: Self = Self(u32::MAX);
}

/// What a drawn entry waits for.
#[derive(Copy, Clone, Debug)]
pub(super) enum Wait {
    /// To be proposed.
    Turn,
    /// The answer to its proposal.
    Answer(Link),
    /// The moment to be proposed again.
    Retry(TimerKey),
}

/// A pending entry's place among those that are pending, in the order of their proposals.
///
/// The time is in two halves so that a link is aligned to four bytes, and an entry with a key of
/// eight bytes takes 96: with its card, two cache lines.
#[derive(Copy, Clone, Debug)]
pub(super) struct Link {
    proposed_ns: [u32; 2],
    pub(super) previous: ItemIndex,
    pub(super) next: ItemIndex,
}

impl Link {
    #[inline]
    pub(super) fn new(proposed_ns: u64, previous: ItemIndex, next: ItemIndex) -> Self {
        Self {
            proposed_ns: [proposed_ns as u32, (proposed_ns >> 32) as u32],
            previous,
            next,
        }
    }

    /// When the entry was proposed.
    #[inline]
    pub(super) fn proposed_ns(&self) -> u64 {
        let [low, high] = self.proposed_ns.map(u64::from);
        high << 32 | low
    }
}

impl<K> Item<K> {
    /// What is known since the entry was drawn, if that still counts in the present epoch.
    #[inline]
    fn drawing_in(&self, epoch: Epoch) -> Option<&Drawing> {
        match &self.place {
            Place::Drawn(drawing) if drawing.epoch == epoch => Some(drawing),
            _ => None,
        }
    }

    /// What the entry waits for, in the present epoch.
    #[inline]
    pub(super) fn wait_in(&self, epoch: Epoch) -> Wait {
        self.drawing_in(epoch)
            .map_or(Wait::Turn, |drawing| drawing.wait)
    }

    /// Proposals in the present epoch.
    #[inline]
    pub(super) fn attempts_in(&self, epoch: Epoch) -> u32 {
        self.drawing_in(epoch).map_or(0, |drawing| drawing.attempts)
    }

    /// Where the entry stands in the present epoch.
    pub(super) fn phase_in(&self, epoch: Epoch) -> Phase {
        match self.wait_in(epoch) {
            Wait::Turn => Phase::Queued,
            Wait::Answer(_) => Phase::Pending,
            Wait::Retry(_) => Phase::Retrying,
        }
    }

    /// The drawing of an entry that is known to have been drawn.
    #[inline]
    pub(super) fn drawing_mut(&mut self) -> &mut Drawing {
        match &mut self.place {
            Place::Drawn(drawing) => drawing,
            Place::Queued => unreachable!("only drawn entries are proposed"),
        }
    }

    /// The link of an entry that is known to be pending.
    #[inline]
    pub(super) fn link_mut(&mut self) -> &mut Link {
        match &mut self.drawing_mut().wait {
            Wait::Answer(link) => link,
            Wait::Turn | Wait::Retry(_) => unreachable!("only pending entries are linked"),
        }
    }
}

#[cfg(test)]
impl<K> Item<K> {
    /// An entry of a key, for tests that care for no more.
    pub(super) fn any(key: K) -> Self {
        let entry = Entry {
            key,
            index: 1,
            owner: 0,
            leader_start_ms: 0,
            ttl_ms: 1,
        };
        Self {
            entry,
            rank: Rank::first_at(5),
            place: Place::Queued,
        }
    }
}

/// Reads a little of some entries, whose slots may be free, so that they are in the cache when they are
/// asked for, and counts them.
///
/// Entries lie as their keys came, so that most that are wanted have to be fetched from memory. One
/// that waits for its entry before it knows the next waits each time; these reads wait together.
#[inline(never)]
pub(super) fn touch<K>(slots: &Slots<Item<K>>, items: impl Iterator<Item = ItemIndex>) -> usize {
    let mut count = 0;
    let mut read = 0;
    for item in items {
        // Header and entry may lie on different cache lines.
        read ^= slots.header(item).deadline;
        read ^= slots.peek(item).map_or(0, |item| item.entry.index);
        count += 1;
    }
    core::hint::black_box(read);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_of_a_small_key_takes_ninety_six_bytes() {
        assert_eq!(size_of::<Option<Item<u64>>>(), 96);
    }

    #[test]
    fn epochs_follow_each_other_until_the_numbers_run_out() {
        assert_eq!(Epoch::FIRST.next(), Some(Epoch(2)));
        assert_eq!(Epoch(u32::MAX - 1).next(), Some(Epoch::LAST));
        assert_eq!(Epoch::LAST.next(), None);
    }

    #[test]
    fn entries_that_are_touched_are_counted() {
        let slots: Slots<Item<u64>> = Slots::new(0);
        assert_eq!(touch(&slots, core::iter::empty()), 0);
        let mut slots: Slots<Item<u64>> = Slots::new(0);
        for key in 0..5 {
            slots.take(Item::any(key));
        }
        assert_eq!(touch(&slots, (0..5).map(SlotIndex::new)), 5);
    }

    #[test]
    fn link_keeps_any_time() {
        for time in [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX - 1, u64::MAX] {
            assert_eq!(Link::new(time, NO_ITEM, NO_ITEM).proposed_ns(), time);
        }
    }
}
