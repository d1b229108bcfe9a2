//! Interrupts in the middle of a run.

#![cfg(unix)]

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
