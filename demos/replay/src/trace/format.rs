//! The lines of a trace file, in one of two formats.
//!
//! Twitter: `timestamp (s), anonymized key, key size, value size, client id, operation, TTL (s, 0 = none)`.
//! The first field and the last five are fixed; whatever stands between them, commas included, is the key.
//! A TTL past 30 days is a TTL, not a date, because these traces were written that way. The write after a miss
//! has a line of its own, so a `get` never fills the cache here. Traces: twitter/cache-trace, CC BY 4.0; Yang,
//! Yue, Rashmi, "A large scale analysis of hundreds of in-memory cache clusters at Twitter", OSDI 2020.
//!
//! CloudPhysics: `version,time,op,size,lbn`, `time` in seconds, `op` a SCSI opcode in hexadecimal. The key is
//! the logical block number; how many blocks follow it is ignored. A read fetches (a miss fills the cache), a
//! write sets. There are no TTLs, so nothing expires without `--ttl`.

use xxhash_rust::xxh3::xxh3_128;

use super::{Operation, TIME_LIMIT_S, TTL_LIMIT_S};

/// Reads one line of a format, or says what was expected of it.
pub(super) type Format = fn(&[u8]) -> Result<Record, String>;

/// The header of a CloudPhysics trace, which is optional.
const HEADER: &[u8] = b"version,time,op,size,lbn";
const TWITTER: &str = "timestamp,key,key size,value size,client id,operation,TTL";
const OPERATIONS: &str = "get, gets, set, add, replace, cas, append, prepend, delete, incr or decr as the operation";
const OPCODES: &str = "the SCSI opcode of a read (08, 28, 88, a8) or a write (0a, 2a, 8a, aa)";
const FORMATS: &str = "a line of a trace (twitter: timestamp,key,key size,value size,client id,operation,TTL; \
    cloudphysics: version,time,op,size,lbn)";

/// How much of an offending text is shown, in characters.
const SHOWN: usize = 60;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) at_s: u64,
    pub(super) operation: Operation,
    /// The key itself if it is a number, or else its hash. Among 2^32 keys, the most a trace may have, two share
    /// a hash with a probability of 2^-65.
    pub(super) key: u128,
    pub(super) ttl_s: u32,
}

/// The format of a file, by its first line.
pub(super) fn guess(line: &[u8]) -> Result<Format, String> {
    if is_header(line) || cloudphysics(line).is_ok() {
        Ok(cloudphysics)
    } else if twitter(line).is_ok() {
        Ok(twitter)
    } else {
        Err(format!("unknown format: {}", refusal(FORMATS, line)))
    }
}

/// Whether a line is the header that a CloudPhysics trace may begin with.
pub(super) fn is_header(line: &[u8]) -> bool {
    line == HEADER
}

fn twitter(line: &[u8]) -> Result<Record, String> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    let [time, key @ .., key_size, value_size, client, operation, ttl] = fields.as_slice() else {
        return Err(refusal(TWITTER, line));
    };
    let at_s = time_s(time)?;
    let key = key.join(&b',');
    if key.is_empty() {
        return Err(refusal(format!("a key in {TWITTER}"), line));
    }
    number(key_size, "the key size")?;
    number(value_size, "the value size")?;
    if client.is_empty() {
        return Err(refusal(format!("a client id in {TWITTER}"), line));
    }
    let ttl_s = digits(ttl).and_then(|ttl| u32::try_from(ttl).ok());
    Ok(Record {
        at_s,
        operation: Operation::of_memcached(operation).ok_or_else(|| refusal(OPERATIONS, operation))?,
        key: xxh3_128(&key),
        ttl_s: ttl_s.ok_or_else(|| refusal(format!("a TTL in seconds from 0 (none) to {TTL_LIMIT_S}"), ttl))?,
    })
}

fn cloudphysics(line: &[u8]) -> Result<Record, String> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    let [version, time, opcode, size, block] = fields.as_slice() else {
        return Err(refusal(String::from_utf8_lossy(HEADER), line));
    };
    number(version, "the version")?;
    let at_s = time_s(time)?;
    let operation = match opcode.to_ascii_lowercase().as_slice() {
        b"8" | b"08" | b"28" | b"88" | b"a8" => Operation::Fetch,
        b"a" | b"0a" | b"2a" | b"8a" | b"aa" => Operation::Set,
        _ => return Err(refusal(OPCODES, opcode)),
    };
    number(size, "the size")?;
    Ok(Record { at_s, operation, key: number(block, "the logical block number")?.into(), ttl_s: 0 })
}

