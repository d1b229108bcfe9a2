//! The commands as a user types them.

use std::io::{BufRead, Read};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use durable_jobs::store::{MAX_NUMBER, MAX_PAYLOAD};

/// Runs a command, which waits for a slow server; answers its status and what it says.
pub(crate) fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    let Output { status, stdout, stderr } =
        command.args(arguments).args(["--patience", "2m"]).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn commands_do_what_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    let on_store = |arguments: &[&str]| run(&[arguments, &["--store", &name]].concat());

    let (status, out, err) = on_store(&["put", "a mail", "--in", "1h"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let id = out.trim_end();
    assert!(id.parse::<u64>().unwrap() <= MAX_NUMBER);
    assert_eq!(
        on_store(&["put", "another", "--at", "2130-01-31T12:00:00Z", "--id", "7"]),
        (0, "7\n".to_owned(), String::new())
    );
    let (status, _, err) = on_store(&["put", "another", "--id", "7"]);
    assert_eq!((status, err.as_str()), (2, "durable-jobs: a job with this id is waiting already\n"));
    assert_eq!(on_store(&["put", "x", "--copies", "2500", "--over", "1day", "--in", "1h"]).0, 0);
    let (status, out, _) = on_store(&["status"]);
    assert!(status == 0 && out.lines().count() == 18 && out.ends_with("\n2502 jobs, 0 failed\n"), "{out}");
    assert_eq!(on_store(&["cancel", id]), (0, String::new(), String::new()));
    assert_eq!(on_store(&["cancel", id]), (1, String::new(), "durable-jobs: no such job\n".to_owned()));
    assert!(on_store(&["status"]).1.ends_with("\n2501 jobs, 0 failed\n"));
}

/// Starts a worker and waits until it has stopped by itself. Answers what it says.
fn work_until_it_fails(name: &str, stdout: Stdio) -> (i32, String) {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    worker.args(["worker", "--store", name]).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    let mut worker = worker.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while worker.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = worker.kill();
    let Output { status, stderr, .. } = worker.wait_with_output().unwrap();
    (status.code().unwrap_or(-1), String::from_utf8(stderr).unwrap())
}

/// A job whose line cannot be written was not done.
#[test]
fn worker_stops_where_its_lines_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    assert_eq!(run(&["put", "x", "--copies", "100", "--store", &name]).0, 0);
    let (reader, pipe) = std::io::pipe().unwrap();
    drop(reader);
    let full = std::fs::File::options().write(true).open("/dev/full");
    let outputs = full.into_iter().map(Stdio::from).chain([Stdio::from(pipe)]);
    for output in outputs {
        let (status, err) = work_until_it_fails(&name, output);
        assert_eq!((status, err.lines().last().unwrap().contains("standard output: ")), (1, true), "{err}");
        assert!(run(&["status", "--store", &name]).1.ends_with("\n100 jobs, 0 failed\n"));
    }
}

/// A payload with the end of a line is one line.
#[test]
fn worker_escapes_payloads() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    assert_eq!(run(&["put", "one\ntwo \\ é", "--id", "7", "--store", &name]).0, 0);
    let mut worker = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    worker.args(["worker", "--store", &name]).stdout(Stdio::piped()).stdin(Stdio::null());
    let mut worker = worker.spawn().unwrap();
    let mut line = String::new();
    std::io::BufReader::new(worker.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(line.starts_with("7 1 ") && line.ends_with(" one\\ntwo \\\\ \\xc3\\xa9\n"), "{line:?}");
}

#[test]
fn worker_runs_programs_and_tries_again() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    let out = directory.path().join("out");
    let script = format!("echo \"$(cat) $JOB_ID $JOB_ATTEMPT\" >>{}; test $JOB_ATTEMPT -gt 1", out.display());
    for (id, payload) in [("1", "one"), ("2", "two")] {
        assert_eq!(run(&["put", payload, "--id", id, "--store", &name]).0, 0);
    }
    let mut worker = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    worker.args(["worker", "--lifeline", "--store", &name, "--exec", "sh", "-c", &script]).stdin(Stdio::piped());
    let mut worker = worker.stdout(Stdio::null()).spawn().unwrap();
    let lines = || std::fs::read_to_string(&out).unwrap_or_default().lines().count();
    let end = Instant::now() + Duration::from_secs(60);
    while lines() < 4 {
        assert!(Instant::now() < end, "{} lines", lines());
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(worker.stdin.take());
    assert!(worker.wait().unwrap().success());
    let text = std::fs::read_to_string(&out).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one 1 1", "one 1 2", "two 2 1", "two 2 2"]);
    assert!(run(&["status", "--store", &name]).1.ends_with("\n0 jobs, 0 failed\n"));
}

