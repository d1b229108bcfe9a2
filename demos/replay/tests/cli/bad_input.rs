//! Bad input of every kind: an error that names file, line and what was expected, exit status 2.

use crate::command::{Folder, gzip};

const GOOD: &str = "7,a,1,1,1,set,10\n";

/// Refused with status 2, without a panic, without results, and with these words.
#[track_caller]
fn assert_refused(folder: &Folder, arguments: &str, words: &[&str]) {
    let before = folder.files();
    let ran = folder.run(arguments);
    assert_eq!(ran.status, 2, "{arguments}: {}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "{arguments}: no `{word}` in: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert_eq!(folder.files(), before, "{arguments}");
}

#[test]
fn trace_that_is_malformed_is_refused() {
    let folder = Folder::new();
    let long = "7,a,".repeat(50_000);
    for (third, expected) in [
        ("", "expected timestamp,key"),
        ("8,a,1,1,1,steal,0", "expected get, gets, set"),
        ("6,a,1,1,1,get,0", "expected a time no earlier than 7"),
        (&long, "expected a line of a trace, which is shorter, found `7,a,7"),
    ] {
        let trace = format!("{GOOD}{GOOD}{third}\n{GOOD}");
        folder.write("plain", &trace);
        folder.write("packed", gzip(&trace));
        for name in ["plain", "packed"] {
            assert_refused(&folder, &format!("--trace {name}"), &[&format!("{name}:3: "), expected]);
        }
    }
    for trace in ["time;key;op\n", "\u{0}\u{1}\u{fffd}\n", "\n\n", "1,2\n"] {
        folder.write("trace", trace);
        assert_refused(&folder, "--trace trace", &["trace:1: unknown format", "twitter", "cloudphysics"]);
    }
}

#[test]
fn trace_that_is_missing_empty_truncated_or_damaged_is_refused() {
    let folder = Folder::new();
    assert_refused(&folder, "--trace nowhere", &["nowhere: expected a trace", "cannot be opened"]);
    assert_refused(&folder, "--trace .", &[".: is a folder; expected a trace"]);
    for empty in [b"".to_vec(), gzip(b""), b"version,time,op,size,lbn\n".to_vec()] {
        folder.write("empty", empty);
        assert_refused(&folder, "--trace empty", &["empty:1: no requests: expected"]);
    }
    let line = |second: u32| format!("{second},key-{},4,1,1,set,10\n", second * 7919 % 1000);
    let trace: String = (0..2_000).map(line).collect();
    let mut packed = gzip(&trace);
    let length = packed.len();
    for length in [3, 10, 11, length / 2, length - 9, length - 8, length - 1] {
        folder.write("cut", &packed[..length]);
        assert_refused(&folder, "--trace cut", &["cut:", "truncated", "expected a complete"]);
    }
    folder.write("cut", &trace[..trace.len() - 12]);
    assert_refused(&folder, "--trace cut", &["cut:2000: malformed line"]);
    // The checksum is eight bytes before the end.
    packed[length - 8] ^= 1;
    folder.write("damaged", packed);
    assert_refused(&folder, "--trace damaged", &["damaged:2001: ", "expected a complete"]);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let folder = Folder::new();
    folder.write("file", "");
    for (arguments, word) in [
        ("--profile cluster99", "cluster4"),
        ("--queue heap", "btree"),
        ("--geometry seconds", "millis"),
        ("--expire never", "after-write"),
        ("--capacity 0", "--capacity"),
        ("--requests 0", "not in 1.."),
        ("--requests 18446744073709551615", "memory"),
        ("--seed one", "invalid digit"),
        ("--ttl 0s", "expected a TTL with its unit, such as 300s"),
        ("--ttl 200y", "at most 4294967295s"),
        ("--ttl 10", "expected a TTL with its unit"),
        ("--ttl=-5s", "expected a TTL with its unit"),
        ("--ttl 99999999999999999999d", "expected a TTL with its unit"),
        ("--trace file --profile cluster4", "--profile"),
        ("extra", "extra"),
    ] {
        assert_refused(&folder, arguments, &[word]);
    }
}

#[test]
fn arguments_for_results_that_make_no_sense_are_refused_before_the_work() {
    let folder = Folder::new();
    folder.write("file", "");
    for (arguments, words) in [
        ("--requests 4000000 --report file", "file: cannot be written"),
        ("--requests 4000000 --json file/figures.json", "file/figures.json: cannot be written"),
        ("--requests 4000000 --json .", ".: cannot be written"),
        ("--rounds 100", "not in 1..100"),
        ("--watch", "--watch: stdout is not a terminal"),
        ("--watch --queue btree", "cannot be used with"),
        ("--watch --rounds 3", "cannot be used with"),
        ("--watch --report r", "cannot be used with"),
        ("--watch --json -", "cannot be used with"),
        ("--watch --quiet", "cannot be used with"),
    ] {
        let output = folder.command(arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(words), "{arguments}: {stderr}");
        assert_eq!(folder.files(), ["file"]);
    }
}
