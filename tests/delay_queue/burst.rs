//! Very many items at one instant.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use timer_wheel::DelayQueue;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, yield_now};
use tokio::time::Instant;

use crate::rig::{Task, ms, pass, paused};

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
