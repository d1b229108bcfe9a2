//! The retry queue against a model of it, and what it promises in single cases.
//!
//! `world` needs nothing but `std` and the crate, so that a fuzz target can include it by path.

#[path = "../wheel/numbers.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod numbers;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use timer_wheel::Backoff;
use timer_wheel::ttl::{Retry, RetryConfig, RetryEvent, RetryKey, RetryQueue, RetryStats, TtlError};

use crate::numbers::Numbers;

const MS: u64 = 1_000_000;

fn queue(config: RetryConfig) -> RetryQueue<&'static str> {
    RetryQueue::new(0, config).expect("the configuration makes sense")
}

/// The keys and attempts of all that is to be delivered.
fn delivered<T>(queue: &mut RetryQueue<T>, now: u64) -> Vec<(RetryKey, u32)> {
    let mut deliveries = Vec::new();
    while let Some(RetryEvent::Deliver { key, attempt, .. }) = queue.poll(now) {
        deliveries.push((key, attempt));
    }
    deliveries
}

#[test]
fn random_histories_match_the_model() {
    (1..=3_000).for_each(|seed| world::run(&Numbers(seed).bytes(400)));
}

#[test]
fn doubling_backoff_stays_between_the_delay_and_the_cap() {
    let cap = Duration::from_secs(8);
    let config = RetryConfig::default().backoff(Backoff::Exponential { cap });
    let mut queue = queue(config);
    let key = queue.push("mail", 0);
    let (mut now, mut waits) = (0, Vec::new());
    for attempt in 1..=12 {
        assert_eq!(delivered(&mut queue, now), [(key, attempt)]);
        let Retry::At(at) = queue.failed(key, now) else {
            panic!("there is no limit of attempts");
        };
        waits.push(at - now);
        now = at;
    }
    for (nth, wait) in waits.into_iter().enumerate() {
        let grown = ((1_000 * MS) << nth).min(8_000 * MS);
        assert!(((1_000 * MS).max(grown / 2)..=grown).contains(&wait), "{nth}: {wait}");
    }
}

#[test]
fn value_is_handed_back_after_its_last_attempt_however_that_ends() {
    let config = RetryConfig::default().attempts(2);
    let (mut refused, mut silent) = (queue(config), queue(config));
    let keys = [refused.push("refused", 0), silent.push("silent", 0)];
    for attempt in 1..=2 {
        let now = u64::from(attempt - 1) * 11_000 * MS;
        assert_eq!(delivered(&mut refused, now), [(keys[0], attempt)]);
        assert_eq!(delivered(&mut silent, now), [(keys[1], attempt)]);
        let expected = match attempt {
            1 => Retry::At(1_000 * MS),
            _ => Retry::GaveUp("refused"),
        };
        assert_eq!(refused.failed(keys[0], now), expected);
    }
    // No retry delay after the last timeout.
    let gave_up = RetryEvent::GaveUp { key: keys[1], attempts: 2, value: "silent" };
    assert_eq!(silent.poll(21_000 * MS - 1), None);
    assert_eq!(silent.poll(21_000 * MS), Some(gave_up));
    assert!(refused.is_empty() && silent.is_empty());
    let RetryStats { gave_up, timed_out, .. } = silent.stats();
    assert_eq!((gave_up, timed_out, refused.stats().gave_up), (1, 2, 1));
}

#[test]
fn loop_at_the_end_of_time_ends() {
    let mut queue = queue(RetryConfig::default());
    let keys = [1, 2, 3].map(|_| queue.push("mail", u64::MAX));
    let (mut deliveries, mut given_up) = (BTreeMap::new(), 0);
    for _ in 0..7 {
        let Some(event) = queue.poll(u64::MAX) else {
            break;
        };
        match event {
            RetryEvent::Deliver { key, .. } => *deliveries.entry(key).or_insert(0) += 1,
            _ => given_up += 1,
        }
    }
    assert!(deliveries.into_iter().eq(keys.map(|key| (key, 1))));
    assert!(given_up == 3 && queue.is_empty());
}

#[test]
fn configuration_that_cannot_work_is_refused_with_a_reason() {
    let zero = Duration::ZERO;
    let low_cap = Backoff::Exponential { cap: Duration::from_millis(999) };
    let config = RetryConfig::default();
    for (config, word) in [
        (config.retry_delay(zero), "retry delay"),
        (config.timeout(zero), "timeout"),
        (config.attempts(0), "attempt"),
        (config.backoff(low_cap), "cap"),
    ] {
        match RetryQueue::<u32>::new(0, config) {
            Err(TtlError::InvalidConfig(reason)) => assert!(reason.contains(word), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    let endless = config.retry_delay(Duration::MAX).timeout(Duration::MAX);
    let mut queue = queue(endless);
    let key = queue.push("mail", 0);
    assert_eq!(delivered(&mut queue, 0), [(key, 1)]);
    assert_eq!(queue.failed(key, 0), Retry::At(u64::MAX));
}
