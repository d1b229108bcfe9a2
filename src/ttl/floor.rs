//! What is known of an earliest time without a search.
//!
//! A wheel can tell its earliest time exactly, and may have to look at every timer of a bucket to do
//! so; and it can tell a bound by reading a field, which may be early. A floor remembers a rank that
//! no entry lies below, and whether its time is exactly the earliest. A new entry keeps it so. When
//! the earliest entry leaves or is put off the floor stays, as a bound, until a search settles it.

use super::item::Rank;

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
