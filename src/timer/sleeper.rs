//! A task that sleeps, as an entry of the wheel.

use std::sync::Arc;
use std::task::Waker;

use crate::clock::NEVER;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The waker of a task that sleeps.
///
/// Invariant: the deadline, if there is one, is not before the time at which the wheel has the sleeper.
pub(super) struct Sleeper {
    /// `None` once it has been taken.
    pub(super) waker: Option<Waker>,
    /// `None` as long as the sleep has not been reset while it waited.
    pub(super) deadline: Option<SharedDeadline>,
}

impl Sleeper {
    /// Takes the waker at `time`, when the wheel has the sleeper, unless the sleep was postponed.
    pub(super) fn fire(&mut self, time: u64) -> Option<Waker> {
        let is_due = self.deadline.as_ref().is_none_or(|deadline| deadline.replace(time, NEVER));
        is_due.then(|| self.waker.take())?
    }

    /// Takes the waker, whatever the deadline.
    pub(super) fn end(&mut self) -> Option<Waker> {
        _ = self.deadline.as_ref().map(|deadline| deadline.set(NEVER));
        self.waker.take()
    }

    /// The time that it was postponed to; `None` if its waker has been taken.
    pub(super) fn stays_until(&self) -> Option<u64> {
        self.waker.as_ref()?;
        Some(self.deadline.as_ref()?.0.load(Ordering::Relaxed))
    }
}

/// The deadline of a sleep that has been reset, or [`NEVER`] once it has fired; no sleep is due at [`NEVER`].
///
/// A connection resets its idle timeout with each message, so a reset to a later time only writes this atomic. The wheel keeps
/// the sleep at the old time. When that time comes, the timer thread tries to swap that time here for [`NEVER`]. If it succeeds,
/// the sleep fires. If it fails, a reset came first, and the thread postpones the sleep to the deadline that it finds. A reset
/// swaps the deadline that it knows in the same way; if that fails, the sleep has fired. Of thread and reset only one can
/// succeed. No other memory depends on the deadline, so the order is relaxed.
///
/// A deadline is made earlier only with the shard locked, because the wheel must be changed as well.
///
/// The atomic is made by the first reset of a sleep that waits. A sleep is usually dropped without a reset, and in a field of
/// the sleep itself the thread could not read it without `unsafe`.
#[derive(Clone, Default)]
pub(super) struct SharedDeadline(Arc<AtomicU64>);

impl SharedDeadline {
    /// Call it only for a sleep that is not in the wheel, or with the shard locked.
    pub(super) fn set(&self, deadline: u64) {
        self.0.store(deadline, Ordering::Relaxed);
    }

    /// Replaces the deadline `old` by one that is not before it; `false` if it was replaced already.
    pub(super) fn replace(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
