//! Migration: how fast a crowd is cascaded before its bucket starts.
//!
//! A bucket of a million timers that is cascaded in one call, when it starts, is a pause. So a crowd, a bucket of more
//! than [`CROWD`](Layout::CROWD) timers, is opened when time enters the bucket before it, and is empty when it starts.
//! The time in between is divided into 2^*j* steps, so that a step covers between [`SHARE`](Migration::SHARE) timers
//! and twice as many. After each step, the part of the total that is left is at most the part of the steps that is
//! left. A caller that advances often moves a few timers each time. A caller that sleeps is woken once for every
//! [`WAKING_SHARE`](Migration::WAKING_SHARE) of them.

use core::marker::PhantomData;

use crate::engine::geometry::{Bucket, Geometry, Layout};

/// A crowd on its way to finer levels.
pub(super) struct Migration<G> {
    pub(super) bucket: Bucket,
    /// The number of timers that are left in the bucket.
    pub(super) left: usize,
    /// The number of timers when time entered the bucket before it.
    pub(super) total: u64,
    pub(super) geometry: PhantomData<G>,
}

impl<G: Geometry> Migration<G> {
    /// The fewest timers that are moved together when advances come often: a quarter of what makes a crowd.
    pub(super) const SHARE: usize = Layout::<G>::CROWD / 4;

    /// The fewest timers that a sleeping caller is woken to move, unless fewer are left.
    pub(super) const WAKING_SHARE: usize = 2 * Self::SHARE;

    /// The total to assume for a crowd that formed late, so that it is on schedule at `now`.
    pub(super) fn late_total(bucket: Bucket, left: usize, now: u64) -> u64 {
        let ticks = (Layout::<G>::start_ns(bucket) - now) >> G::TICK_BITS;
        ((left as u64) << Layout::<G>::bits(bucket.level())) / ticks + 1
    }

    /// The number of steps, and the length of one in nanoseconds, both as powers of two.
    fn steps(&self) -> (u32, u32) {
        let bits = Layout::<G>::bits(self.bucket.level());
        let steps = ((self.total / Self::SHARE as u64) | 1).ilog2().min(bits);
        (steps, G::TICK_BITS + bits - steps)
    }

    /// How many timers are behind schedule at `now`, and must be moved.
    pub(super) fn share(&self, now: u64) -> usize {
        let (steps, step) = self.steps();
        let ahead = (Layout::<G>::start_ns(self.bucket) >> step) - (now >> step);
        self.left.saturating_sub(((self.total * ahead) >> steps) as usize)
    }

    /// The first time at which a share has `timers` timers, or the start of the bucket.
    pub(super) fn share_ns(&self, timers: usize) -> u64 {
        let (steps, step) = self.steps();
        let others = (self.left + 1).saturating_sub(timers) as u64;
        let ahead = (others << steps).saturating_sub(1) / self.total;
        Layout::<G>::start_ns(self.bucket) - (ahead << step)
    }
}
