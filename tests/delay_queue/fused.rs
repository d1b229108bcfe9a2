//! The queue as a fused stream: it ends when it is empty, and begins again with the next item.

use std::future::poll_fn;
use std::pin::Pin;

use futures_core::{FusedStream, Stream};
use timer_wheel::DelayQueue;
use timer_wheel::delay_queue::Expired;

use crate::rig::{ms, paused};

#[test]
fn stream_is_terminated_exactly_while_the_queue_is_empty() {
    paused(async {
        let mut queue = DelayQueue::new();
        for round in 0..3 {
            assert!(queue.is_terminated(), "polled now, it would end");
            queue.insert(round, ms(10));
            let key = queue.insert(99, ms(5));
            assert!(!queue.is_terminated());
            queue.remove(&key);
            assert!(!queue.is_terminated(), "an item is awaited");
            let next = poll_fn(|cx| Pin::new(&mut queue).poll_next(cx)).await;
            assert_eq!(next.map(Expired::into_inner), Some(round));
            assert!(queue.is_terminated());
            let end = poll_fn(|cx| Pin::new(&mut queue).poll_next(cx)).await;
            assert!(end.is_none(), "and so it ends");
        }
        queue.insert(0, ms(10));
        queue.clear();
        assert!(queue.is_terminated());
    });
}
