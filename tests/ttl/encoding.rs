//! The encoding of snapshots: what is written is read, and nothing else is.

use timer_wheel::ttl::{Context, DecodeError, Entry, TtlConfig, TtlQueue, VERSION, decode};

fn queue() -> TtlQueue<String> {
    let mut queue = TtlQueue::new(0, TtlConfig::default());
    for (index, key) in ["b", "", "a key that is rather long", "a"]
        .iter()
        .enumerate()
    {
        let ctx = Context {
            owner: u128::MAX - index as u128,
            leader_start_ms: 1_700_000_000_000 + index as u64,
            created_ns: 5,
        };
        let index = 1 + index as u64;
        queue
            .init(index, (*key).to_string(), 1_000 * index, ctx)
            .unwrap();
    }
    queue
}

fn encode(queue: &TtlQueue<String>) -> Vec<u8> {
    queue.encode(|key, bytes| bytes.extend_from_slice(key.as_bytes()))
}

fn read(bytes: &[u8]) -> Result<Vec<Entry<String>>, DecodeError> {
    decode(bytes, |key| String::from_utf8(key.to_vec()).ok())
}

/// An encoding with a checksum that is right, of whatever lies between.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.extend_from_slice(&crc32(body).to_le_bytes());
    bytes
}

/// CRC-32 (IEEE) bit by bit, from its definition.
fn crc32(bytes: &[u8]) -> u32 {
    let mut register = u32::MAX;
    for &byte in bytes {
        register ^= u32::from(byte);
        for _ in 0..8 {
            let carry = register & 1;
            register >>= 1;
            if carry == 1 {
                register ^= 0xEDB8_8320;
            }
        }
    }
    !register
}

fn head(count: u64) -> Vec<u8> {
    let mut bytes = b"TTLQ\x01".to_vec();
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes
}

fn entry(key: &[u8], ttl_ms: u64) -> Vec<u8> {
    let mut bytes = (key.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&7_u64.to_le_bytes());
    bytes.extend_from_slice(&9_u128.to_le_bytes());
    bytes.extend_from_slice(&11_u64.to_le_bytes());
    bytes.extend_from_slice(&ttl_ms.to_le_bytes());
    bytes
}

#[test]
fn what_is_encoded_is_decoded() {
    let queue = queue();
    let entries = read(&encode(&queue)).unwrap();
    assert!(queue.snapshot().eq(&entries));
    assert_eq!(entries[0].key, "");
    let mut other: TtlQueue<String> = TtlQueue::new(1 << 40, TtlConfig::default());
    other.restore(entries, 1 << 40, 1_700_000_000_500).unwrap();
    assert_eq!(
        encode(&other),
        encode(&queue),
        "byte for byte on another replica"
    );

    let empty: TtlQueue<String> = TtlQueue::new(0, TtlConfig::default());
    assert_eq!(read(&encode(&empty)), Ok(Vec::new()));
}

/// The layout that `docs/ttl.md` states, byte by byte: it must never change under this version.
#[test]
fn encoding_is_as_documented() {
    let mut queue: TtlQueue<String> = TtlQueue::new(0, TtlConfig::default());
    let ctx = Context {
        owner: 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10,
        leader_start_ms: 0x1112_1314,
        created_ns: 99,
    };
    queue.init(0x21, "k".to_string(), 0x31, ctx).unwrap();
    let body = [
        b"TTLQ".as_slice(),
        &[VERSION],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 0],
        b"k",
        &[0x21, 0, 0, 0, 0, 0, 0, 0],
        &[16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
        &[0x14, 0x13, 0x12, 0x11, 0, 0, 0, 0],
        &[0x31, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(VERSION, 1);
    assert_eq!(encode(&queue), sealed(&body));
}

#[test]
fn every_changed_bit_is_refused() {
    let bytes = encode(&queue());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let expected = match at {
                0..4 => DecodeError::NotASnapshot,
                4 => DecodeError::UnknownVersion(damaged[4]),
                _ => DecodeError::ChecksumMismatch,
            };
            assert_eq!(read(&damaged), Err(expected), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    let bytes = encode(&queue());
    for length in 0..bytes.len() {
        let expected = match length {
            0..4 => DecodeError::NotASnapshot,
            4..17 => DecodeError::Truncated,
            _ => DecodeError::ChecksumMismatch,
        };
        assert_eq!(read(&bytes[..length]), Err(expected), "cut to {length}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(read(&longer), Err(DecodeError::ChecksumMismatch));
    let twice = [bytes.as_slice(), &bytes].concat();
    assert_eq!(read(&twice), Err(DecodeError::ChecksumMismatch));
}

/// Bytes with a right checksum that no queue has written.
#[test]
fn forgeries_are_refused_without_believing_their_numbers() {
    let cases: [(Vec<u8>, DecodeError); 12] = [
        (head(u64::MAX), DecodeError::Truncated),
        (head(1), DecodeError::Truncated),
        (
            [head(1 << 60), entry(b"a", 1)].concat(),
            DecodeError::Truncated,
        ),
        ([head(2), entry(b"a", 1)].concat(), DecodeError::Truncated),
        (
            [head(1), entry(b"a", 1)[..40].to_vec()].concat(),
            DecodeError::Truncated,
        ),
        (
            [head(1), u64::MAX.to_le_bytes().to_vec(), vec![0; 80]].concat(),
            DecodeError::Truncated,
        ),
        (
            [head(0), entry(b"a", 1)].concat(),
            DecodeError::TrailingBytes,
        ),
        (
            [head(1), entry(b"a", 1), vec![0]].concat(),
            DecodeError::TrailingBytes,
        ),
        ([head(1), entry(b"a", 0)].concat(), DecodeError::ZeroTtl(0)),
        (
            [head(2), entry(b"a", 1), entry(b"a", 1)].concat(),
            DecodeError::OutOfOrder(1),
        ),
        (
            [head(3), entry(b"a", 1), entry(b"c", 1), entry(b"b", 1)].concat(),
            DecodeError::OutOfOrder(2),
        ),
        (
            [head(2), entry(b"a", 1), entry(b"\xFF", 1)].concat(),
            DecodeError::UnreadableKey(1),
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(read(&sealed(&body)), Err(expected));
    }
    assert!(read(&sealed(&[head(1), entry(b"a", 1)].concat())).is_ok());
}

/// Nothing is read, nor room made, of more entries than there can be in so many bytes.
#[test]
fn count_beyond_the_bytes_is_refused_before_any_key_is_read() {
    let mut keys = 0;
    let mut decode_claiming = |count: u64| {
        let body = [head(count), entry(b"", 1), entry(b"b", 1)].concat();
        let decoded = decode(&sealed(&body), |key| {
            keys += 1;
            Some(key.to_vec())
        });
        (decoded.map(|entries| entries.len()), keys)
    };
    assert_eq!(decode_claiming(3), (Err(DecodeError::Truncated), 0));
    assert_eq!(decode_claiming(2), (Ok(2), 2));
}

#[cfg(feature = "serde")]
#[test]
fn snapshot_passes_through_serde() {
    let queue = queue();
    let text = serde_json::to_string(&queue.snapshot()).unwrap();
    let entries: Vec<Entry<String>> = serde_json::from_str(&text).unwrap();
    assert!(queue.snapshot().eq(&entries));
    let unknown = text.replace("\"index\"", "\"indexes\"");
    assert!(serde_json::from_str::<Vec<Entry<String>>>(&unknown).is_err());
}
