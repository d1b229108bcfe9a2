//! Snapshots as bytes: one encoding, the same on every machine.
//!
//! ```text
//! magic     4 bytes   "TTLQ"
//! version   1 byte    1
//! count     u64       number of entries
//! entries             in ascending order of key, without duplicates; each:
//!   length    u64       bytes of the key
//!   key                 as the caller writes it
//!   index     u64
//!   owner     u128
//!   start     u64       leader's wall clock in ms
//!   ttl       u64       ms, not 0
//! checksum  u32       CRC-32 (IEEE) of all bytes before it
//! ```
//!
//! All numbers are little-endian. The checksum is there to notice damage, not forgery.

use alloc::vec::Vec;

use super::TtlQueue;
use super::entry::Entry;
use super::error::DecodeError;
use crate::geometry::Geometry;

/// The version of the encoding that this version of the crate writes, and the latest it reads.
///
/// ```
/// use timer_wheel::ttl::{TtlConfig, TtlQueue, VERSION};
///
/// let queue: TtlQueue<u8> = TtlQueue::new(0, TtlConfig::default());
/// assert_eq!(queue.encode(|key, bytes| bytes.push(*key))[4], VERSION);
/// ```
pub const VERSION: u8 = 1;

const MAGIC: [u8; 4] = *b"TTLQ";

/// Bytes of magic, version and count.
const HEAD: usize = MAGIC.len() + 1 + size_of::<u64>();

/// Bytes of an entry with an empty key: length, index, start and TTL, and the owner.
const LEAST_ENTRY: usize = 4 * size_of::<u64>() + size_of::<u128>();

const CHECKSUM: usize = size_of::<u32>();

impl<K: Ord, G: Geometry, S> TtlQueue<K, G, S> {
    /// All entries as bytes, to be read by [`decode`]: the same bytes on every replica that applied
    /// the same log. O(n log n).
    ///
    /// `write_key` appends a key to the bytes it is given; its length is kept for it.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue, decode};
    ///
    /// let mut queue: TtlQueue<String> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key".to_string(), 5, Context::default()).unwrap();
    /// let bytes = queue.encode(|key, bytes| bytes.extend_from_slice(key.as_bytes()));
    ///
    /// let entries = decode(&bytes, |key| String::from_utf8(key.to_vec()).ok()).unwrap();
    /// assert!(queue.snapshot().eq(&entries));
    /// assert!(decode(&bytes[1..], |_| Some(0)).is_err());
    /// ```
    pub fn encode(&self, mut write_key: impl FnMut(&K, &mut Vec<u8>)) -> Vec<u8> {
        let entries = self.snapshot();
        let mut bytes = Vec::with_capacity(HEAD + entries.len() * LEAST_ENTRY + CHECKSUM);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&(entries.len() as u64).to_le_bytes());
        let mut key = Vec::new();
        for entry in entries {
            key.clear();
            write_key(&entry.key, &mut key);
            bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&key);
            bytes.extend_from_slice(&entry.index.to_le_bytes());
            bytes.extend_from_slice(&entry.owner.to_le_bytes());
            bytes.extend_from_slice(&entry.leader_start_ms.to_le_bytes());
            bytes.extend_from_slice(&entry.ttl_ms.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// The entries of an encoded snapshot, to be given to [`TtlQueue::restore`]. O(bytes).
///
/// `read_key` makes a key of its bytes, or refuses with `None`. What is allocated follows from the
/// length of the input, never from a number within it.
///
/// # Errors
///
/// [`DecodeError`] for whatever [`TtlQueue::encode`] cannot have written. Every change within four
/// bytes is noticed; so are, but for one in 2^32, all other changes, cuts and additions.
///
/// ```
/// use timer_wheel::ttl::{Context, DecodeError, TtlConfig, TtlQueue, decode};
///
/// let mut queue: TtlQueue<u8> = TtlQueue::new(0, TtlConfig::default());
/// queue.init(1, 7, 5, Context::default())?;
/// let mut bytes = queue.encode(|key, bytes| bytes.push(*key));
/// let read_key = |key: &[u8]| <[u8; 1]>::try_from(key).ok().map(|[key]| key);
/// let entries = decode(&bytes, read_key).unwrap();
/// assert_eq!((entries[0].key, entries[0].ttl_ms), (7, 5));
///
/// bytes[20] ^= 1;
/// assert_eq!(decode(&bytes, read_key), Err(DecodeError::ChecksumMismatch));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
pub fn decode<K: Ord>(
    bytes: &[u8],
    mut read_key: impl FnMut(&[u8]) -> Option<K>,
) -> Result<Vec<Entry<K>>, DecodeError> {
    let mut head = Reader { rest: bytes };
    if head.array() != Ok(MAGIC) {
        return Err(DecodeError::NotASnapshot);
    }
    let [version] = head.array()?;
    if version != VERSION {
        return Err(DecodeError::UnknownVersion(version));
    }
    let (sound, checksum) = bytes
        .split_last_chunk::<CHECKSUM>()
        .map(|(body, checksum)| (body, u32::from_le_bytes(*checksum)))
        .filter(|(body, _)| body.len() >= HEAD)
        .ok_or(DecodeError::Truncated)?;
    if crc32fast::hash(sound) != checksum {
        return Err(DecodeError::ChecksumMismatch);
    }
    let mut body = Reader {
        rest: &sound[MAGIC.len() + 1..],
    };
    let entries = body.entries(&mut read_key)?;
    if !body.rest.is_empty() {
        return Err(DecodeError::TrailingBytes);
    }
    Ok(entries)
}

/// What is left of the bytes.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn entries<K: Ord>(
        &mut self,
        read_key: &mut impl FnMut(&[u8]) -> Option<K>,
    ) -> Result<Vec<Entry<K>>, DecodeError> {
        let count = self.number()?;
        let most = self.rest.len() / LEAST_ENTRY;
        let room = usize::try_from(count).ok().filter(|&count| count <= most);
        let mut entries: Vec<Entry<K>> = Vec::with_capacity(room.ok_or(DecodeError::Truncated)?);
        for nth in 0..count {
            let length = self.number()?;
            let key = read_key(self.slice(length)?).ok_or(DecodeError::UnreadableKey(nth))?;
            if entries.last().is_some_and(|last| last.key >= key) {
                return Err(DecodeError::OutOfOrder(nth));
            }
            let entry = Entry {
                key,
                index: self.number()?,
                owner: u128::from_le_bytes(self.array()?),
                leader_start_ms: self.number()?,
                ttl_ms: self.number()?,
            };
            if entry.ttl_ms == 0 {
                return Err(DecodeError::ZeroTtl(nth));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }

    fn slice(&mut self, length: u64) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
        let parts = self.rest.split_at_checked(length);
        let (slice, rest) = parts.ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(slice)
    }
}
