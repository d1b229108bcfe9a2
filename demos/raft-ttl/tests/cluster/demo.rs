//! The demonstration, on a small input, and what it leaves behind: nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tempfile::TempDir;

use crate::process::{GLANCE, PATIENCE, program};

/// The demonstration in a folder of its own for temporary files.
fn demo(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.env("TMPDIR", folder.path()).arg("demo").args(arguments);
    command
}

/// The numbers of the processes that have a path in their arguments.
fn processes_of(folder: &TempDir) -> Vec<u8> {
    Command::new("pgrep").arg("-f").arg(folder.path()).output().unwrap().stdout
}

#[track_caller]
fn assert_nothing_left(folder: &TempDir) {
    assert_eq!(processes_of(folder), b"");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// What the demonstration tells, whose last line must be that all is well with so many keys.
#[track_caller]
fn verdict_of(folder: &TempDir, arguments: &[&str], keys: u32) -> String {
    let output = demo(folder, arguments).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stdout}{stderr}");
    let verdict = format!("acknowledged {keys}, lost 0, resurrected 0, early 0, twice 0");
    assert_eq!(stdout.lines().last(), Some(verdict.as_str()), "{stdout}");
    assert_nothing_left(folder);
    stdout
}

fn number_after(text: &str, words: &str) -> u32 {
    let (_, rest) = text.split_once(words).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn demo_shows_that_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = verdict_of(&folder, &["--keys", "250", "--ttl", "20s"], 260);
    assert!(number_after(&stdout, "the leader, is killed; ") >= 200, "{stdout}");
}

#[test]
fn burst_is_gone_in_a_few_entries() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = verdict_of(&folder, &["--burst", "--keys", "2000", "--ttl", "15s"], 2_000);
    // They are due at one moment, but each put is a millisecond of its own, and may be a poll of its own.
    assert!(number_after(&stdout, "the expiries took ") <= 100, "{stdout}");
}

/// Stops a demonstration by a signal once it has come to its nodes, and says how it ends.
fn stopped(folder: &TempDir, signal: &str) -> Output {
    let mut running = demo(folder, &["--ttl", "1h"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(running.stdout.as_mut().unwrap()).lines();
    let leads = lines.map_while(Result::ok).find(|line| line.contains("leads"));
    assert!(leads.is_some(), "a leader");
    let sent = Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
    assert!(sent.success());
    running.wait_with_output().unwrap()
}

#[test]
fn interrupted_or_killed_demo_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let output = stopped(&folder, signal);
        assert_eq!((output.status.code(), &*output.stderr), (Some(130), &b"raft-ttl: interrupted\n"[..]));
        assert_nothing_left(&folder);
    }
    // It could not do a thing any more, but its nodes hear that it is gone.
    let folder = tempfile::tempdir().unwrap();
    stopped(&folder, "-KILL");
    let deadline = Instant::now() + PATIENCE;
    while !processes_of(&folder).is_empty() {
        assert!(Instant::now() < deadline, "nodes outlive their demonstration");
        sleep(GLANCE);
    }
}
