//! Timeouts, backoff and a heartbeat in tasks, on an executor that has no timer of its own.
//!
//! The timer thread wakes the tasks, so any executor will do: here `pollster`, which knows nothing but to
//! block. A timeout around an answer that is there at once costs next to nothing: no lock, no clock.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features timer && cargo add pollster@0.4`

use std::future::ready;
use std::time::Duration;

use timer_wheel::Timer;
use timer_wheel::timer::{Reason, TimeoutError};

const MS: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_millis(20);

/// A server that takes its time, and less with each attempt.
async fn ask(timer: &Timer, attempt: u32) -> Result<&'static str, Reason> {
    timer.sleep(200 * MS / (1 << (2 * attempt))).await?;
    Ok("forty-two")
}

/// Asks until there is an answer in time, and waits twice as long before each further attempt.
async fn ask_with_retries(timer: &Timer) -> Result<(u32, &'static str), Reason> {
    let mut backoff = MS;
    for attempt in 0.. {
        match timer.timeout(TIMEOUT, ask(timer, attempt)).await {
            Ok(answer) => return Ok((attempt, answer?)),
            Err(TimeoutError::Refused(reason)) => return Err(reason),
            Err(_) => timer.sleep(backoff).await?,
        }
        backoff *= 2;
    }
    unreachable!("there is no last attempt")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let timer = Timer::new()?;
    let (attempt, answer) = pollster::block_on(ask_with_retries(&timer))?;
    println!("the server said {answer} to attempt {attempt}");
    assert!(attempt >= 1, "the first takes 200 ms");

    let scheduled = timer.stats().scheduled;
    let answer = pollster::block_on(timer.timeout(TIMEOUT, ready("cached")))?;
    assert_eq!((answer, timer.stats().scheduled), ("cached", scheduled));

    let mut beat = timer.interval(MS);
    pollster::block_on(async {
        for number in 1..=3 {
            beat.tick().await?;
            println!("beat {number}");
        }
        Ok::<(), Reason>(())
    })?;
    assert!(timer.is_empty(), "nothing is left behind");
    Ok(())
}
