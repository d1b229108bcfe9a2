//! Keys as they are stored, and what else a queue tells.

use futures_core::FusedStream;
use timer_wheel::DelayQueue;
use timer_wheel::delay_queue::Key;

use crate::rig::ms;

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
