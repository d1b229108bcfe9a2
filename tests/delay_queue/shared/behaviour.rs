//! What a program may rely on with either queue. Deadlines are whole milliseconds: tokio-util
//! rounds to those.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use futures_core::Stream;
use tokio::time::Instant;

use super::{DelayQueue, Expired};
use crate::rig::{ms, paused};

async fn next<T>(queue: &mut DelayQueue<T>) -> Option<Expired<T>> {
    poll_fn(|cx| Pin::new(&mut *queue).poll_next(cx)).await
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
