//! Bad input of every kind: an error that names file, line and what was expected, exit status 2.

use crate::command::{Folder, Ran, gzip};

/// Refused with status 2, without a panic, without files, and with these words.
#[track_caller]
fn assert_refused(folder: &Folder, ran: &Ran, words: &[&str]) {
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "no `{word}` in: {}", ran.stderr);
    }
    assert_eq!(folder.list("report"), [""; 0]);
    assert!(ran.json.is_none());
}

/// A trace with this in place of its third line.
#[track_caller]
fn assert_third_line_refused(line: &str, expected: &str) {
    let folder = Folder::new();
    let trace = format!("7,a,1,1,1,set,10\n8,a,1,1,1,get,0\n{line}\n9,a,1,1,1,get,0\n");
    folder.write("trace.csv", &trace);
    folder.write("trace.gz", gzip(trace.as_bytes()));
    for name in ["trace.csv", "trace.gz"] {
        let ran = folder.run(&format!("--trace {name}"));
        assert_refused(&folder, &ran, &[&format!("{name}:3: "), expected]);
    }
}

#[test]
fn line_that_is_malformed_is_refused() {
    assert_third_line_refused("", "expected timestamp,key");
    assert_third_line_refused("8,a,1,1,get,0", "expected timestamp,key");
    assert_third_line_refused("eight,a,1,1,1,get,0", "expected a time in seconds");
    assert_third_line_refused("8.5,a,1,1,1,get,0", "expected a time in seconds");
    assert_third_line_refused(
        "99999999999999999999,a,1,1,1,get,0",
        "expected a time in seconds",
    );
    assert_third_line_refused("8,,1,1,1,get,0", "expected a key");
    assert_third_line_refused("8,a,1,-1,1,get,0", "expected the value size");
    assert_third_line_refused("8,a,1,1,1,steal,0", "expected get, gets, set");
    assert_third_line_refused("7,a,1,1,1,get,0", "expected a time no earlier than 8");
    assert_third_line_refused(&"7,a,".repeat(50_000), "found `<a line longer");
}

#[test]
fn ttl_out_of_range_is_refused() {
    let range = "expected a TTL in seconds from 0 (none) to 4294967295";
    assert_third_line_refused("8,a,1,1,1,set,4294967296", range);
    assert_third_line_refused("8,a,1,1,1,set,-1", range);
    assert_third_line_refused("8,a,1,1,1,set,1e3", range);
    assert_third_line_refused("8,a,1,1,1,set,", range);
    assert_third_line_refused("8,a,1,1,1,set,99999999999999999999999", range);
}

#[test]
fn ttl_argument_out_of_range_is_refused() {
    let folder = Folder::new();
    for ttl in ["0s", "200y", "10", "abc", "99999999999999999999d", "-5s"] {
        let ran = folder.run(&format!("--requests 10 --ttl={ttl}"));
        assert_refused(
            &folder,
            &ran,
            &["--ttl", "expected a TTL with its unit, such as 300s"],
        );
    }
}

#[test]
fn format_that_is_unknown_is_refused() {
    let folder = Folder::new();
    for trace in ["time;key;op\n", "\u{0}\u{1}\u{fffd}\n", "\n\n", "1,2\n"] {
        folder.write("trace", trace);
        let ran = folder.run("--trace trace");
        let words = ["trace:1: unknown format", "twitter", "cloudphysics"];
        assert_refused(&folder, &ran, &words);
    }
    assert_refused(
        &folder,
        &folder.run("--trace trace --format cvs"),
        &["--format", "twitter"],
    );
}

#[test]
fn format_that_is_wrong_is_refused() {
    let folder = Folder::new();
    folder.write("trace", "7,a,1,1,1,set,10\n");
    let ran = folder.run("--trace trace --format cloudphysics");
    assert_refused(
        &folder,
        &ran,
        &["trace:1: malformed line: expected version,time,op,size,lbn"],
    );
}

