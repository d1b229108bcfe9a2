//! Queues that outlive a runtime, and runtimes whose clocks are ahead of the queue or behind it; keys as they are stored; very
//! many items at one instant.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_core::FusedStream;
use timer_wheel::DelayQueue;
use timer_wheel::delay_queue::Key;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, yield_now};
use tokio::time::{Instant, advance};

use crate::rig::{Task, ms, pass, paused};

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

#[test]
fn stream_is_terminated_exactly_while_the_queue_is_empty() {
    let mut queue = DelayQueue::new();
    assert!(queue.is_terminated(), "polled now, it would end");
    let key = queue.insert(1, ms(10));
    assert!(!queue.is_terminated(), "an item is awaited");
    queue.remove(&key);
    assert!(queue.is_terminated());
}

#[test]
fn key_stored_and_loaded_names_the_same_item() {
    let mut queue = DelayQueue::new();
    let key = queue.insert(7, ms(10));
    let stored = serde_json::to_string(&key).expect("a key can be stored");
    let loaded: Key = serde_json::from_str(&stored).expect("what was stored can be loaded");
    assert_eq!((loaded, queue.get(&loaded)), (key, Some(&7)));
    queue.remove(&key);
    assert!(!queue.contains(&loaded));
    let refused = serde_json::from_str::<Key>("[0,2]").expect_err("no key has that generation");
    assert!(refused.to_string().contains("an odd generation"), "{refused}");
}

const ITEMS: u32 = 100_000;

fn burst() -> DelayQueue<u32> {
    let mut queue = DelayQueue::new();
    let at = Instant::now() + ms(60_000);
    for n in 0..ITEMS {
        queue.insert_at(n, at);
    }
    queue
}

#[test]
fn burst_is_delivered_in_order_by_bounded_polls() {
    paused(async {
        let task = Task::new();
        let mut queue = burst();
        pass(ms(60_000)).await;
        let (mut next, mut pauses) = (0, 0);
        loop {
            match task.poll(|cx| queue.poll_expired(cx)) {
                Poll::Ready(Some(expired)) => {
                    assert_eq!(expired.into_inner(), next);
                    next += 1;
                }
                Poll::Ready(None) => break,
                Poll::Pending => {
                    assert!(task.is_woken(), "told to wait for what is due");
                    assert_eq!(next, 0, "a pause after the first item");
                    pauses += 1;
                }
            }
        }
        assert_eq!(next, ITEMS);
        // All of them are moved before the first comes out: by 4096 at most in each poll, and no
        // more than once a level.
        assert!((ITEMS / 4096..6 * ITEMS / 4096).contains(&pauses), "{pauses}");
    });
}

/// Deliveries take from the task's budget: another task gets its turn again and again.
#[test]
fn burst_does_not_starve_other_tasks() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing from the system");
    let delivered = Rc::new(Cell::new(0));
    let turns = runtime.block_on(LocalSet::new().run_until({
        let delivered = Rc::clone(&delivered);
        async move {
            let mut queue = burst();
            let count = Rc::clone(&delivered);
            let drain = tokio::task::spawn_local(async move {
                while poll_fn(|cx| queue.poll_expired(cx)).await.is_some() {
                    count.set(count.get() + 1);
                }
            });
            pass(ms(60_000)).await;
            let (mut turns, mut seen) = (0, 0);
            while !drain.is_finished() {
                yield_now().await;
                let since = delivered.get() - seen;
                assert!(since <= 1_000, "{since} items without a break");
                seen = delivered.get();
                turns += 1;
            }
            turns
        }
    }));
    assert_eq!(delivered.get(), ITEMS);
    assert!(turns > ITEMS / 1_000, "{turns} turns");
}
