//! The waiting task is woken whenever it must be, and hardly ever else.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use timer_wheel::delay_queue::{DelayQueue, Expired, Key};
use tokio::time::Instant;

use crate::rig::{Task, ms, pass, paused};

fn poll<T>(task: &Task, queue: &mut DelayQueue<T>) -> Poll<Option<T>> {
    let polled = task.poll(|cx| queue.poll_expired(cx));
    polled.map(|expired| expired.map(Expired::into_inner))
}

#[test]
fn insert_wakes_only_for_what_is_earlier() {
    paused(async {
        let task = Task::new();
        let mut queue = DelayQueue::new();
        queue.insert(0, ms(1_000));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        for n in 0..100 {
            queue.insert(1, ms(2_000 + n));
        }
        assert_eq!(task.wakes(), 0, "for nothing");
        for n in 0..100 {
            queue.insert(2, ms(900 - n));
        }
        assert_eq!(task.wakes(), 1, "once is enough until it polls");
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        pass(ms(800)).await;
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        pass(ms(1)).await;
        assert_eq!(task.wakes(), 1);
        assert_eq!(poll(&task, &mut queue), Poll::Ready(Some(2)));
    });
}

#[test]
fn reset_later_wakes_nobody_and_costs_one_ring_for_nothing() {
    paused(async {
        let task = Task::new();
        let mut queue = DelayQueue::new();
        let key = queue.insert((), ms(100));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        for n in 1..50 {
            queue.reset(&key, ms(100 + 100 * n));
        }
        assert_eq!(task.wakes(), 0);
        let start = Instant::now();
        let mut polls = 0;
        let next = poll_fn(|cx| {
            polls += 1;
            queue.poll_expired(cx)
        });
        assert!(next.await.is_some());
        assert_eq!(start.elapsed(), ms(5_000));
        // The first, the old time, what is left of the levels, and the delivery.
        assert!(polls <= 6, "{polls} polls");
    });
}

#[test]
fn emptied_queue_wakes_once_and_leaves_no_timer_behind() {
    paused(async {
        for empty in [
            |queue: &mut DelayQueue<()>, key: &Key| _ = queue.remove(key),
            |queue: &mut DelayQueue<()>, _: &Key| queue.clear(),
        ] {
            let task = Task::new();
            let mut queue = DelayQueue::new();
            let key = queue.insert((), ms(100));
            assert_eq!(poll(&task, &mut queue), Poll::Pending);
            empty(&mut queue, &key);
            assert_eq!(task.wakes(), 1);
            pass(ms(200)).await;
            assert_eq!(task.wakes(), 1, "by the timer of an item that is gone");
            assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
            queue.clear();
            assert_eq!(task.wakes(), 0, "woken though it knows");
        }
    });
}

/// The alarm is still set for the item's old time when its last item is delivered.
#[test]
fn queue_emptied_by_a_delivery_leaves_no_timer_behind() {
    paused(async {
        let task = Task::new();
        let mut queue = DelayQueue::new();
        let key = queue.insert("item", ms(5));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
        queue.reset(&key, Duration::ZERO);
        assert_eq!(poll(&task, &mut queue), Poll::Ready(Some("item")));
        pass(ms(10)).await;
        assert_eq!(task.wakes(), 0, "woken by a timer that nobody needs");
    });
}

#[test]
fn task_that_polled_last_is_woken() {
    paused(async {
        let (former, latter) = (Task::new(), Task::new());
        let mut queue = DelayQueue::new();
        let key = queue.insert((), ms(100));
        assert_eq!(poll(&former, &mut queue), Poll::Pending);
        assert_eq!(poll(&latter, &mut queue), Poll::Pending);
        queue.reset(&key, ms(10));
        assert_eq!((former.wakes(), latter.wakes()), (0, 1));
        assert_eq!(poll(&former, &mut queue), Poll::Pending);
        assert_eq!(poll(&latter, &mut queue), Poll::Pending);
        pass(ms(10)).await;
        assert_eq!((former.wakes(), latter.wakes()), (0, 1));
    });
}

#[test]
fn alarm_far_ahead_does_not_ring_before_a_year() {
    paused(async {
        const DAY: Duration = Duration::from_secs(86_400);
        let start = Instant::now();
        let mut queue = DelayQueue::new();
        queue.insert((), 1_000 * DAY);
        let mut polls = 0;
        let next = poll_fn(|cx| {
            polls += 1;
            queue.poll_expired(cx)
        });
        assert!(next.await.is_some());
        assert_eq!(start.elapsed(), 1_000 * DAY);
        // The first, two years, five levels, the delivery.
        assert!(polls <= 9, "{polls} polls");
    });
}

/// A value that panics when it is dropped takes down neither the queue nor the task that waits.
#[test]
fn panic_in_clear_leaves_the_queue_empty_and_the_task_woken() {
    struct Grenade(bool);

    impl Drop for Grenade {
        fn drop(&mut self) {
            assert!(!self.0, "as told");
        }
    }

    paused(async {
        let task = Task::new();
        let mut queue = DelayQueue::new();
        for live in [false, true, false] {
            queue.insert(Grenade(live), ms(10));
        }
        assert!(poll(&task, &mut queue).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| queue.clear())).is_err());
        assert!(task.is_woken());
        assert!(matches!(poll(&task, &mut queue), Poll::Ready(None)));
        queue.insert(Grenade(false), ms(10));
        assert!(poll_fn(|cx| queue.poll_expired(cx)).await.is_some());
    });
}

#[test]
fn only_waiting_needs_a_runtime() {
    let task = Task::new();
    let mut queue = DelayQueue::new();
    assert_eq!(poll(&task, &mut queue), Poll::Ready(None));
    let key = queue.insert("due", Duration::ZERO);
    queue.reset(&key, Duration::ZERO);
    assert_eq!(poll(&task, &mut queue), Poll::Ready(Some("due")));
    let key = queue.insert("removed", ms(10_000));
    assert_eq!(queue.peek(), Some(key));
    assert_eq!(queue.remove(&key).into_inner(), "removed");
    queue.insert("waited for", Duration::from_secs(86_400));
    let waits = catch_unwind(AssertUnwindSafe(|| poll(&task, &mut queue)));
    assert!(waits.is_err(), "there is no clock to wait for");
    assert_eq!(queue.len(), 1);
}
