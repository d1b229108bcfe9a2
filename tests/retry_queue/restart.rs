//! Restarts: nothing is lost, what was pending comes back as due, and attempts go on counting.

use std::collections::BTreeMap;

use timer_wheel::retry::{RetryConfig, RetryQueue};

use crate::{MS, configured, deliveries, events, given_up};

const SECOND: u64 = 1_000 * MS;

/// Unix time outlives a process.
const START: u64 = 1_700_000_000 * SECOND;

/// As a program with the feature `serde` restarts a queue.
fn reloaded(queue: &RetryQueue<u32>) -> RetryQueue<u32> {
    let stored = serde_json::to_string(queue).unwrap();
    serde_json::from_str(&stored).unwrap()
}

/// As a program without it does.
fn refilled(queue: &RetryQueue<u32>) -> RetryQueue<u32> {
    let mut next = RetryQueue::new(START);
    for (_, value, attempts, at) in queue.iter() {
        next.push_again(*value, attempts, at);
    }
    next
}

type Restart = fn(&RetryQueue<u32>) -> RetryQueue<u32>;

const WAYS: [Restart; 2] = [reloaded, refilled];

#[test]
fn restart_delivers_again_only_what_was_pending() {
    for restart in WAYS {
        let mut queue = RetryQueue::new(START);
        let keys: Vec<_> = (0..5).map(|value| queue.push(value, START + u64::from(value))).collect();
        queue.push(5, START + 60 * SECOND);
        assert_eq!(deliveries(&mut queue, START + 4), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(queue.done(keys[0]), Some(0));
        assert_eq!(queue.failed(keys[1], START + SECOND), Some(START + 2 * SECOND));

        let mut queue = restart(&queue);
        assert_eq!(queue.len(), 5);
        assert_eq!(deliveries(&mut queue, START + SECOND), [(2, 2), (3, 2), (4, 2)], "they were pending");
        assert_eq!(deliveries(&mut queue, START + 2 * SECOND - 1), []);
        assert_eq!(deliveries(&mut queue, START + 2 * SECOND), [(1, 2)], "its retry was to come then");
        assert_eq!(deliveries(&mut queue, START + 11 * SECOND), []);
        // A second after the timeout.
        assert_eq!(deliveries(&mut queue, START + 12 * SECOND), [(2, 3), (3, 3), (4, 3)]);
        assert_eq!(deliveries(&mut queue, START + 60 * SECOND), [(1, 3), (2, 4), (3, 4), (4, 4), (5, 1)]);
    }
}

/// A program that dies with every third answer, again and again, gets everything delivered, and counts on.
#[test]
fn values_outlive_a_hundred_restarts() {
    for restart in WAYS {
        let mut queue = RetryQueue::new(START);
        (0..50).for_each(|value| _ = queue.push(value, START));
        let (mut attempts, mut done) = (BTreeMap::new(), 0);
        for nth in 0..100 {
            let now = START + nth * SECOND;
            for (value, attempt) in deliveries(&mut queue, now) {
                let counted = attempts.entry(value).or_insert(0);
                *counted += 1;
                assert_eq!(*counted, attempt, "it goes on counting");
            }
            let acknowledged = queue.iter().map(|(key, ..)| key).nth(nth as usize % 7);
            done += usize::from(acknowledged.and_then(|key| queue.done(key)).is_some());
            assert_eq!(queue.len() + done, 50, "nothing is lost");
            queue = restart(&queue);
        }
        assert!(queue.is_empty());
    }
}

/// Whether the last attempt went well, nobody knows.
#[test]
fn value_whose_last_attempt_was_pending_is_handed_back() {
    for restart in WAYS {
        let mut queue = configured(|it| it.attempts = 2);
        queue.push_again(7, 1, 0);
        assert_eq!(deliveries(&mut queue, START), [(7, 2)]);
        let mut queue = restart(&queue);
        // The settings are those that the program gives it, or the default ones.
        let mut config = RetryConfig::default();
        config.attempts = 2;
        queue.set_config(config).unwrap();
        assert_eq!(given_up(&mut queue, START), [(7, 2)]);
        assert!(queue.is_empty());
    }
}

#[test]
fn keys_and_clock_are_stored_and_settings_are_not() {
    let mut queue = configured(|it| it.attempts = 1);
    let keys = [1, 2].map(|value| queue.push(value, START));
    assert_eq!(deliveries(&mut queue, START), [(1, 1), (2, 1)]);
    queue.done(keys[0]);
    let mut queue = reloaded(&queue);
    assert_eq!((queue.get(keys[0]), queue.get(keys[1])), (None, Some(&2)));
    assert_eq!(queue.expiration_delay(), Some(0), "the clock stands where it stood");
    assert_eq!(queue.failed(keys[1], START), None, "an answer of before the restart comes too late");
    assert_eq!(deliveries(&mut queue, 0), [(2, 2)], "by default a value has more attempts than one");
    assert_eq!(queue.done(keys[1]), Some(2));
}

/// The wall clock was set back while the program was down.
#[test]
fn clock_that_went_backwards_stands_still_after_a_restart() {
    let mut queue = RetryQueue::new(START);
    let key = queue.push(1, START);
    assert_eq!(deliveries(&mut queue, START), [(1, 1)]);
    assert_eq!(queue.failed(key, START + SECOND), Some(START + 2 * SECOND));
    let mut queue = reloaded(&queue);
    assert_eq!((queue.wake_at(), queue.expiration_delay()), (Some(START + 2 * SECOND), Some(SECOND)));
    assert_eq!(deliveries(&mut queue, START - 3_600 * SECOND), []);
    assert_eq!(deliveries(&mut queue, START + 2 * SECOND), [(1, 2)]);
}

#[test]
fn damaged_input_is_an_error_that_says_why() {
    let mut queue = RetryQueue::new(START);
    queue.push(11, START);
    queue.push(22, START + 5 * SECOND);
    assert_eq!(deliveries(&mut queue, START), [(11, 1)]);
    let stored = serde_json::to_string(&queue).unwrap();
    let load = |stored: &str| serde_json::from_str::<RetryQueue<u32>>(stored);
    for (here, there, word) in [
        ("\"attempts\":1", "\"attempts\":-1", "invalid value: integer `-1`, expected u32"),
        ("\"attempts\":1", "\"attempts\":4294967296", "expected u32"),
        ("\"attempts\":1,", "", "missing field `attempts`"),
        ("\"attempts\":1", "\"tries\":1", "unknown field `tries`"),
        ("\"generation\":1", "\"generation\":2", "odd generation"),
        ("\"value\":11", "\"value\":\"mail\"", "invalid type: string"),
    ] {
        assert!(stored.contains(here), "{here} in {stored}");
        let refused = load(&stored.replacen(here, there, 1)).unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
    for length in 0..stored.len() {
        assert!(load(&stored[..length]).is_err());
    }
    // Whatever a digit becomes, a queue that is accepted comes to its end.
    for (place, _) in stored.char_indices().filter(|(_, char)| char.is_ascii_digit()) {
        for digit in ["0", "9", "99999999"] {
            let Ok(mut queue) = load(&format!("{}{digit}{}", &stored[..place], &stored[place + 1..])) else { continue };
            events(&mut queue, u64::MAX);
            assert!(queue.is_empty());
        }
    }
}
