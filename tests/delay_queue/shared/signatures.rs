//! The same methods with the same types: this compiles for both, or for neither.

use std::fmt::Debug;
use std::hash::Hash;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Instant;

use super::delay_queue::{self, DelayQueue as SameDelayQueue};
use super::{DelayQueue, Expired, Key};

/// Neither `Debug` nor anything else that a queue might ask of its items.
struct Plain;

#[test]
fn methods_have_the_types_of_the_original() {
    type Queue = DelayQueue<Plain>;

    let _: fn() -> Queue = Queue::new;
    let _: fn() -> Queue = Queue::default;
    let _: fn(usize) -> Queue = Queue::with_capacity;
    let _: fn(&mut Queue, Plain, Duration) -> Key = Queue::insert;
    let _: fn(&mut Queue, Plain, Instant) -> Key = Queue::insert_at;
    let _: fn(&mut Queue, &mut Context<'_>) -> Poll<Option<Expired<Plain>>> = Queue::poll_expired;
    let _: fn(&Queue, &Key) -> Instant = Queue::deadline;
    let _: fn(&mut Queue, &Key) -> Expired<Plain> = Queue::remove;
    let _: fn(&mut Queue, &Key) -> Option<Expired<Plain>> = Queue::try_remove;
    let _: fn(&mut Queue, &Key, Duration) = Queue::reset;
    let _: fn(&mut Queue, &Key, Instant) = Queue::reset_at;
    let _: fn(&Queue) -> Option<Key> = Queue::peek;
    let _: fn(&mut Queue) = Queue::clear;
    let _: fn(&mut Queue) = Queue::compact;
    let _: fn(&mut Queue) = Queue::shrink_to_fit;
    let _: fn(&mut Queue, usize) = Queue::reserve;
    let _: fn(&Queue) -> usize = Queue::capacity;
    let _: fn(&Queue) -> usize = Queue::len;
    let _: fn(&Queue) -> bool = Queue::is_empty;

    let _: fn(&Expired<Plain>) -> &Plain = Expired::get_ref;
    let _: fn(&mut Expired<Plain>) -> &mut Plain = Expired::get_mut;
    let _: fn(Expired<Plain>) -> Plain = Expired::into_inner;
    let _: fn(&Expired<Plain>) -> Instant = Expired::deadline;
    let _: fn(&Expired<Plain>) -> Key = Expired::key;
}

#[test]
fn types_have_the_traits_of_the_original() {
    fn key<K: Copy + Eq + Hash + Debug + Send + Sync + Unpin + 'static>() {}
    fn expired<E: Debug + Send + Sync + Unpin + 'static>() {}
    fn queue<T, Q>()
    where
        Q: Stream<Item = Expired<T>> + Default + Send + Sync + Unpin + 'static,
    {
    }
    fn debug<Q: Debug>() {}

    key::<delay_queue::Key>();
    expired::<Expired<u32>>();
    queue::<Plain, DelayQueue<Plain>>();
    queue::<Plain, SameDelayQueue<Plain>>();
    debug::<DelayQueue<u32>>();
    // Never pinned, so it may be moved whatever its items are.
    fn moved<Q: Unpin>() {}
    moved::<DelayQueue<std::marker::PhantomPinned>>();
}
