//! What a line of a trace says, whatever its format.

use super::Operation;
use super::interner::Fingerprint;

/// One line, understood.
#[derive(Debug)]
pub(super) struct Record {
    /// When, in seconds.
    pub(super) at_s: u64,
    /// What.
    pub(super) operation: Operation,
    /// To which key.
    pub(super) key: Fingerprint,
    /// With which TTL, in seconds; 0 is none.
    pub(super) ttl_s: u32,
}
