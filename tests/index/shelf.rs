//! A store whose records come and go without the wheel being told.

use timer_wheel::index::{Timer, Timers};

/// Records by index, some of them missing.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Vec<Option<Timer>>);

impl Shelf {
    pub(crate) fn new(records: u32) -> Self {
        Self((0..records).map(|_| Some(Timer::new())).collect())
    }

    /// Puts another record in the place of one, or none, and returns the one that was there.
    pub(crate) fn replace(&mut self, index: u32, timer: Option<Timer>) -> Option<Timer> {
        std::mem::replace(&mut self.0[index as usize], timer)
    }

    pub(crate) fn swap(&mut self, a: u32, b: u32) {
        self.0.swap(a as usize, b as usize);
    }
}

impl Timers for Shelf {
    fn timer(&self, index: u32) -> Option<&Timer> {
        self.0.get(index as usize)?.as_ref()
    }

    fn timer_mut(&mut self, index: u32) -> Option<&mut Timer> {
        self.0.get_mut(index as usize)?.as_mut()
    }
}
