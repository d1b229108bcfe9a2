//! A global allocator that counts what a piece of work leaves on the heap. A program that weighs installs it.
//!
//! While nothing is weighed an allocation costs one more look at a thread-local flag: the queues that allocate at every
//! operation are not to pay for those that do not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Live bytes, as against when the weighing began. Without a destructor and made at compile time, so that it can be
    /// used at any time in the life of a thread.
    static WEIGHT: Cell<Option<isize>> = const { Cell::new(None) };
}

/// Runs `work` and says how many bytes it left on the heap, on this thread: negative if more were freed.
pub fn weigh<R>(work: impl FnOnce() -> R) -> (R, isize) {
    WEIGHT.set(Some(0));
    let result = work();
    (result, WEIGHT.take().unwrap_or_default())
}

#[inline]
fn count(bytes: isize) {
    if let Some(left) = WEIGHT.get() {
        WEIGHT.set(Some(left + bytes));
    }
}

/// The system's allocator with a scale under it.
#[derive(Clone, Copy, Debug)]
pub struct Weighed;

// SAFETY: every call is handed to the system's allocator as it came, and its answer handed back; the counting neither
// allocates nor unwinds.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Weighed {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the ones that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, new_size) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
