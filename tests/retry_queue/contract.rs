//! What a poll does within its budget, and restarts: what is stored, and what is damaged. That nothing is lost, and only what
//! was pending comes again, is in `random`.

use timer_wheel::Budget;
use timer_wheel::retry::{RetryEvent, RetryQueue};

use crate::{MS, configured, deliveries, events};

const SECOND: u64 = 1_000 * MS;

/// Unix time outlives a process.
const START: u64 = 1_700_000_000 * SECOND;

/// As a program with the feature `serde` restarts a queue.
fn reloaded(queue: &RetryQueue<u32>) -> RetryQueue<u32> {
    let stored = serde_json::to_string(queue).unwrap();
    serde_json::from_str(&stored).unwrap()
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

/// Ours, in its third year: a poll without a budget took 21 ms at a million values in one tick.
#[test]
fn poll_does_no_more_than_its_budget_at_a_crowd_in_one_tick() {
    const COUNT: usize = 1_000_000;
    const UNITS: usize = 256;
    const AT: u64 = 60_000 * MS;
    let mut queue = configured(|it| it.attempts = 1);
    (0..COUNT).for_each(|nth| _ = queue.push(nth, AT + (nth * 7_919 % 1_000) as u64));
    let (mut delivered, mut given_up) = (0, 0);
    for now in [AT + 1_000, AT + 20_000 * MS] {
        let (mut turns, mut last) = (0, None);
        while turns == 0 || queue.expiration_delay() == Some(0) {
            turns += 1;
            let (mut budget, mut events) = (Budget::of_work(UNITS), 0);
            while let Some(event) = queue.poll(now, &mut budget) {
                events += 1;
                let order = match event {
                    RetryEvent::Deliver { value, .. } => (*value * 7_919 % 1_000, *value),
                    RetryEvent::GaveUp { value, .. } => (value * 7_919 % 1_000, value),
                };
                assert!(last.replace(order) < Some(order), "in order of deadline, first in first out");
            }
            assert!(events + budget.work <= UNITS, "each event takes a unit");
            *if now < AT + 10_000 * MS { &mut delivered } else { &mut given_up } += events;
        }
        // Each value is visited on its way through the levels, sorted, and fires.
        assert!(turns <= 14 * COUNT / UNITS, "it took {turns} turns");
    }
    assert!((delivered, given_up) == (COUNT, COUNT) && queue.is_empty());
}