/// What a program has started ends with its claim, and with the worker if that is killed.
#[test]
fn programs_end_with_their_claims_and_with_the_worker() {
    let directory = tempfile::tempdir().unwrap();
    let (name, out) = (directory.path().join("jobs.redb").display().to_string(), directory.path().join("out"));
    assert_eq!(run(&["put", "x", "--store", &name]).0, 0);
    let script = format!("sleep 300 & echo $! >>{}; wait", out.display());
    let mut worker = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    worker.args(["worker", "--lease", "3s", "--store", &name, "--exec", "sh", "-c", &script]);
    let mut worker = worker.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let started = || std::fs::read_to_string(&out).unwrap_or_default();
    let ended = |nth: usize| {
        let state =
            Command::new("ps").args(["-o", "stat=", "-p", started().lines().nth(nth).unwrap()]).output().unwrap();
        state.stdout.is_empty() || state.stdout.starts_with(b"Z")
    };
    until("a second attempt", &|| started().lines().count() == 2);
    until("the end of the first", &|| ended(0));
    assert!(!ended(1));
    worker.kill().unwrap();
    worker.wait().unwrap();
    until("the end of the second", &|| ended(1));
}

/// Attempts end: the job is kept with its last error, is counted, and is brought back.
#[test]
fn worker_gives_up_after_its_attempts() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    let on_store = |arguments: &[&str]| run(&[arguments, &["--store", &name]].concat());
    assert_eq!(on_store(&["put", "x", "--id", "7"]).0, 0);
    let mut worker = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    worker.args(["worker", "--lifeline", "--store", &name, "--attempts", "2", "--exec", "sh", "-c", "exit 3"]);
    let mut worker = worker.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let until = |wanted: &str| {
        let end = Instant::now() + Duration::from_secs(60);
        while !on_store(&["status"]).1.ends_with(wanted) {
            assert!(Instant::now() < end, "{:?}", on_store(&["status"]));
        }
    };
    until("\n0 jobs, 1 failed\n");
    assert!(on_store(&["status"]).1.contains("\njob 7, attempt 2: sh: exit status: 3\n"));
    assert_eq!(on_store(&["retry"]), (0, "1\n".to_owned(), String::new()));
    until("\n0 jobs, 1 failed\n");
    drop(worker.stdin.take());
    let said = String::from_utf8(worker.wait_with_output().unwrap().stderr).unwrap();
    let attempts: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("durable-jobs: job 7, attempt ")).collect();
    assert_eq!(attempts, ["1: sh: exit status: 3", "2: sh: exit status: 3"].repeat(2), "{said}");
    assert_eq!((on_store(&["retry", "7"]).1, on_store(&["retry", "7"]).1), ("1\n".to_owned(), "0\n".to_owned()));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (name, other, long) = (path("jobs.redb"), path("other.redb"), "x".repeat(MAX_PAYLOAD + 1));
    assert_eq!(run(&["put", "x", "--in", "1h", "--store", &name]).0, 0);
    std::fs::write(&other, "not a database of jobs, but a text that is long enough to be read").unwrap();
    let missing = path("missing/jobs.redb");
    let beyond = (MAX_NUMBER + 1).to_string();
    let cases: &[(&[&str], &str)] = &[
        (&["put", "x", "--store", "mysql://localhost/jobs"], "unknown store \"mysql\""),
        (&["put", "x", "--store", "postgres://localhost:port/jobs"], "port"),
        (&["status", "--store", &other], "other.redb"),
        (&["status", "--store", &missing], "missing/jobs.redb"),
        (&["status", "--store", &name, "--partitions", "8"], "this is \"durable-jobs 2: 16 partitions, store 1 of 1\""),
        (&["status", "--store", &name, "--store", &name], "a store is named twice"),
        (&["status", "--store", &path("a"), "--store", &path("b"), "--partitions", "1"], "cannot be spread"),
        (&["put", &long], "more than 65536 bytes"),
        (&["put", "x", "--at", "1969-12-31T23:59:59Z"], "1969-12-31"),
        (&["put", "x", "--at", "tomorrow"], "tomorrow"),
        (&["put", "x", "--in=-1s"], "-1s"),
        (&["put", "x", "--in", "soon"], "soon"),
        (&["put", "x", "--in", "300000000years"], "beyond 9223372036854775807"),
        (&["put", "x", "--in", "1s", "--at", "2030-01-31T12:00:00Z"], "--at"),
        (&["put", "x", "--id", &beyond], "beyond 9223372036854775807"),
        (&["put", "x", "--id", "seven"], "seven"),
        (&["put"], "PAYLOAD"),
        (&["worker", "--lease", "1ms"], "from 100ms to 1day"),
        (&["worker", "--tenure", "ages"], "ages"),
        (&["worker", "--capacity", "0"], "--capacity"),
        (&["worker", "--at-once", "0"], "--at-once"),
        (&["worker", "--attempts", "0"], "--attempts"),
        (&["status", "--no-prepare"], "--no-news"),
        (&["retry", "seven"], "seven"),
        (&["demo", "--over", "1s"], "from 2s to 1day"),
        (&["demo", "--jobs", "0"], "--jobs"),
        (&["demo", "--store", &name], "there are jobs in the store"),
        (&["compare"], "compare wants one --store"),
        (&["compare", "--store", &name], "it wants postgres://"),
        (&["fly"], "fly"),
    ];
    for (arguments, reason) in cases {
        let (status, out, err) = run(arguments);
        assert_eq!((status, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.lines().count() == 1 && err.contains(reason), "{arguments:?}: {err}");
    }
    assert!(!std::path::Path::new("jobs.redb").exists(), "what is refused leaves nothing behind");
    assert_eq!(run(&["cancel", &beyond, "--store", &name]).0, 1);
    assert!(run(&["status", "--store", &name]).1.ends_with("\n1 jobs, 0 failed\n"));
}

