//! When the levels next have something to do: for an advance, and for a caller who sleeps.

use super::Levels;
use crate::geometry::{Bucket, FAR, Geometry, Layout};

/// No time: later than every wake-up.
pub(crate) const NEVER: u64 = u64::MAX;

/// All times of the levels but the cursor, in nanoseconds.
///
/// Invariants: `first` is the first occupied bucket, the coarser of two that start together, and `start` its start, or
/// [`NEVER`] without one; `work` is the earlier of `start` and `chores`, which is no later than `moves_due`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Agenda {
    pub(super) first: Option<Bucket>,
    pub(super) start: u64,
    /// When the next advance has anything to do.
    work: u64,
    /// When the next advance must update the reach or move a share, although no bucket starts. A sleeping caller need not
    /// wake up for that.
    chores: u64,
    /// When a sleeping caller wakes up to move timers ahead.
    pub(super) moves_due: u64,
}

impl Agenda {
    pub(super) const EMPTY: Self = Self { first: None, start: NEVER, work: NEVER, chores: NEVER, moves_due: NEVER };

    #[inline]
    pub(super) fn chores(&self) -> u64 {
        self.chores
    }

    pub(super) fn set_first(&mut self, first: Option<Bucket>, start: u64) {
        (self.first, self.start) = (first, start);
        self.work = self.start.min(self.chores);
    }

    pub(super) fn set_chores(&mut self, chores: u64) {
        self.chores = chores;
        self.work = self.start.min(self.chores);
    }
}

impl<G: Geometry> Levels<G> {
    /// When the first bucket starts, or [`NEVER`].
    #[inline]
    pub(crate) fn start(&self) -> u64 {
        self.agenda.start
    }

    /// When an advance has something to do.
    #[inline]
    pub(crate) fn work_at(&self) -> u64 {
        self.agenda.work
    }

    /// When a caller who sleeps must wake up.
    #[inline]
    pub(crate) fn wake_at(&self) -> u64 {
        self.agenda.start.min(self.agenda.moves_due)
    }

    /// Finds the first occupied bucket. O(levels).
    #[inline(never)]
    pub(super) fn refresh_first(&mut self) {
        let first = self.bucket_after(None);
        self.agenda.set_first(first, first.map_or(NEVER, |it| Layout::<G>::start_ns(Layout::<G>::start(it))));
    }

    /// Computes when timers are to be moved ahead next. O(levels).
    #[inline(never)]
    pub(super) fn refresh_moves(&mut self) {
        self.agenda.moves_due = NEVER;
        if self.is_empty() {
            return self.agenda.set_chores(NEVER);
        }
        let entered = Bucket { level: 1, number: Layout::<G>::number(1, self.cursor) };
        let mut chores = Layout::<G>::start_ns(Layout::<G>::end(entered).plus(1));
        for level in 1..=FAR {
            let next = Layout::<G>::number(level, self.cursor) + 1;
            let Some(number) = self.first_from(level, next) else {
                continue;
            };
            let bucket = Bucket { level, number };
            let len = self.len_of(bucket);
            if number < self.reach[level] {
                chores = chores.min(self.share_is(bucket, len, Self::SOME));
            } else if number == next && len > Layout::<G>::FEW {
                // It is opened by the next advance, and time until now does not count towards its share.
                self.moved_until[level] = Layout::<G>::start_ns(self.cursor);
                chores = 0;
            }
            if len > Layout::<G>::FEW {
                self.agenda.moves_due = self.agenda.moves_due.min(self.share_is(bucket, len, Self::WOKEN_FOR));
            }
        }
        self.agenda.set_chores(chores.min(self.agenda.moves_due));
    }

    pub(super) fn check_agenda(&self) {
        let first = self.bucket_after(None);
        let start = first.map_or(NEVER, |it| Layout::<G>::start_ns(Layout::<G>::start(it)));
        assert!((self.agenda.first, self.agenda.start) == (first, start), "the first occupied bucket is known");
        assert!(
            self.agenda.chores <= self.agenda.moves_due,
            "an advance has something to do by the time that a caller wakes up for it"
        );
    }
}
