//! Webhooks that are delivered until they are acknowledged, at most five times.
//!
//! A simulated receiver refuses some deliveries, loses others and answers late. The queue reads no clock: the loop moves
//! time to whatever comes first, an answer or the queue's wake-up.
//!
//! In a package of your own: `cargo add timer-wheel --features ttl`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timer_wheel::Backoff;
use timer_wheel::ttl::{Retry, RetryConfig, RetryEvent, RetryKey, RetryQueue, TtlError};

const MS: u64 = 1_000_000; // in nanoseconds

/// The receiver's answer, and after how long it comes. `None` if it never comes.
fn deliver(hook: &str, attempt: u32) -> Option<(u64, bool)> {
    match (hook, attempt) {
        ("refused three times", 1..=3) => Some((5 * MS, false)),
        ("lost once", 1) => None,
        ("slow", _) => Some((2_500 * MS, true)), // after the timeout
        ("never answered", _) => None,
        _ => Some((5 * MS, true)),
    }
}

fn main() -> Result<(), TtlError> {
    let config = RetryConfig::default()
        .retry_delay(Duration::from_millis(500))
        .backoff(Backoff::Exponential { cap: Duration::from_secs(30) })
        .timeout(Duration::from_secs(2))
        .attempts(5);
    let mut queue = RetryQueue::new(0, config)?;
    for hook in ["plain", "refused three times", "lost once", "slow", "never answered"] {
        queue.push(hook, 20 * MS);
    }

    let mut answers: BTreeMap<u64, Vec<(RetryKey, bool)>> = BTreeMap::new();
    let mut given_up = Vec::new();
    let mut acknowledged = BTreeSet::new();
    let mut now = 0;
    while let Some(wait) = queue.next_wake(now) {
        let answer = answers.keys().next().copied();
        now = answer.unwrap_or(u64::MAX).min(now + wait);

        for (key, is_fine) in answers.remove(&now).unwrap_or_default() {
            if is_fine {
                acknowledged.extend(queue.done(key));
            } else if let Retry::GaveUp(hook) = queue.failed(key, now) {
                given_up.push(hook);
            }
        }
        while let Some(event) = queue.poll(now) {
            match event {
                RetryEvent::Deliver { key, attempt, value } => {
                    println!("{:6} ms  attempt {attempt}: {value}", now / MS);
                    if let Some((delay, is_fine)) = deliver(value, attempt) {
                        answers.entry(now + delay).or_default().push((key, is_fine));
                    }
                }
                RetryEvent::GaveUp { value, .. } => given_up.push(value),
                _ => {}
            }
        }
    }

    println!("{:#?}", queue.stats());
    assert_eq!(given_up, ["never answered"]);
    assert_eq!(acknowledged.len(), 4);
    assert_eq!((queue.stats().failed, queue.stats().timed_out), (3, 6));
    Ok(())
}
