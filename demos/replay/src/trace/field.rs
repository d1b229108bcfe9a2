//! The fields of a comma-separated line, read as the numbers they should be.

use super::bad_line::BadLine;
use super::{TIME_LIMIT_S, TTL_LIMIT_S};

/// Reads a field as an unsigned decimal number.
pub(super) fn number(field: &[u8], name: &str) -> Result<u64, BadLine> {
    digits(field).ok_or_else(|| BadLine::new(format!("{name} as a whole number"), field))
}

/// Reads a time in seconds.
pub(super) fn time_s(field: &[u8]) -> Result<u64, BadLine> {
    digits(field)
        .filter(|&time| time < TIME_LIMIT_S)
        .ok_or_else(|| BadLine::new(format!("a time in seconds below {TIME_LIMIT_S}"), field))
}

/// Reads a TTL in seconds.
pub(super) fn ttl_s(field: &[u8]) -> Result<u32, BadLine> {
    digits(field)
        .and_then(|ttl| u32::try_from(ttl).ok())
        .ok_or_else(|| {
            let expected = format!("a TTL in seconds from 0 (none) to {TTL_LIMIT_S}");
            BadLine::new(expected, field)
        })
}

/// Splits a line at its commas into exactly `N` fields.
pub(super) fn exactly<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields = line.split(|&byte| byte == b',');
    let mut found = [&line[..0]; N];
    for place in &mut found {
        *place = fields.next()?;
    }
    fields.next().is_none().then_some(found)
}

/// A non-empty run of digits that fits, and nothing else: no sign, no blanks.
fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_takes_digits_only() {
        assert_eq!(number(b"0042", "n"), Ok(42));
        assert_eq!(number(b"18446744073709551615", "n"), Ok(u64::MAX));
        for bad in [
            &b""[..],
            b"-1",
            b"+1",
            b" 1",
            b"1.5",
            b"18446744073709551616",
        ] {
            assert!(number(bad, "n").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_are_exact() {
        assert_eq!(ttl_s(b"4294967295"), Ok(u32::MAX));
        assert!(ttl_s(b"4294967296").is_err());
        assert!(ttl_s(b"-1").is_err());
        assert!(time_s(b"8589934591").is_ok());
        assert!(time_s(b"8589934592").is_err());
    }

    #[test]
    fn exactly_counts_the_commas() {
        assert_eq!(exactly::<2>(b"a,b"), Some([&b"a"[..], b"b"]));
        assert_eq!(exactly::<2>(b"a"), None);
        assert_eq!(exactly::<2>(b"a,b,c"), None);
    }
}
