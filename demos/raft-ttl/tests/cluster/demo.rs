//! The demonstration, on a small input, and what it leaves behind: nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// The processes that have a path in their arguments, where the system tells.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let arguments = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    let arguments = arguments.map(|it| String::from_utf8_lossy(&it).replace('\0', " "));
    arguments.filter(|it| it.contains(folder)).collect()
}

#[track_caller]
fn assert_nothing_left(folder: &TempDir) {
    assert_eq!(processes_of(folder.path()), [""; 0]);
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

#[test]
fn demo_shows_that_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = verdict_of(&folder, &["--keys", "250", "--ttl", "20s"], 260);
    let killed = stdout.split_once("the leader, is killed; ").and_then(|(_, rest)| rest.split_once(" keys wait"));
    assert!(killed.unwrap().0.parse::<u32>().unwrap() >= 200, "{stdout}");
}

#[test]
fn burst_is_gone_in_a_few_entries() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = verdict_of(&folder, &["--burst", "--keys", "2000", "--ttl", "15s"], 2_000);
    let entries = stdout.split_once("the expiries took ").and_then(|(_, rest)| rest.split_once(" entries of the log"));
    // They are due at one moment, but each put is a millisecond of its own, and may be a poll of its own.
    assert!(entries.unwrap().0.parse::<u32>().unwrap() <= 100, "{stdout}");
}

/// A demonstration that has come to its nodes, and will take an hour.
fn running(folder: &TempDir) -> Child {
    let mut running = demo(folder, &["--ttl", "1h"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(running.stdout.as_mut().unwrap()).lines();
    let leads = lines.map_while(Result::ok).find(|line| line.contains("leads"));
    assert!(leads.is_some(), "a leader");
    running
}

#[cfg(unix)]
#[test]
fn interrupted_demo_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let running = running(&folder);
        let id = running.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert_nothing_left(&folder);
    }
}

#[test]
fn killed_demo_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = running(&folder);
    running.kill().unwrap();
    running.wait().unwrap();
    // It could not do a thing any more, but its nodes hear that it is gone.
    let deadline = Instant::now() + PATIENCE;
    while !processes_of(folder.path()).is_empty() {
        assert!(Instant::now() < deadline, "nodes outlive their demonstration");
        sleep(GLANCE);
    }
}
