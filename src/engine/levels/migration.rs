//! How fast a crowd is moved down ahead of its time.
//!
//! A bucket of a million timers that is opened in one call, at its time, is a pause. So a crowded one is opened when time
//! enters the bucket before it, and is empty when it begins. The time between is divided into 2^*j* steps, so that a step is
//! for [`SHARE`](Crowd::SHARE) timers to twice as many. In each step a crowd may hold no more than what it held at first times the part of
//! the steps that is left. A caller who advances often moves a few timers each time; a caller who sleeps wakes up once for
//! every [`WOKEN_FOR`](Crowd::WOKEN_FOR) of them.

use core::marker::PhantomData;

use crate::engine::geometry::{Bucket, Geometry, Layout};

/// A bucket that is moved down ahead of its time.
pub(super) struct Crowd<G> {
    pub(super) bucket: Bucket,
    /// The number of timers that are left.
    pub(super) len: usize,
    /// How many there were when time entered the bucket before it.
    pub(super) held: u64,
    pub(super) geometry: PhantomData<G>,
}

impl<G: Geometry> Crowd<G> {
    /// The fewest timers that are moved together when advances come often: a quarter of what makes a crowd.
    pub(super) const SHARE: usize = Layout::<G>::FEW / 4;

    /// The fewest timers that a sleeping caller wakes up for to move them ahead, unless fewer are left.
    pub(super) const WOKEN_FOR: usize = 2 * Self::SHARE;

    /// What a crowd would have held at first that has as many left at `now` as it may: one that came together late.
    pub(super) fn held_of(bucket: Bucket, len: usize, now: u64) -> u64 {
        let left = (Layout::<G>::begins(bucket) - now) >> G::TICK_BITS;
        ((len as u64) << Layout::<G>::bits(bucket.level)) / left + 1
    }

    /// The number of steps, and the length of one in nanoseconds, both as powers of two.
    fn steps(&self) -> (u32, u32) {
        let bits = Layout::<G>::bits(self.bucket.level);
        let steps = ((self.held / Self::SHARE as u64) | 1).ilog2().min(bits);
        (steps, G::TICK_BITS + bits - steps)
    }

    /// How many timers are to be moved down at `now`.
    pub(super) fn behind(&self, now: u64) -> usize {
        let (steps, step) = self.steps();
        let left = (Layout::<G>::begins(self.bucket) >> step) - (now >> step);
        self.len.saturating_sub(((self.held * left) >> steps) as usize)
    }

    /// The first time at which `timers` are to be moved down, or when the bucket begins.
    pub(super) fn falls_behind(&self, timers: usize) -> u64 {
        let (steps, step) = self.steps();
        let others = (self.len + 1).saturating_sub(timers) as u64;
        let left = (others << steps).saturating_sub(1) / self.held;
        Layout::<G>::begins(self.bucket) - (left << step)
    }
}