fn time_s(field: &[u8]) -> Result<u64, String> {
    let time = digits(field).filter(|&time| time < TIME_LIMIT_S);
    time.ok_or_else(|| refusal(format!("a time in seconds below {TIME_LIMIT_S}"), field))
}

fn number(field: &[u8], name: &str) -> Result<u64, String> {
    digits(field).ok_or_else(|| refusal(format!("{name} as a whole number"), field))
}

/// A run of digits that fits, and nothing else: no sign, no blanks.
fn digits(field: &[u8]) -> Option<u64> {
    let is_number = field.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(field).ok().filter(|_| is_number)?.parse().ok()
}

/// What was expected in the place of a text, which may hold anything and is made printable and short.
pub(super) fn refusal(expected: impl std::fmt::Display, found: &[u8]) -> String {
    let mut shown: String = found.escape_ascii().take(SHOWN + 1).map(char::from).collect();
    if shown.len() > SHOWN {
        shown.replace_range(SHOWN.., "...");
    }
    format!("expected {expected}, found `{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_field_by_field() {
        let read = |format: Format, line: &[u8]| {
            let record = format(line).unwrap();
            (record.at_s, record.operation, record.key, record.ttl_s)
        };
        let add = b"12,nz:u:eeW511W3dcH3de3d15ec,22,304,9,add,4294967295";
        let key = xxh3_128(b"nz:u:eeW511W3dcH3de3d15ec");
        assert_eq!(read(twitter, add), (12, Operation::Add, key, u32::MAX));
        let commas = b"8589934591,a,b,,3,304,9,get,0";
        let key = xxh3_128(b"a,b,");
        assert_eq!(read(twitter, commas), (8_589_934_591, Operation::Get, key, 0));
        let write = b"1,5633898,2a,512,42932745";
        assert_eq!(read(cloudphysics, write), (5_633_898, Operation::Set, 42_932_745, 0));
        let fetch = b"1,05,28,512,18446744073709551615";
        assert_eq!(read(cloudphysics, fetch), (5, Operation::Fetch, u64::MAX.into(), 0));
    }

    #[test]
    fn line_that_is_malformed_is_refused_with_what_was_expected() {
        const BLOCKS: &str = "version,time,op,size,lbn";
        for (format, line, expected) in [
            (twitter as Format, "", TWITTER),
            (twitter, "1,k,1,1,1,get", TWITTER),
            (twitter, "x,k,1,1,1,get,0", "a time in seconds"),
            (twitter, "+1,k,1,1,1,get,0", "a time in seconds"),
            (twitter, " 1,k,1,1,1,get,0", "a time in seconds"),
            (twitter, "1.5,k,1,1,1,get,0", "a time in seconds"),
            (twitter, "8589934592,k,1,1,1,get,0", "a time in seconds"),
            (twitter, "99999999999999999999,k,1,1,1,get,0", "a time in seconds"),
            (twitter, "1,,1,1,1,get,0", "a key in"),
            (twitter, "1,k,x,1,1,get,0", "the key size"),
            (twitter, "1,k,1,-1,1,get,0", "the value size"),
            (twitter, "1,k,1,1,,get,0", "a client id"),
            (twitter, "1,k,1,1,1,steal,0", "as the operation, found `steal`"),
            (twitter, "1,k,1,1,1,set,4294967296", "a TTL in seconds from 0 (none) to 4294967295"),
            (twitter, "1,k,1,1,1,set,-5", "a TTL in seconds"),
            (twitter, "1,k,1,1,1,set,1e3", "a TTL in seconds"),
            (twitter, "1,k,1,1,1,set,", "a TTL in seconds"),
            (cloudphysics, "", BLOCKS),
            (cloudphysics, "1,5,28,512", BLOCKS),
            (cloudphysics, "1,5,28,512,7,8", BLOCKS),
            (cloudphysics, "v,5,28,512,7", "the version"),
            (cloudphysics, "1,5.5,28,512,7", "a time in seconds"),
            (cloudphysics, "1,5,35,512,7", "the SCSI opcode"),
            (cloudphysics, "1,5,28,,7", "the size"),
            (cloudphysics, "1,5,28,512,", "the logical block number"),
        ] {
            let refused = format(line.as_bytes()).unwrap_err();
            assert!(refused.contains(expected), "{line}: {refused}");
        }
        let any_bytes = refusal("a number", &[b"a\x1b[2J\nb", [0xff; 5_000].as_slice()].concat());
        assert!(any_bytes.starts_with(r"expected a number, found `a\x1b[2J\nb\xff"), "{any_bytes}");
        assert!(any_bytes.ends_with("...`") && any_bytes.len() < 100, "{any_bytes}");
    }
}
