//! What can be observed while a cache serves requests.

use crate::trace::KeyId;

/// Observes a cache and its queue, and changes nothing. What an observer ignores costs nothing.
pub(crate) trait Observer {
    fn advance_begins(&mut self) {}
    fn advanced(&mut self, _now_ns: u64) {}
    fn scheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}
    fn rescheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}
    fn cancelled(&mut self, _key: KeyId) {}
    /// A key's timer fired, with the deadline the queue reports for it, on the way to a time.
    fn expired(&mut self, _now_ns: u64, _key: KeyId, _deadline_ns: u64) {}
}

impl Observer for () {}
