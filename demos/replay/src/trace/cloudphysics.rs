//! Lines of the CloudPhysics traces: one request of a virtual machine to its disk each.
//!
//! `version,time,op,size,lbn`, under a header of just that, `time` in seconds, `op` a SCSI opcode in
//! hexadecimal. The key is the logical block number; how many blocks follow it is ignored. A read fetches
//! (a miss fills the cache), a write sets. There are no TTLs, so that nothing expires unless `--ttl`
//! gives one.

use super::bad_line::BadLine;
use super::record::Record;
use super::{Operation, field};

/// The header, which is optional.
pub(super) const HEADER: &[u8] = b"version,time,op,size,lbn";

const OPCODES: &str = "the SCSI opcode of a read (08, 28, 88, a8) or a write (0a, 2a, 8a, aa)";

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Result<Record, BadLine> {
    let [version, time, opcode, size, block] =
        field::exactly(line).ok_or_else(|| BadLine::new(String::from_utf8_lossy(HEADER), line))?;
    field::number(version, "the version")?;
    let at_s = field::time_s(time)?;
    let operation = meaning(opcode).ok_or_else(|| BadLine::new(OPCODES, opcode))?;
    field::number(size, "the size")?;
    Ok(Record {
        at_s,
        operation,
        key: field::number(block, "the logical block number")?.into(),
        ttl_s: 0,
    })
}

/// What an opcode does to a cache of blocks.
fn meaning(opcode: &[u8]) -> Option<Operation> {
    match opcode.to_ascii_lowercase().as_slice() {
        b"8" | b"08" | b"28" | b"88" | b"a8" => Some(Operation::Fetch),
        b"a" | b"0a" | b"2a" | b"8a" | b"aa" => Some(Operation::Set),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_of_a_line_reads_all_its_fields() {
        let record = parse(b"1,5633898,2a,512,42932745").unwrap();
        assert_eq!(record.at_s, 5_633_898);
        assert_eq!(record.operation, Operation::Set);
        assert_eq!(record.key, 42_932_745);
        assert_eq!(parse(b"1,5,28,512,7").unwrap().operation, Operation::Fetch);
    }

    #[test]
    fn parse_of_a_bad_line_says_what_was_expected() {
        for (line, expected) in [
            (&b""[..], "version,time,op,size,lbn"),
            (b"1,5,28,512", "version,time,op,size,lbn"),
            (b"1,5,28,512,7,8", "version,time,op,size,lbn"),
            (b"v,5,28,512,7", "the version"),
            (b"1,5.5,28,512,7", "a time in seconds"),
            (b"1,5,35,512,7", "the SCSI opcode"),
            (b"1,5,28,,7", "the size"),
            (b"1,5,28,512,", "the logical block number"),
        ] {
            let refused = parse(line).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
