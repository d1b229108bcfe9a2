//! Synchronization primitives: those of `std`, or in the model tests those of `loom`.

#[cfg(all(loom, test))]
mod modelled;

#[cfg(all(loom, test))]
pub(crate) use self::modelled::{Thread, thread, thread_number};
#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic;
#[cfg(all(loom, test))]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(all(loom, test))]
pub(crate) use loom::thread::JoinHandle;
#[cfg(all(loom, test))]
pub(crate) use loom::thread_local;

#[cfg(not(all(loom, test)))]
pub(crate) use std::sync::{Mutex, MutexGuard};
#[cfg(not(all(loom, test)))]
pub(crate) use std::thread::{self, Thread};
#[cfg(all(feature = "timer", not(all(loom, test))))]
pub(crate) use std::{sync::Condvar, sync::atomic, thread::JoinHandle, thread_local};

use std::sync::PoisonError;
#[cfg(feature = "timer")]
use std::sync::TryLockError;

/// Locks, even if a thread has panicked with the lock held: the data is consistent whenever user code
/// runs.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Like `lock`, or `None` while another thread has the lock.
#[cfg(feature = "timer")]
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits, even if a thread has panicked with the lock held.
#[cfg(feature = "timer")]
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// A number that the calling thread keeps: the first thread that asks has 0, the next 1, and so on. O(1).
#[cfg(all(feature = "timer", not(all(loom, test))))]
pub(crate) fn thread_number() -> usize {
    use std::cell::Cell;

    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
    const NONE: usize = usize::MAX;
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(NONE) };
    }
    NUMBER.with(|number| {
        if number.get() == NONE {
            number.set(NEXT.fetch_add(1, atomic::Ordering::Relaxed));
        }
        number.get()
    })
}
