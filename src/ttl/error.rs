//! Errors of the TTL layer.

use core::error::Error;
use core::fmt;

/// Why a TTL, a configuration or a set of entries was refused. Nothing was changed.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlError, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// let refused = queue.init("key", 1, u64::MAX, Context::default());
/// assert!(matches!(refused, Err(TtlError::TtlTooLong { ttl_ms: u64::MAX, .. })));
/// assert!(queue.is_empty());
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TtlError {
    /// The TTL is longer than [`TtlConfig::max_ttl`](super::TtlConfig::max_ttl).
    TtlTooLong {
        /// The TTL asked for, in milliseconds.
        ttl_ms: u64,
        /// The longest one allowed, in milliseconds.
        max_ms: u64,
    },
    /// An entry to be restored has a TTL of 0, which no snapshot holds.
    ZeroTtl,
    /// Two entries to be restored have the same key.
    DuplicateKey,
    /// As many entries are held as can be: 1,073,741,824.
    Full,
    /// A configuration that cannot work; the text says what about it.
    InvalidConfig(&'static str),
}

impl fmt::Display for TtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TtlTooLong { ttl_ms, max_ms } => {
                write!(f, "a TTL of {ttl_ms} ms is past the {max_ms} ms allowed")
            }
            Self::ZeroTtl => f.write_str("an entry to be restored has a TTL of 0"),
            Self::DuplicateKey => f.write_str("two entries to be restored have the same key"),
            Self::Full => f.write_str("there are as many entries as there can be"),
            Self::InvalidConfig(reason) => f.write_str(reason),
        }
    }
}

impl Error for TtlError {}
