//! Each public error leaves a program by `?`, as `Box<dyn Error + Send + Sync>` or `anyhow` want it.

#![cfg(all(feature = "local", feature = "retry", feature = "timer", feature = "ttl"))]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::future::pending;
use std::path::Path;
use std::time::Duration;

use timer_wheel::local::{LocalTimer, TurnClock};
use timer_wheel::retry::{RetryConfig, RetryQueue};
use timer_wheel::timer::{Missed, Reason, Refused};
use timer_wheel::ttl::{TtlConfig, TtlSet};
use timer_wheel::{Clock, KeyedTimer, Shutdown, Timer};

type AnyError = Box<dyn Error + Send + Sync>;

/// What a program prints that ends with the error.
fn printed(program: impl FnOnce() -> Result<(), AnyError>) -> String {
    program().expect_err("the program fails").to_string()
}

/// A job that may go to another thread, but whose value two threads may not look at.
fn job() -> impl FnMut() + Send {
    let runs = Cell::new(0);
    move || runs.set(runs.get() + 1)
}

const IDLE: Duration = Duration::from_secs(60);

/// A program that ends with a job that was refused.
fn leave<T, F>(refused: Result<T, Refused<F>>) -> Result<(), AnyError> {
    refused.map_err(Reason::from)?;
    Ok(())
}

#[test]
fn refused_job_that_is_not_sync_leaves_by_the_question_mark() {
    /// A function whose error is a `Reason` needs no `map_err`.
    fn start(timer: &Timer) -> Result<(), Reason> {
        timer.schedule_after(IDLE, job())?;
        Ok(())
    }
    let timer = Timer::new().unwrap();
    assert_eq!(start(&timer), Ok(()));
    let (keyed, instant) = (KeyedTimer::new(timer.clone()), timer_wheel::SystemClock::new().origin());
    timer.shutdown(Shutdown::Discard).unwrap();
    assert_eq!(start(&timer), Err(Reason::ShutDown));
    let errors = [
        leave(timer.schedule_after(IDLE, job())),
        leave(timer.schedule_at(instant, job())),
        leave(timer.every(IDLE, Missed::Skip, job())),
        leave(keyed.set_after(1, IDLE, job())),
        leave(keyed.set_at(1, instant, job())),
    ];
    for error in errors {
        assert_eq!(printed(|| error), "the timer is shut down");
    }
}

#[test]
fn other_errors_leave_by_the_question_mark() {
    let timer = Timer::new().unwrap();
    let elapsed = printed(|| {
        pollster::block_on(timer.timeout(Duration::from_millis(1), pending::<()>()))?;
        Ok(())
    });
    timer.shutdown(Shutdown::Discard).unwrap();
    let ended = printed(|| Ok(pollster::block_on(timer.sleep(IDLE))?));
    assert_eq!((elapsed.as_str(), ended.as_str()), ("the time is up", "the timer is shut down"));

    let local = LocalTimer::new(TurnClock::new());
    let elapsed_locally = printed(|| {
        pollster::block_on(local.timeout(Duration::ZERO, pending::<()>()))?;
        Ok(())
    });
    let ttl = printed(|| {
        let mut config = TtlConfig::default();
        config.expire_batch = 0;
        Ok(TtlSet::<u32>::new(0).set_config(config)?)
    });
    let retry = printed(|| {
        let mut config = RetryConfig::default();
        config.attempts = 0;
        Ok(RetryQueue::<u32>::new(0).set_config(config)?)
    });
    for text in [elapsed_locally, ttl, retry] {
        assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
    }
}

/// An error that is added is to be added here as well.
#[test]
fn no_error_is_missing_here() {
    fn errors(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                errors(&path, found);
            } else {
                let source = fs::read_to_string(&path).unwrap();
                found.extend(source.lines().filter_map(|line| Some(line.split_once(" Error for ")?.1.to_owned())));
            }
        }
    }
    let mut found = BTreeSet::new();
    errors(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let known = ["Elapsed {}", "Reason {}", "Refused<F> {}", "RetryError {}", "TimeoutError {}", "TtlError {}"];
    assert!(found.iter().map(String::as_str).eq(known), "{found:?}");
}
