//! Queues that outlive a runtime, and runtimes whose clocks are ahead of the queue or behind it.

use std::future::poll_fn;
use std::thread;
use std::time::Duration;

use timer_wheel::DelayQueue;
use tokio::runtime::Builder;
use tokio::time::{Instant, advance};

use crate::rig::{Task, ms, paused};

async fn next<T>(queue: &mut DelayQueue<T>) -> Option<T> {
    let expired = poll_fn(|cx| queue.poll_expired(cx)).await;
    expired.map(|expired| expired.into_inner())
}

/// The alarm in it rang when it was dropped.
#[test]
fn item_comes_when_it_is_due_in_another_runtime() {
    let (mut queue, task) = (DelayQueue::new(), Task::new());
    paused(async {
        queue.insert("item", ms(1_000));
        assert!(task.poll(|cx| queue.poll_expired(cx)).is_pending());
    });
    paused(async {
        assert!(task.poll(|cx| queue.poll_expired(cx)).is_pending());
        assert_eq!(next(&mut queue).await, Some("item"));
    });
}

/// A paused clock stands where the runtime was built.
#[test]
fn delay_counts_from_a_clock_that_is_behind_the_queue() {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    thread::sleep(ms(20));
    let mut queue = DelayQueue::new();
    runtime.block_on(async {
        let start = Instant::now();
        queue.insert("item", ms(1_000));
        assert_eq!(next(&mut queue).await, Some("item"));
        assert!(start.elapsed() <= ms(1_002), "{:?}", start.elapsed());
    });
}

/// What was due by a paused clock that ran ahead is not by the next one, nor is what is inserted then.
#[test]
fn item_is_not_early_after_a_runtime_whose_clock_ran_ahead() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let (mut queue, task) = (DelayQueue::new(), Task::new());
    let start = Instant::now();
    queue.insert_at("in a minute", start + HOUR / 60);
    queue.insert_at("in half an hour", start + HOUR / 2);
    queue.insert_at("in two hours", start + 2 * HOUR);
    paused(async {
        advance(HOUR).await;
        assert_eq!(next(&mut queue).await, Some("in a minute"));
    });
    paused(async {
        let behind = Instant::now();
        assert!(task.poll(|cx| queue.poll_expired(cx)).is_pending());
        queue.insert("in a second", ms(1_000));
        assert!(task.is_woken(), "it sleeps for half an hour");
        for (value, due) in [
            ("in a second", behind + ms(1_000)),
            ("in half an hour", start + HOUR / 2),
            ("in two hours", start + 2 * HOUR),
        ] {
            assert!(task.poll(|cx| queue.poll_expired(cx)).is_pending(), "{value}");
            assert_eq!(next(&mut queue).await, Some(value));
            let late = Instant::now().checked_duration_since(due).expect("it is not early");
            assert!(late <= ms(2), "{value}: {late:?}");
        }
    });
}

/// The time at which it was made has not come yet.
#[test]
fn item_of_a_queue_made_by_a_clock_that_ran_ahead_is_not_early() {
    let mut queue = paused(async {
        advance(Duration::from_secs(3_600)).await;
        DelayQueue::new()
    });
    paused(async {
        let start = Instant::now();
        let key = queue.insert("second", ms(1_000));
        queue.insert_at("first", start + ms(500));
        assert_eq!(queue.deadline(&key), start + ms(1_000));
        for (value, delay) in [("first", 500), ("second", 1_000)] {
            assert_eq!(next(&mut queue).await, Some(value));
            assert!((ms(delay)..=ms(delay + 2)).contains(&start.elapsed()), "{value}: {:?}", start.elapsed());
        }
    });
}
