//! What is known of an earliest time without a search.
//!
//! A wheel can tell its earliest time exactly, and may have to look at every timer of a bucket to do
//! so; and it can tell a bound by reading a field, which may be early. A floor remembers a rank that
//! no entry lies below, and whether its time is exactly the earliest. A new entry keeps it so. When
//! the earliest entry leaves or is put off the floor stays, as a bound, until a short look settles it.

use super::item::Rank;

/// The most entries that are looked at to find the earliest time.
///
/// A longer look costs more than what it may spare, a wake-up for nothing. And whoever refreshes in
/// turn the entries of a crowded bucket, the next to expire first, makes each poll look: without a
/// limit a million entries took 93 us for each update.
pub(super) const SHORT_LOOK: usize = 256;

/// A lower bound of the ranks on a wheel.
///
/// Invariant: no entry's rank is below `rank`; while `is_exact`, its deadline is the earliest.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    rank: Rank,
    is_exact: bool,
}

impl Floor {
    pub(super) const fn new() -> Self {
        Self {
            rank: Rank::first_at(0),
            is_exact: false,
        }
    }

    /// No entry's rank is below this.
    #[inline]
    pub(super) fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether the floor's deadline is the earliest.
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The earliest time, if it is known and there is an entry.
    #[inline]
    pub(super) fn known(&self) -> Option<u64> {
        self.is_exact.then_some(self.rank.deadline_ns)
    }

    /// Takes note that an entry leaves this time.
    #[inline]
    pub(super) fn leave(&mut self, deadline_ns: u64) {
        self.is_exact &= deadline_ns != self.rank.deadline_ns;
    }

    /// Takes note of the time of an entry that has just been filed, as the only one or not.
    #[inline]
    pub(super) fn file(&mut self, deadline_ns: u64, len: usize) {
        if len == 1 || deadline_ns < self.rank.deadline_ns {
            self.rank = Rank::first_at(deadline_ns);
            self.is_exact = true;
        } else if deadline_ns == self.rank.deadline_ns {
            self.is_exact = true;
        }
    }

    /// Takes note that the first entry, of this rank, has been taken.
    #[inline]
    pub(super) fn take_first(&mut self, rank: Rank) {
        self.is_exact = false;
        self.rank = self.rank.max(rank);
    }

    /// Takes note that no entry's time has come by `now`.
    #[inline]
    pub(super) fn pass(&mut self, now: u64) {
        let after = Rank::first_at(now.saturating_add(1));
        if self.rank < after {
            self.rank = after;
            self.is_exact = false;
        }
    }

    /// Takes note of the earliest time.
    #[inline]
    pub(super) fn settle(&mut self, earliest: u64) {
        self.rank = self.rank.max(Rank::first_at(earliest));
        self.is_exact = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A floor under one entry that is due at `deadline_ns`.
    fn floor(deadline_ns: u64) -> Floor {
        let mut floor = Floor::new();
        floor.file(deadline_ns, 1);
        assert_eq!(floor.known(), Some(deadline_ns));
        assert!(floor.is_exact());
        floor
    }

    #[test]
    fn floor_stays_exact_unless_the_earliest_leaves() {
        let mut floor = floor(50);
        floor.file(60, 2);
        assert_eq!(floor.known(), Some(50), "a later one changes nothing");
        floor.leave(60);
        assert_eq!(floor.known(), Some(50));
        floor.file(40, 2);
        assert_eq!(floor.known(), Some(40), "an earlier one is known");
        floor.leave(40);
        assert_eq!((floor.known(), floor.rank()), (None, Rank::first_at(40)));
        floor.file(45, 2);
        assert_eq!(floor.known(), None, "there may be another before it");
        floor.file(40, 3);
        assert_eq!(floor.known(), Some(40), "none can be before that");
        floor.leave(40);
        floor.file(70, 1);
        assert_eq!(floor.known(), Some(70), "the only one is the earliest");
    }

    #[test]
    fn floor_rises_with_what_is_taken_and_with_time() {
        let mut floor = floor(50);
        let taken = Rank {
            sequence: 7,
            ..Rank::first_at(50)
        };
        floor.take_first(taken);
        assert_eq!((floor.known(), floor.rank()), (None, taken));
        floor.take_first(Rank::first_at(50));
        assert_eq!(floor.rank(), taken, "it never sinks");
        floor.file(50, 2);
        assert_eq!((floor.known(), floor.rank()), (Some(50), taken));
        floor.take_first(taken);
        assert!(!floor.is_exact());
        floor.settle(50);
        assert_eq!((floor.known(), floor.rank()), (Some(50), taken));
        floor.settle(90);
        assert_eq!(floor.known(), Some(90));
        floor.pass(80);
        assert_eq!(floor.known(), Some(90), "that time is below it");
        floor.pass(89);
        assert_eq!(floor.known(), Some(90), "the next nanosecond is its own");
        floor.pass(90);
        assert_eq!((floor.known(), floor.rank()), (None, Rank::first_at(91)));
        floor.pass(u64::MAX);
        assert_eq!(floor.rank(), Rank::first_at(u64::MAX));
    }
}
