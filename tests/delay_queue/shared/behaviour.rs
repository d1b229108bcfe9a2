//! What a program may rely on with either queue. Deadlines are whole milliseconds: tokio-util
//! rounds to those.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use futures_core::Stream;
use tokio::time::Instant;

use super::{DelayQueue, Expired, Key};
use crate::rig::{Task, ms, pass, paused};

async fn next<T>(queue: &mut DelayQueue<T>) -> Option<Expired<T>> {
    poll_fn(|cx| Pin::new(&mut *queue).poll_next(cx)).await
}

fn poll<T>(task: &Task, queue: &mut DelayQueue<T>) -> Poll<Option<T>> {
    let polled = task.poll(|cx| queue.poll_expired(cx));
    polled.map(|expired| expired.map(Expired::into_inner))
}

/// A queue that is shared by the tests of a program, each with a runtime of its own.
#[test]
fn queue_goes_on_in_another_runtime_when_the_first_is_dropped() {
    let (mut queue, task) = (DelayQueue::new(), Task::new());
    paused(async {
        queue.insert("item", ms(50));
        assert_eq!(poll(&task, &mut queue), Poll::Pending);
    });
    paused(async {
        pass(ms(60)).await;
        assert_eq!(poll(&task, &mut queue), Poll::Ready(Some("item")));
    });
}

#[test]
fn key_without_an_item_panics_or_gives_none() {
    paused(async {
        let mut queue = DelayQueue::new();
        let key = queue.insert("item", ms(5));
        assert!(queue.try_remove(&key).is_some());
        assert!(queue.try_remove(&key).is_none());
        let panics = |attempt: &mut dyn FnMut()| {
            assert!(catch_unwind(AssertUnwindSafe(attempt)).is_err());
        };
        panics(&mut || _ = queue.remove(&key));
        panics(&mut || queue.reset(&key, ms(5)));
        panics(&mut || queue.reset_at(&key, Instant::now()));
        panics(&mut || _ = queue.deadline(&key));
        assert!(queue.is_empty());
    });
}

/// tokio#6752, #8274 and #8320: the task slept on.
#[test]
fn removing_the_last_item_clearing_and_a_reset_to_the_past_wake() {
    type Act = fn(&mut DelayQueue<&'static str>, &Key, Instant);
    let acts: [(Act, Option<&str>); 3] = [
        (|queue, key, _| _ = queue.remove(key), None),
        (|queue, _, _| queue.clear(), None),
        (|queue, key, past| queue.reset_at(key, past), Some("item")),
    ];
    for (act, expected) in acts {
        paused(async {
            let (task, start) = (Task::new(), Instant::now());
            let mut queue = DelayQueue::new();
            let key = queue.insert("item", ms(1_000));
            pass(ms(10)).await;
            assert_eq!(poll(&task, &mut queue), Poll::Pending);
            act(&mut queue, &key, start);
            assert!(task.is_woken());
            assert_eq!(poll(&task, &mut queue), Poll::Ready(expected));
            assert_eq!((queue.len(), queue.peek()), (0, None));
        });
    }
}

#[test]
fn expired_item_can_be_changed() {
    paused(async {
        let mut queue = DelayQueue::new();
        queue.insert(String::from("item"), ms(1));
        let mut expired = next(&mut queue).await.expect("it is due");
        expired.get_mut().push_str(" changed");
        assert!(format!("{expired:?}").contains("item changed"));
        assert_eq!(expired.into_inner(), "item changed");
    });
}
