//! What panics when a test says so, without a message on the terminal.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

/// What a fuse panics with.
#[derive(Debug, PartialEq)]
pub(crate) struct Burnt;

/// Panics at some of the times at which it is asked, counted from when that was set: at none until then.
#[derive(Clone)]
pub(crate) struct Fuse(Arc<Mutex<(u32, Range<u32>)>>);

impl Fuse {
    pub(crate) fn new(burns: Range<u32>) -> Self {
        Self(Arc::new(Mutex::new((0, burns))))
    }

    pub(crate) fn set(&self, burns: Range<u32>) {
        *self.0.lock().unwrap() = (0, burns);
    }

    pub(crate) fn ask(&self) {
        let is_burning = {
            let (asked, burns) = &mut *self.0.lock().unwrap();
            *asked += 1;
            burns.contains(&(*asked - 1))
        };
        if is_burning {
            resume_unwind(Box::new(Burnt));
        }
    }

    pub(crate) fn asked(&self) -> u32 {
        self.0.lock().unwrap().0
    }
}

impl Default for Fuse {
    fn default() -> Self {
        Self::new(0..0)
    }
}

/// Asks its fuse when it is dropped.
pub(crate) struct Bomb(pub(crate) Fuse);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.ask();
    }
}
