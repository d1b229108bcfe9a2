//! A program that is run for a job. Its process group ends with the claim of the job, and with the worker.

use std::io;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::worker::Delivery;

/// How often the head of a group looks whether the worker is there, where no signal tells it.
const GLANCE: Duration = Duration::from_secs(1);

/// A process group, which is killed in the end.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.0.map(|head| kill_process_group(head, Signal::KILL));
    }
}

/// Runs a program for a job. If this is dropped, the program ends with all that it has started.
pub async fn execute(program: Vec<String>, job: Delivery) -> Result<(), String> {
    let said = |error: io::Error| format!("{}: {error}", program[0]);
    // That of this process, also if the file was replaced meanwhile.
    let linux = cfg!(target_os = "linux").then(|| PathBuf::from("/proc/self/exe"));
    let own = linux.map_or_else(std::env::current_exe, Ok).map_err(said)?;
    let mut command = Command::new(own);
    command.arg0("durable-jobs").args(["keep", &std::process::id().to_string()]).args(&program).process_group(0);
    command.env("JOB_ID", job.id.to_string()).env("JOB_ATTEMPT", job.attempt.to_string());
    let mut head = command.stdin(Stdio::piped()).kill_on_drop(true).spawn().map_err(said)?;
    let _group = Group(head.id().and_then(|id| Pid::from_raw(id as i32)));
    if let Some(mut stdin) = head.stdin.take() {
        // A program need not read it.
        let _ = stdin.write_all(&job.payload).await;
    }
    let status = head.wait().await.map_err(said)?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", program[0])) }
}

/// Runs a program as the head of a process group, which it kills when the worker dies. Answers the status as shells do.
pub async fn keep(worker: u32, program: &[String]) -> ExitCode {
    let Ok(mut told) = signal(SignalKind::terminate()) else { return ExitCode::FAILURE };
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
    let mut child = match Command::new(&program[0]).args(&program[1..]).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("durable-jobs: {}: {error}", program[0]);
            return ExitCode::from(127);
        }
    };
    let orphaned = async {
        while parent_id() == worker {
            sleep(GLANCE).await;
        }
    };
    tokio::select! {
        ended = child.wait() => {
            let status = ended.unwrap_or_default();
            ExitCode::from(status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8)
        }
        _ = told.recv() => end_group(),
        () = orphaned => end_group(),
    }
}

fn end_group() -> ExitCode {
    drop(Group(Some(rustix::process::getpgrp())));
    ExitCode::FAILURE
}
