//! When the levels next have work: for an advance, and for a caller that sleeps.

use crate::engine::geometry::Bucket;

/// Later than every wake-up.
pub(crate) const NEVER: u64 = u64::MAX;

/// All times that the levels wait for, in nanoseconds.
///
/// Invariants: `bucket` is the next occupied bucket, the coarser of two that start together, and `bucket_ns` is its
/// start, or [`NEVER`] without one; `upkeep_ns` is no later than `migration_ns`; `idle_until_ns` is no later than
/// `bucket_ns`, `upkeep_ns` and the first timer of the near heap.
#[derive(Copy, Clone, Debug)]
pub(crate) struct NextWork {
    pub(super) bucket: Option<Bucket>,
    pub(crate) bucket_ns: u64,
    /// When an advance must next extend the reach or migrate a share of a crowd, although no bucket starts. A sleeping
    /// caller is not woken for that.
    pub(super) upkeep_ns: u64,
    /// When a sleeping caller is woken to migrate a share of a crowd.
    pub(super) migration_ns: u64,
    /// An advance before this time has nothing to do. New work lowers it; only an advance that finishes may raise it.
    pub(crate) idle_until_ns: u64,
}

impl NextWork {
    pub(super) const NONE: Self =
        Self { bucket: None, bucket_ns: NEVER, upkeep_ns: NEVER, migration_ns: NEVER, idle_until_ns: 0 };

    /// When a caller that sleeps must wake up.
    #[inline]
    pub(crate) fn wake_ns(&self) -> u64 {
        self.bucket_ns.min(self.migration_ns)
    }

    /// When an advance next has work in the levels.
    #[inline]
    pub(crate) fn work_ns(&self) -> u64 {
        self.bucket_ns.min(self.upkeep_ns)
    }

    pub(super) fn set_bucket(&mut self, bucket: Option<Bucket>, bucket_ns: u64) {
        (self.bucket, self.bucket_ns) = (bucket, bucket_ns);
        self.end_idle_by(bucket_ns);
    }

    pub(super) fn set_upkeep(&mut self, upkeep_ns: u64, migration_ns: u64) {
        (self.upkeep_ns, self.migration_ns) = (upkeep_ns.min(migration_ns), migration_ns);
        self.end_idle_by(self.upkeep_ns);
    }

    /// Lowers `idle_until_ns` to the time of new work.
    #[inline]
    pub(crate) fn end_idle_by(&mut self, time_ns: u64) {
        self.idle_until_ns = self.idle_until_ns.min(time_ns);
    }
}
