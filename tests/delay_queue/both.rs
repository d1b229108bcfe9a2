//! What a program may rely on with either queue, compiled for both: a script run on a queue and everything that both must
//! agree on, and the same methods with the same types. Deadlines are whole milliseconds: tokio-util rounds to those.

use std::fmt::Debug;
use std::future::poll_fn;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Instant, advance};

use super::{DelayQueue, Expired, Key, delay_queue};
use crate::bytes::Pick;
use crate::rig::{Task, ms, pass, paused};
use crate::script::{Op, When};

const WEEK: u128 = 7 * 86_400_000;

struct Run {
    start: Instant,
    queue: DelayQueue<u32>,
    task: Task,
    /// Keys of the items in the queue, by value.
    live: Vec<(u32, Key)>,
    inserted: u32,
    /// What each operation led to. Times are milliseconds since the start, values name the items.
    events: Vec<String>,
}

pub(crate) fn transcript(ops: &[Op]) -> Vec<String> {
    paused(async {
        let mut run = Run {
            start: Instant::now(),
            queue: DelayQueue::new(),
            task: Task::new(),
            live: Vec::new(),
            inserted: 0,
            events: Vec::new(),
        };
        for &op in ops {
            run.take(op).await;
            run.note_state();
        }
        run.events
    })
}

impl Run {
    async fn take(&mut self, op: Op) {
        match op {
            Op::Insert(when) => self.insert(when),
            Op::Bunch(when, count) => (0..count).for_each(|_| self.insert(when)),
            Op::Remove(pick) => {
                let removed = self.place(pick).map(|at| {
                    let (value, key) = self.live.swap_remove(at);
                    let was_last = self.queue.len() == 1;
                    let removed = self.queue.remove(&key);
                    assert_eq!((*removed.get_ref(), removed.key()), (value, key));
                    assert!(self.queue.try_remove(&key).is_none());
                    self.note_whether_woken(was_last);
                    value
                });
                self.events.push(format!("removed {removed:?}"));
            }
            Op::Reset(pick, when) => {
                if let Some(at) = self.place(pick) {
                    let deadline = self.resolve(when);
                    self.queue.reset(&self.live[at].1, deadline.saturating_duration_since(Instant::now()));
                }
            }
            Op::Poll | Op::PollAll => self.poll(),
            Op::Pass(time) | Op::Wait(time) => pass(rounded(time)).await,
            Op::Jump(time) => advance(rounded(time)).await,
            Op::Clear => {
                let was_empty = self.queue.is_empty();
                self.queue.clear();
                self.live.clear();
                self.note_whether_woken(!was_empty);
            }
            Op::Compact => self.queue.compact(),
            Op::Shrink | Op::Reserve(_) | Op::Touch(_) => {}
        }
    }

    fn place(&self, pick: Pick) -> Option<usize> {
        let nth = match pick {
            Pick::Live(nth) => nth.into(),
            Pick::Any(age) => age,
        };
        usize::from(nth).checked_rem(self.live.len())
    }

    fn resolve(&self, when: When) -> Instant {
        let now = Instant::now();
        match when {
            When::In(delay) | When::At(delay) => now + rounded(delay),
            When::Ago(age) => now.checked_sub(rounded(age)).unwrap_or(self.start),
            When::Like(nth, _) => self.place(Pick::Live(nth)).map_or(now, |at| self.queue.deadline(&self.live[at].1)),
        }
    }

    fn insert(&mut self, when: When) {
        let deadline = self.resolve(when);
        let key = self.queue.insert_at(self.inserted, deadline);
        self.live.push((self.inserted, key));
        self.inserted += 1;
    }

    fn poll(&mut self) {
        let mut values = Vec::new();
        let ended = loop {
            let next = self.queue.peek().map(|key| self.queue.deadline(&key));
            match self.task.poll(|cx| self.queue.poll_expired(cx)) {
                Poll::Ready(Some(expired)) => {
                    // Not its key: among equal deadlines tokio-util's may peek at another.
                    assert_eq!(next, Some(expired.deadline()), "peeked at another");
                    assert!(expired.deadline() <= Instant::now(), "early");
                    values.push(*expired.get_ref());
                }
                Poll::Ready(None) => break true,
                // Not a pause between two items.
                Poll::Pending if self.task.is_woken() => {}
                Poll::Pending => break false,
            }
        };
        self.live.retain(|(value, _)| !values.contains(value));
        // The order among equals is tokio-util's own, and what a round delivers has been due since the last.
        values.sort_unstable();
        let at = self.start.elapsed().as_millis();
        self.events.push(format!("{values:?} at {at}, the end: {ended}"));
    }

    fn note_state(&mut self) {
        let next = self.queue.peek().map(|key| self.queue.deadline(&key));
        let next = next.filter(|next| *next > Instant::now());
        let next = next.map(|next| (next - self.start).as_millis());
        let len = self.queue.len();
        assert_eq!((len, len == 0), (self.live.len(), self.queue.is_empty()));
        self.events.push(format!("{len} left, the next at {next:?}"));
    }

    /// What empties the queue wakes the task, if it has polled since the last time.
    fn note_whether_woken(&mut self, must_be: bool) {
        if must_be && self.task.is_woken() {
            self.events.push("woken".to_owned());
        }
    }
}

/// In milliseconds, as tokio-util rounds to those, and less than a week, as it takes no years.
fn rounded(time: Duration) -> Duration {
    Duration::from_millis((time.as_millis() % WEEK) as u64)
}

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
    queue::<Plain, delay_queue::DelayQueue<Plain>>();
    debug::<DelayQueue<u32>>();
    // Never pinned, so it may be moved whatever its items are.
    fn moved<Q: Unpin>() {}
    moved::<DelayQueue<std::marker::PhantomPinned>>();
}