#[test]
fn skipping_does_not_wade_through_a_file_of_another_kind() {
    let folder = Folder::new();
    folder.write("trace", "what is this?\n".repeat(5_000));
    let ran = folder.run("--trace trace --skip-bad-lines");
    assert_refused(&folder, &ran, &["trace:1001: unknown format"]);
    folder.write("trace", "what is this?\n".repeat(50));
    let ran = folder.run("--trace trace --skip-bad-lines");
    assert_refused(&folder, &ran, &["trace:1: no requests", "skipped 50 lines"]);
}

#[test]
fn file_that_is_missing_or_empty_or_a_folder_is_refused() {
    let folder = Folder::new();
    let ran = folder.run("--trace nowhere.csv");
    assert_refused(
        &folder,
        &ran,
        &["nowhere.csv: cannot be opened", "expected a trace"],
    );
    folder.write("empty", "");
    assert_refused(
        &folder,
        &folder.run("--trace empty"),
        &["empty:1: no requests: expected"],
    );
    folder.write("empty.gz", gzip(b""));
    assert_refused(
        &folder,
        &folder.run("--trace empty.gz"),
        &["empty.gz:1: no requests"],
    );
    folder.write("header", "version,time,op,size,lbn\n");
    assert_refused(
        &folder,
        &folder.run("--trace header"),
        &["header:1: no requests"],
    );
    let ran = folder.run("--trace .");
    assert_refused(&folder, &ran, &[".: is a folder; expected a trace"]);
}

#[test]
fn file_that_is_truncated_is_refused_wherever_it_was_cut() {
    let folder = Folder::new();
    let line = |second: u32| format!("{second},key-{},4,1,1,set,10\n", second * 7919 % 1000);
    let trace: String = (0..2_000).map(line).collect();
    let whole = gzip(trace.as_bytes());
    for length in [
        3,
        10,
        11,
        whole.len() / 2,
        whole.len() - 9,
        whole.len() - 8,
        whole.len() - 1,
    ] {
        folder.write("cut.gz", &whole[..length]);
        for options in ["", "--skip-bad-lines"] {
            let ran = folder.run(&format!("--trace cut.gz {options}"));
            assert_refused(
                &folder,
                &ran,
                &["cut.gz:", "truncated", "expected a complete"],
            );
        }
    }
    folder.write("cut", &trace[..trace.len() - 12]);
    assert_refused(
        &folder,
        &folder.run("--trace cut"),
        &["cut:2000: malformed line"],
    );
}

#[test]
fn file_that_is_damaged_is_refused() {
    let folder = Folder::new();
    let mut packed = gzip("7,a,1,1,1,set,10\n".repeat(2_000).as_bytes());
    // The checksum stands eight bytes before the end.
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    folder.write("damaged.gz", &packed);
    let ran = folder.run("--trace damaged.gz");
    assert_refused(&folder, &ran, &["damaged.gz:2001: ", "expected a complete"]);
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
        ("--budget 0", "expected a number of units from 1 to"),
        ("--budget 1e3", "expected a number of units from 1 to"),
        ("--capacity 0", "expected a number of entries from 1 to"),
        ("--requests 0", "expected a number of requests from 1 to"),
        ("--seed one", "expected a number from 0 to"),
        ("--rounds 100", "expected a number of rounds from 1 to 99"),
        ("--requests 18446744073709551615", "memory"),
        ("--skip-bad-lines", "--trace"),
        ("--trace file --profile cluster4", "--profile"),
        ("extra", "extra"),
    ] {
        assert_refused(&folder, &folder.run(arguments), &[word]);
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let folder = Folder::new();
    folder.write("file", "");
    for arguments in [
        ["--report", "file"],
        #[cfg(target_os = "linux")]
        ["--report", "/proc/nowhere/report"],
        ["--json", "file/figures.json"],
        ["--json", "."],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_replay"));
        command
            .current_dir(folder.path("."))
            .args(arguments)
            .args(["--requests", "4000000"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("cannot be written"), "{stderr}");
        assert_eq!(folder.list("."), ["file"]);
    }
}
