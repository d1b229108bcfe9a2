//! Interrupts in the middle of a run.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::command::Folder;

#[test]
fn interrupt_leaves_no_files_behind() {
    let folder = Folder::new();
    for signal in ["-INT", "-TERM"] {
        // Many minutes of work, of which it announces the first second's.
        let mut run = folder
            .command("--requests 400000 --rounds 99 --json figures.json")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut announced = String::new();
        BufReader::new(run.stdout.take().unwrap())
            .read_line(&mut announced)
            .unwrap();
        assert!(announced.starts_with("trace"), "{announced}");
        let sent = Command::new("kill")
            .args([signal, &run.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains("interrupted, no report written"),
            "{stderr}"
        );
        assert_eq!(folder.list("."), [""; 0]);
    }
}

#[test]
fn second_interrupt_ends_a_run_that_waits_for_its_trace() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let mut run = folder.command("--trace pipe").spawn().unwrap();
    // Opens when the other end does, and says nothing.
    let silent = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let status = loop {
        // The first is noted; nothing else happens until a line comes, which none does.
        let sent = Command::new("kill")
            .args(["-INT", &run.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(130));
    drop(silent);
    assert_eq!(folder.list("."), ["pipe"]);
}
