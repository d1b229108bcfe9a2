//! Interrupts in the middle of a run.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::command::Folder;

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn interrupt_leaves_no_files_behind() {
    let folder = Folder::new();
    for signal in ["-INT", "-TERM"] {
        // Many minutes of work, which it announces in the first second.
        let mut run = folder.command("--requests 400000 --rounds 99 --json figures.json");
        let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut announced = String::new();
        BufReader::new(run.stdout.take().unwrap()).read_line(&mut announced).unwrap();
        assert!(announced.starts_with("trace"), "{announced}");
        send(signal, run.id());
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("interrupted, no report written"), "{stderr}");
        assert_eq!(folder.files(), [""; 0]);
    }
}

#[test]
fn second_interrupt_ends_a_run_that_waits_for_its_trace() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut run = folder.command("--trace pipe").spawn().unwrap();
    // Opens when the other end does, and sends nothing.
    let silent = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let status = loop {
        // The first is noted; nothing else happens until a line comes, which none does.
        send("-INT", run.id());
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(130));
    drop(silent);
    assert_eq!(folder.files(), ["pipe"]);
}