/// A limit on the length of the file makes a write fail, as a full disk does.
#[test]
fn file_is_opened_anew_after_a_write_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    let program = env!("CARGO_BIN_EXE_durable-jobs");
    let script = format!("trap '' XFSZ; ulimit -f 16384; exec {program} worker --lifeline --store {name}");
    let mut holder = Command::new("sh");
    let mut holder = holder.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    holder.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let put = |payload: &str, copies: &str| run(&["put", payload, "--in", "1h", "--copies", copies, "--store", &name]);
    let (status, _, err) = put(&"x".repeat(60_000), "300");
    assert!(status == 1 && err.lines().count() == 1, "{err}");
    let put_again = (0..50).map(|_| put("x", "1").0).find(|status| *status == 0);
    assert_eq!(put_again, Some(0), "the holder opens the file anew");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
}

#[test]
fn damaged_file_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("jobs.redb").display().to_string();
    assert_eq!(run(&["put", "x", "--in", "1h", "--copies", "3000", "--store", &name]).0, 0);
    let whole = std::fs::read(&name).unwrap();
    let mut refused = 0;
    for page in (0..whole.len()).step_by(1 << 12) {
        let mut damaged = whole.clone();
        damaged[page..(page + 4096).min(whole.len())].fill(0xff);
        if damaged == whole || whole[page..].iter().take(4096).all(|byte| *byte == 0) {
            continue;
        }
        std::fs::write(&name, damaged).unwrap();
        let (status, _, err) = run(&["status", "--store", &name]);
        assert!(status == 0 || status == 2 && err.lines().count() == 1, "page {page}: {status}, {err}");
        refused += usize::from(status == 2);
    }
    assert!(refused > 3, "{refused} were refused");
}
