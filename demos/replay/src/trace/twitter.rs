//! Lines of the Twitter cache traces: one request to a Twemcache cluster each.
//!
//! `timestamp (s), anonymized key, key size, value size, client id, operation, TTL (s, 0 = none)`, without
//! a header. The first field and the last five are fixed, so that whatever stands between them, commas
//! included, is the key.
//!
//! Operations mean what they mean to memcached, with two things left out. A `cas` is taken to win, because
//! the trace does not say. A TTL past 30 days is a TTL, not a date, because these traces were written
//! that way. What the client fetched after a miss is in the trace as a line of its own, so that a `get`
//! never fills the cache here.
//!
//! Traces: twitter/cache-trace, CC BY 4.0; Yang, Yue, Rashmi, "A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter", OSDI 2020.

use xxhash_rust::xxh3::xxh3_128;

use super::bad_line::BadLine;
use super::record::Record;
use super::{Operation, field};

const LINE: &str = "timestamp,key,key size,value size,client id,operation,TTL";

const OPERATIONS: &str =
    "get, gets, set, add, replace, cas, append, prepend, delete, incr or decr as the operation";

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Result<Record, BadLine> {
    let [time, key, key_size, value_size, client, operation, ttl] =
        fields(line).ok_or_else(|| BadLine::new(LINE, line))?;
    let at_s = field::time_s(time)?;
    if key.is_empty() {
        return Err(BadLine::new(format!("a key in {LINE}"), line));
    }
    field::number(key_size, "the key size")?;
    field::number(value_size, "the value size")?;
    if client.is_empty() {
        return Err(BadLine::new(format!("a client id in {LINE}"), line));
    }
    Ok(Record {
        at_s,
        operation: meaning(operation).ok_or_else(|| BadLine::new(OPERATIONS, operation))?,
        key: xxh3_128(key),
        ttl_s: field::ttl_s(ttl)?,
    })
}

/// Splits a line: the first field, the last five, and the key in between.
fn fields(line: &[u8]) -> Option<[&[u8]; 7]> {
    let mut from_the_end = line.rsplitn(6, |&byte| byte == b',');
    let mut next = || from_the_end.next();
    let [ttl, operation, client, value_size, key_size] =
        [next()?, next()?, next()?, next()?, next()?];
    let time_and_key = next()?;
    let comma = time_and_key.iter().position(|&byte| byte == b',')?;
    let (time, key) = (&time_and_key[..comma], &time_and_key[comma + 1..]);
    Some([time, key, key_size, value_size, client, operation, ttl])
}

/// What an operation does to a cache that stores no values.
fn meaning(operation: &[u8]) -> Option<Operation> {
    Some(match operation {
        b"get" | b"gets" => Operation::Get,
        b"set" => Operation::Set,
        b"add" => Operation::Add,
        b"replace" | b"cas" => Operation::Replace,
        b"append" | b"prepend" | b"incr" | b"decr" => Operation::Modify,
        b"delete" => Operation::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_of_a_line_reads_all_its_fields() {
        let record = parse(b"12,nz:u:eeW511W3dcH3de3d15ec,22,304,9,add,3600").unwrap();
        assert_eq!(record.at_s, 12);
        assert_eq!(record.operation, Operation::Add);
        assert_eq!(record.ttl_s, 3600);
    }

    #[test]
    fn parse_of_a_key_with_commas_keeps_them_in_the_key() {
        let record = parse(b"12,a,b,,3,304,9,get,0").unwrap();
        assert_eq!(record.key, xxh3_128(b"a,b,"));
    }

    #[test]
    fn parse_of_a_bad_line_says_what_was_expected() {
        for (line, expected) in [
            (&b""[..], LINE),
            (b"1,k,1,1,1,get", LINE),
            (b"x,k,1,1,1,get,0", "a time in seconds"),
            (b"1,,1,1,1,get,0", "a key"),
            (b"1,k,x,1,1,get,0", "the key size"),
            (b"1,k,1,-1,1,get,0", "the value size"),
            (b"1,k,1,1,,get,0", "a client id"),
            (b"1,k,1,1,1,fetch,0", "as the operation"),
            (b"1,k,1,1,1,set,4294967296", "a TTL in seconds"),
            (b"1,k,1,1,1,set,-5", "a TTL in seconds"),
        ] {
            let refused = parse(line).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
