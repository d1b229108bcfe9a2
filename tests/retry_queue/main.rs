//! The retry queue against a model of it, and what it promises in single cases.
//!
//! `script` and `world` need nothing but `std`, the crate, `serde_json`, and of the wheel's tests `bytes` and the model, so
//! that a fuzz target can include them by path.

#[path = "../wheel/arbitrary.rs"]
mod arbitrary;
#[path = "../wheel/bytes.rs"]
mod bytes;
#[path = "../wheel/model.rs"]
#[allow(dead_code, reason = "the wheel's own tests use more of it")]
mod model;
mod script;
mod world;

mod contract;
mod random;

use std::time::Duration;

use timer_wheel::retry::{RetryConfig, RetryError, RetryEvent, RetryQueue};
use timer_wheel::{Backoff, Budget};

const MS: u64 = 1_000_000;

/// An empty queue at time zero whose settings are the default ones but for some.
fn configured<T>(set: impl FnOnce(&mut RetryConfig)) -> RetryQueue<T> {
    let mut config = RetryConfig::default();
    set(&mut config);
    let mut queue = RetryQueue::new(0);
    queue.set_config(config).expect("the settings make sense");
    queue
}

/// Everything that a poll loop yields, as (value, attempts) of deliveries, and of values given up.
fn events<T: Copy>(queue: &mut RetryQueue<T>, now: u64) -> [Vec<(T, u32)>; 2] {
    let [mut delivered, mut given_up] = [Vec::new(), Vec::new()];
    while let Some(event) = queue.poll(now, &mut Budget::of_work(10_000)) {
        match event {
            RetryEvent::Deliver { attempt, value, .. } => delivered.push((*value, attempt)),
            RetryEvent::GaveUp { attempts, value, .. } => given_up.push((value, attempts)),
        }
        assert!(delivered.len() <= 1_000, "a loop at one time ends");
    }
    [delivered, given_up]
}

/// What a poll loop delivers, where it gives nothing up.
fn deliveries<T: Copy>(queue: &mut RetryQueue<T>, now: u64) -> Vec<(T, u32)> {
    let [delivered, given_up] = events(queue, now);
    assert!(given_up.is_empty());
    delivered
}

/// What a poll loop gives up, where it delivers nothing.
fn given_up<T: Copy>(queue: &mut RetryQueue<T>, now: u64) -> Vec<(T, u32)> {
    let [delivered, given_up] = events(queue, now);
    assert!(delivered.is_empty());
    given_up
}

#[test]
fn retry_delay_doubles_up_to_the_cap() {
    let mut queue = configured(|it| it.backoff = Backoff::Exponential { cap: Duration::from_secs(6) });
    let (key, mut now) = (queue.push("mail", 0), 0);
    for (attempt, wait_ms) in [(1, 1_000), (2, 2_000), (3, 4_000), (4, 6_000), (5, 6_000)] {
        assert_eq!(deliveries(&mut queue, now), [("mail", attempt)]);
        assert_eq!(queue.failed(key, now), Some(now + wait_ms * MS));
        now += wait_ms * MS;
    }
}

#[test]
fn attempts_without_a_limit_do_not_overflow() {
    let mut queue = configured(|_| {});
    queue.push_again(7, u32::MAX - 1, 0);
    assert_eq!(deliveries(&mut queue, 0), [(7, u32::MAX)]);
    assert_eq!(given_up(&mut queue, 10_000 * MS), [(7, u32::MAX)]);
}

#[test]
fn configuration_that_cannot_work_is_refused_with_a_reason() {
    let mut queue = configured(|it| it.attempts = 1);
    let refused: [(fn(&mut RetryConfig), _); 4] = [
        (|it| it.retry_delay = Duration::ZERO, "retry delay"),
        (|it| it.pending_timeout = Duration::ZERO, "timeout"),
        (|it| it.attempts = 0, "attempt"),
        (|it| it.backoff = Backoff::Exponential { cap: Duration::from_millis(999) }, "cap"),
    ];
    for (set, word) in refused {
        let mut config = RetryConfig::default();
        set(&mut config);
        let error = queue.set_config(config).unwrap_err();
        assert!(matches!(error, RetryError::InvalidConfig(_)) && error.to_string().contains(word), "{error}");
    }
    queue.push_again("mail", 1, 0);
    assert_eq!(given_up(&mut queue, 0), [("mail", 1)], "nothing has changed");
}
