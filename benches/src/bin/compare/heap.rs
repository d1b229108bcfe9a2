//! A global allocator that counts what a piece of work leaves on the heap.
//!
//! While nothing is weighed an allocation costs one more look at a thread-local flag: the subjects
//! that allocate at every operation are not to pay for those that do not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Live bytes, as against when the weighing began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Allocated and not freed again; negative if more was freed.
    pub(crate) left: isize,
    /// The most at any moment.
    pub(crate) most: isize,
}

struct Scale {
    is_on: Cell<bool>,
    left: Cell<isize>,
    most: Cell<isize>,
}

thread_local! {
    /// Without a destructor and made at compile time, so that it can be used at any time in the
    /// life of a thread, and without allocating.
    static SCALE: Scale = const {
        Scale {
            is_on: Cell::new(false),
            left: Cell::new(0),
            most: Cell::new(0),
        }
    };
}

/// Runs `work` and says what it left on the heap, on this thread.
///
/// # Panics
///
/// If something is being weighed already.
pub(crate) fn weigh<R>(work: impl FnOnce() -> R) -> (R, Weight) {
    SCALE.with(|scale| {
        assert!(!scale.is_on.replace(true), "one weighing at a time");
        scale.left.set(0);
        scale.most.set(0);
        let result = work();
        scale.is_on.set(false);
        let weight = Weight {
            left: scale.left.get(),
            most: scale.most.get(),
        };
        (result, weight)
    })
}

#[inline]
fn count(bytes: isize) {
    SCALE.with(|scale| {
        if scale.is_on.get() {
            let left = scale.left.get() + bytes;
            scale.left.set(left);
            scale.most.set(scale.most.get().max(left));
        }
    });
}

/// The system's allocator with a scale under it.
struct Weighed;

#[global_allocator]
static ALLOCATOR: Weighed = Weighed;

// SAFETY: every call is handed to the system's allocator as it came, and its answer handed back;
// the counting neither allocates nor unwinds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn weight_is_what_is_left_and_the_most_there_was() {
        let (kept, weight) = weigh(|| {
            let dropped = black_box(vec![1_u8; 1_000]);
            drop(dropped);
            black_box(vec![0_u64; 10])
        });
        let expected = Weight {
            left: 80,
            most: 1_000,
        };
        assert_eq!(weight, expected);
        let (_, weight) = weigh(|| drop(kept));
        assert_eq!((weight.left, weight.most), (-80, 0));
    }

    #[test]
    fn growing_counts_the_difference() {
        let (_grown, weight) = weigh(|| {
            let mut grown = Vec::<u32>::with_capacity(8);
            grown.resize(8, 7);
            grown.reserve_exact(92);
            black_box(grown)
        });
        assert_eq!((weight.left, weight.most), (400, 400));
    }

    #[test]
    fn nothing_counts_outside_a_weighing() {
        let before = black_box(vec![1_u8; 500]);
        let ((), weight) = weigh(|| ());
        assert_eq!(weight, Weight::default());
        drop(before);
    }
}
