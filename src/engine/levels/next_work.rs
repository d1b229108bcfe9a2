//! When the levels next have something to do: for an advance, and for a caller who sleeps.

use crate::engine::geometry::Bucket;

/// No time: later than every wake-up.
pub(crate) const NEVER: u64 = u64::MAX;

/// All times of the levels but the cursor, in nanoseconds.
///
/// Invariants: `first` is the first occupied bucket, the coarser of two that start together, and `start` its start, or
/// [`NEVER`] without one; `chores` is no later than `moves_due`; `idle_until` is no later than `start`, `chores`, and the
/// first timer of the near heap.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Agenda {
    pub(super) first: Option<Bucket>,
    pub(crate) start: u64,
    /// When the next advance must extend the reach or move a share, although no bucket starts. A sleeping caller need not wake
    /// up for that.
    pub(super) chores: u64,
    /// When a sleeping caller wakes up to move a share.
    pub(super) moves_due: u64,
    /// An advance before this time has nothing to do. Work that is added makes it earlier; only an advance that comes to its
    /// end makes it later.
    pub(crate) idle_until: u64,
}

impl Agenda {
    pub(super) const EMPTY: Self = Self { first: None, start: NEVER, chores: NEVER, moves_due: NEVER, idle_until: 0 };

    /// When a caller who sleeps must wake up.
    #[inline]
    pub(crate) fn wake_at(&self) -> u64 {
        self.start.min(self.moves_due)
    }

    pub(super) fn set_first(&mut self, first: Option<Bucket>, start: u64) {
        (self.first, self.start) = (first, start);
        self.wake_by(start);
    }

    pub(super) fn set_moves(&mut self, chores: u64, moves_due: u64) {
        (self.chores, self.moves_due) = (chores.min(moves_due), moves_due);
        self.wake_by(self.chores);
    }

    /// Has the first advance from `time` on look for work.
    #[inline]
    pub(crate) fn wake_by(&mut self, time: u64) {
        self.idle_until = self.idle_until.min(time);
    }

    /// Whether there is nothing to do by `now`, if the first timer of the near heap is due at `earliest`. If so, advances are
    /// idle until there is.
    #[inline]
    pub(crate) fn rest(&mut self, now: u64, earliest: u64) -> bool {
        let until = self.start.min(self.chores).min(earliest);
        if now < until {
            self.idle_until = until;
        }
        now < until
    }
}
