//! What the TTL layer refuses, and why.

use core::error::Error;
use core::fmt;

/// Why a TTL, a configuration or a set of entries was refused. Nothing was changed.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlConfig, TtlError, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// let refused = queue.init(1, "key", u64::MAX, Context::default());
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
    /// As many entries are held as a queue can hold: 2^30.
    Full,
    /// A configuration that cannot work; the text says what about it.
    InvalidConfig(&'static str),
}

impl fmt::Display for TtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TtlTooLong { ttl_ms, max_ms } => {
                write!(
                    f,
                    "a TTL of {ttl_ms} ms is longer than the {max_ms} ms allowed"
                )
            }
            Self::ZeroTtl => f.write_str("an entry to be restored has a TTL of 0"),
            Self::DuplicateKey => f.write_str("two entries to be restored have the same key"),
            Self::Full => f.write_str("the queue holds as many entries as it can"),
            Self::InvalidConfig(reason) => f.write_str(reason),
        }
    }
}

impl Error for TtlError {}

/// Why bytes are no encoded snapshot that [`decode`](super::decode) can read.
///
/// ```
/// use timer_wheel::ttl::{DecodeError, decode};
///
/// let refused = decode(b"something else", |_| Some(0));
/// assert_eq!(refused, Err(DecodeError::NotASnapshot));
/// assert_eq!(DecodeError::NotASnapshot.to_string(), "not an encoded snapshot of TTL entries");
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes do not begin as an encoded snapshot does.
    NotASnapshot,
    /// A version of the encoding that this version of the crate does not know.
    UnknownVersion(u8),
    /// The bytes end before the snapshot can.
    Truncated,
    /// The checksum does not match: bytes have been changed, cut off or added.
    ChecksumMismatch,
    /// There are bytes behind the last entry.
    TrailingBytes,
    /// The caller's function could not read the key of this entry, counted from 0.
    UnreadableKey(u64),
    /// The key of this entry, counted from 0, is not above the one before it.
    OutOfOrder(u64),
    /// The TTL of this entry, counted from 0, is 0.
    ZeroTtl(u64),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => f.write_str("not an encoded snapshot of TTL entries"),
            Self::UnknownVersion(version) => write!(f, "unknown snapshot version {version}"),
            Self::Truncated => f.write_str("the snapshot is cut short"),
            Self::ChecksumMismatch => f.write_str("the checksum of the snapshot does not match"),
            Self::TrailingBytes => f.write_str("there are bytes behind the last entry"),
            Self::UnreadableKey(nth) => write!(f, "the key of entry {nth} cannot be read"),
            Self::OutOfOrder(nth) => write!(f, "entry {nth} is not in order of key"),
            Self::ZeroTtl(nth) => write!(f, "entry {nth} has a TTL of 0"),
        }
    }
}

impl Error for DecodeError {}
