//! What can be watched while a cache serves requests.

use crate::trace::KeyId;

/// Someone who watches a cache and its queue. Watching changes nothing; by default nothing is seen, and
/// the compiler leaves no trace of it.
pub(crate) trait Observer {
    /// One call to advance the queue begins.
    fn call_begins(&mut self) {}

    /// That call has ended.
    fn call_ended(&mut self) {}

    /// The queue has been advanced to a time, in however many calls.
    fn advanced(&mut self, _now_ns: u64) {}

    /// A key was given a timer.
    fn scheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}

    /// A key's timer was moved.
    fn rescheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}

    /// A key's timer was taken out.
    fn cancelled(&mut self, _key: KeyId) {}

    /// A key's timer fired, with the deadline the queue reports for it, on the way to a time.
    fn expired(&mut self, _now_ns: u64, _key: KeyId, _deadline_ns: u64) {}
}

/// Nobody.
pub(crate) struct Nobody;

impl Observer for Nobody {}

/// Two observers at once.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn call_begins(&mut self) {
        self.0.call_begins();
        self.1.call_begins();
    }

    fn call_ended(&mut self) {
        self.0.call_ended();
        self.1.call_ended();
    }

    fn advanced(&mut self, now_ns: u64) {
        self.0.advanced(now_ns);
        self.1.advanced(now_ns);
    }

    fn scheduled(&mut self, key: KeyId, deadline_ns: u64) {
        self.0.scheduled(key, deadline_ns);
        self.1.scheduled(key, deadline_ns);
    }

    fn rescheduled(&mut self, key: KeyId, deadline_ns: u64) {
        self.0.rescheduled(key, deadline_ns);
        self.1.rescheduled(key, deadline_ns);
    }

    fn cancelled(&mut self, key: KeyId) {
        self.0.cancelled(key);
        self.1.cancelled(key);
    }

    fn expired(&mut self, now_ns: u64, key: KeyId, deadline_ns: u64) {
        self.0.expired(now_ns, key, deadline_ns);
        self.1.expired(now_ns, key, deadline_ns);
    }
}
