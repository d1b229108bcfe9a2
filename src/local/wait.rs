//! A wait for a deadline, polled by a task of the timer's thread.

use alloc::rc::Rc;
use core::mem;
use core::task::{Poll, Waker};

use super::Shared;
use crate::TimerKey;
use crate::clock::TimeSource;

/// The common part of the futures. Dropping it frees its place in the wheel.
///
/// Invariant: a wait that was armed and whose key is stale was woken, or the timer was cleared.
pub(super) struct Wait<C> {
    pub(super) shared: Rc<Shared<C>>,
    pub(super) deadline: u64,
    key: Option<TimerKey>,
}

impl<C> Wait<C> {
    #[inline]
    pub(super) fn new(shared: Rc<Shared<C>>, deadline: u64) -> Self {
        Self { shared, deadline, key: None }
    }

    /// Moves the deadline. The wait keeps its place in the wheel if it still has one; otherwise it starts anew.
    #[inline]
    pub(super) fn reset(&mut self, deadline: u64) {
        self.deadline = deadline;
        if let Some(key) = self.key {
            // The key may be stale, and stays so.
            self.shared.wheel.borrow_mut().reschedule(key, deadline);
        }
    }

    /// Frees the wait's place in the wheel.
    #[inline]
    pub(super) fn disarm(&mut self) {
        if let Some(key) = self.key.take() {
            let waker = self.shared.wheel.borrow_mut().cancel(key);
            // Dropped with nothing borrowed.
            drop(waker);
        }
    }

    /// Stores the waker in the wait's place in the wheel. Returns `false` if it has none.
    #[inline]
    fn set_waker(&self, waker: &Waker) -> bool {
        let Some(key) = self.key else {
            return false;
        };
        match self.shared.wheel.borrow().get(key) {
            None => return false,
            Some(own) if own.will_wake(waker) => return true,
            Some(_) => {}
        }
        // Cloned with nothing borrowed. This may fire the timer.
        let mut waker = waker.clone();
        let replaced = self.shared.wheel.borrow_mut().get_mut(key).map(|own| mem::swap(own, &mut waker));
        // The old waker is dropped here, with nothing borrowed.
        replaced.is_some()
    }
}

impl<C: TimeSource> Wait<C> {
    /// A wait with a place in the wheel ends only when the wheel fires it. A wait without one takes a place, unless it
    /// is due.
    #[inline]
    pub(super) fn poll(&mut self, waker: &Waker) -> Poll<()> {
        match self.set_waker(waker) {
            true => Poll::Pending,
            false => self.arm(self.shared.now(), waker),
        }
    }

    /// Takes a place in the wheel, unless the wait is due by `now`.
    #[inline]
    pub(super) fn arm(&mut self, now: u64, waker: &Waker) -> Poll<()> {
        if self.deadline <= now {
            return Poll::Ready(());
        }
        let waker = waker.clone();
        self.key = Some(self.shared.wheel.borrow_mut().schedule(self.deadline, waker));
        Poll::Pending
    }
}

impl<C> Drop for Wait<C> {
    #[inline]
    fn drop(&mut self) {
        self.disarm();
    }
}
