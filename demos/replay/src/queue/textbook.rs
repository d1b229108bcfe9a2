//! The wheel of textbooks, one list node a timer, as a queue: what other wheels do.

use timer_wheel::Geometry;
use timer_wheel_bench::textbook::{TextbookKey, TextbookWheel};

use super::{Backlog, Queue};
use crate::trace::KeyId;

/// The list-based wheel, in the same geometry as the wheel it is compared with.
pub(crate) struct Textbook<G: Geometry>(TextbookWheel<KeyId, G>);

impl<G: Geometry> Textbook<G> {
    /// An empty queue at a time in nanoseconds.
    pub(crate) fn new(now_ns: u64) -> Self {
        Self(TextbookWheel::new(now_ns))
    }
}

impl<G: Geometry> Queue for Textbook<G> {
    type Key = TextbookKey;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> TextbookKey {
        self.0.schedule(deadline_ns, key)
    }

    fn cancel(&mut self, timer: TextbookKey) {
        self.0.cancel(timer);
    }

    fn reschedule(&mut self, timer: TextbookKey, deadline_ns: u64) {
        self.0.reschedule(timer, deadline_ns);
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        while let Some((deadline_ns, key)) = self.0.pop_expired(now_ns) {
            expire(key, deadline_ns);
        }
        Backlog::Done
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
