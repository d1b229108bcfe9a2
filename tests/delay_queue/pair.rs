//! The pair: a queue and its model, run through the same operations and compared in everything
//! that can be observed, what wakes the waiting task included.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use timer_wheel::delay_queue::{DelayQueue, Expired, Key};
use tokio::time::{Instant, advance, timeout_at};

use super::rig::{Task, pass, paused};
use super::script::{Op, When};
use crate::bytes::Pick;
use crate::model::Model;

/// Wake-ups that an item may cost each time it is inserted or reset: one for each level of the
/// wheel, one for the item, and one when it has been put off.
const POLLS_EACH: usize = 5 + 1 + 1;

/// The task is woken by what happens to the queue, and by the timer it was put on before that.
const MOST_WAKES: usize = 2;

/// tokio's timers ring at whole milliseconds.
const TICK: u64 = 1_000_000;

/// When the queue was made.
const ORIGIN: u64 = 1 << 60;

/// What the task was told when it last polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Item,
    Wait,
    End,
}

/// An item, with its deadline in nanoseconds since 36 years before the queue was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    key: Key,
    deadline: u64,
    value: u32,
}

/// A queue, its model, and the task that waits for it. Values number the items.
pub(crate) struct Pair {
    start: Instant,
    queue: DelayQueue<u32>,
    model: Model<u32, Key>,
    task: Task,
    told: Told,
    /// Something has happened since that the task must hear of whatever the clock says.
    must_be_woken: bool,
    /// Polls of a task that only polls when woken, which the wheel may ask for.
    polls_allowed: usize,
    /// Every key ever given out, in that order.
    keys: Vec<Key>,
}

/// Runs a whole script on a runtime of its own, and the queue empty at its end.
pub(crate) fn run(ops: &[Op]) {
    paused(async {
        let mut pair = Pair::new();
        pair.compare();
        for &op in ops {
            pair.apply(op).await;
            pair.compare();
        }
        pair.finish().await;
    });
}

impl Pair {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            queue: DelayQueue::new(),
            model: Model::new(0),
            task: Task::new(),
            told: Told::Item,
            must_be_woken: false,
            polls_allowed: 0,
            keys: Vec::new(),
        }
    }

    async fn apply(&mut self, op: Op) {
        match op {
            Op::Insert(when) => self.insert(when),
            Op::Bunch(at, count) => (0..count).for_each(|_| self.insert(at)),
            Op::Remove(pick) => self.remove(pick),
            Op::Reset(pick, when) => self.reset(pick, when),
            Op::Poll => _ = self.poll(),
            Op::PollAll => self.poll_all(),
            Op::Pass(time) => pass(time).await,
            Op::Jump(time) => {
                advance(time).await;
                // The timers that this made ring have rung when another has.
                pass(Duration::from_nanos(TICK)).await;
            }
            Op::Wait(at_most) => self.wait(at_most).await,
            Op::Clear => self.clear(),
            Op::Shrink => self.queue.shrink_to_fit(),
            Op::Compact => self.queue.compact(),
            Op::Reserve(additional) => {
                self.queue.reserve(usize::from(additional));
                let room = self.queue.capacity() - self.queue.len();
                assert!(room >= usize::from(additional));
            }
            Op::Touch(pick) => self.touch(pick),
        }
    }

    /// Looks at every key ever given out, and delivers all that is left within ten days.
    async fn finish(&mut self) {
        for &key in &self.keys {
            assert_eq!(self.queue.contains(&key), self.model.get(key).is_some());
        }
        let due = self.now() + 10 * 86_400 * 1_000_000_000;
        self.wait(Duration::from_secs(10 * 86_400)).await;
        assert!(self.first().is_none_or(|item| item.deadline >= due));
        self.clear();
        self.compare();
        for at in 0..self.keys.len() {
            assert!(!self.queue.contains(&self.keys[at]), "alive in the end");
            assert!(self.queue.try_remove(&self.keys[at]).is_none());
        }
    }

    fn now(&self) -> u64 {
        self.time(Instant::now())
    }

    fn pick(&self, pick: Pick) -> Option<Key> {
        match pick {
            Pick::Live(nth) => self.model.nth(usize::from(nth)),
            Pick::Any(age) => {
                let back = usize::from(age).checked_rem(self.keys.len())?;
                Some(self.keys[self.keys.len() - 1 - back])
            }
        }
    }

    /// The deadline of a timeout, or the instant to give, and what becomes of it.
    fn resolve(&self, when: When) -> (Result<Duration, Instant>, u64) {
        let now = Instant::now();
        let instant = match when {
            When::In(delay) => return (Ok(delay), self.now().saturating_add(nanoseconds(delay))),
            When::At(delay) => now.checked_add(delay).unwrap_or(now),
            When::Ago(delay) => now.checked_sub(delay).unwrap_or(now),
            When::Like(nth, offset) => {
                let like = self.pick(Pick::Live(nth));
                let deadline = like.map_or(now, |key| self.queue.deadline(&key));
                let apart = Duration::from_nanos(offset.unsigned_abs().into());
                let instant = match offset {
                    ..0 => deadline.checked_sub(apart),
                    _ => deadline.checked_add(apart),
                };
                instant.unwrap_or(deadline)
            }
        };
        (Err(instant), self.time(instant))
    }
}

/// The operations, each on both.
impl Pair {
    fn insert(&mut self, when: When) {
        let value = self.keys.len() as u32;
        let (at, deadline) = self.resolve(when);
        let key = match at {
            Ok(timeout) => self.queue.insert(value, timeout),
            Err(instant) => self.queue.insert_at(value, instant),
        };
        assert!(!self.keys.contains(&key), "a key was given out twice");
        self.keys.push(key);
        self.model.schedule(key, deadline, value);
        self.must_be_woken |= self.told == Told::End;
        self.polls_allowed += POLLS_EACH;
    }

    fn remove(&mut self, pick: Pick) {
        let Some(key) = self.pick(pick) else { return };
        let expected = self.item_of(key);
        self.model.cancel(key);
        let removed = self.queue.try_remove(&key);
        assert_eq!(removed.map(|removed| self.item(removed)), expected);
        self.must_be_woken |= expected.is_some() && self.model.is_empty() && self.is_told();
    }

    fn reset(&mut self, pick: Pick, when: When) {
        let Some(key) = self.pick(pick) else { return };
        let (at, deadline) = self.resolve(when);
        let reset = match at {
            Ok(timeout) => self.queue.try_reset(&key, timeout),
            Err(instant) => self.queue.try_reset_at(&key, instant),
        };
        assert_eq!(reset, self.model.reschedule(key, deadline));
        self.polls_allowed += POLLS_EACH;
    }

    fn touch(&mut self, pick: Pick) {
        let Some(key) = self.pick(pick) else { return };
        let expected = self.item_of(key).map(|item| item.value);
        assert_eq!(self.queue.get(&key).copied(), expected);
        assert_eq!(self.queue.get_mut(&key).copied(), expected);
    }

    fn clear(&mut self) {
        self.must_be_woken |= !self.model.is_empty() && self.is_told();
        self.queue.clear();
        self.model.clear();
    }

    /// Polls once, whether the task was woken or not.
    fn poll(&mut self) -> Told {
        let peeked = self.queue.peek();
        let first = self.first();
        assert_eq!(peeked, first.map(|item| item.key), "peeked at another");
        let due = first.filter(|item| item.deadline <= self.now());
        let told = match self.task.poll(|cx| self.queue.poll_expired(cx)) {
            Poll::Ready(Some(expired)) => {
                assert_eq!(Some(self.item(expired)), due, "early or out of order");
                self.model.cancel(peeked.expect("something was delivered"));
                Told::Item
            }
            Poll::Ready(None) => {
                assert_eq!(first, None, "ended with something left");
                Told::End
            }
            Poll::Pending => {
                assert!(first.is_some(), "waits for an empty queue");
                let is_late = due.is_some_and(|item| item.deadline <= self.rung());
                assert!(!is_late || self.task.is_woken(), "late");
                Told::Wait
            }
        };
        self.told = told;
        self.must_be_woken = false;
        told
    }

    fn poll_all(&mut self) {
        // A pause between two items is possible: the task is woken at once then.
        while self.poll() == Told::Item || self.task.is_woken() {}
    }

    /// Awaits items as a task of the runtime would, for some time.
    async fn wait(&mut self, at_most: Duration) {
        let begin = self.now();
        let end = Instant::now() + at_most;
        let mut polls = 0;
        // The first of all, not woken, and the one when the time is up.
        self.polls_allowed += 2;
        while !self.model.is_empty() {
            let next = poll_fn(|cx| {
                polls += 1;
                self.queue.poll_expired(cx)
            });
            let Ok(expired) = timeout_at(end, next).await else {
                break;
            };
            let item = self.item(expired.expect("the queue is not empty"));
            assert_eq!(Some(item), self.first(), "out of order");
            let late = self.now().checked_sub(item.deadline.max(begin));
            // A paused clock is moved by whole milliseconds, from wherever it stands.
            assert!(late.expect("early") < 2 * TICK, "late by {late:?}");
            self.model.cancel(item.key);
        }
        let left = self.polls_allowed.checked_sub(polls);
        self.polls_allowed = left.expect("woken too often for nothing");
        // The runtime's own task is the one that waits now.
        self.told = Told::Item;
    }

    fn is_told(&self) -> bool {
        matches!(self.told, Told::Wait)
    }
}

/// What both have become.
impl Pair {
    fn compare(&self) {
        assert_eq!(self.queue.len(), self.model.len());
        assert_eq!(self.queue.is_empty(), self.model.is_empty());
        assert_eq!(self.queue.peek(), self.first().map(|item| item.key));
        for item in self.items() {
            let (deadline, value) = (self.time(self.queue.deadline(&item.key)), self.queue.get(&item.key));
            assert_eq!((deadline, value), (item.deadline, Some(&item.value)));
        }
        self.compare_wakes();
    }

    fn compare_wakes(&self) {
        let wakes = self.task.wakes();
        assert!(wakes <= MOST_WAKES, "{wakes} wakes for one poll");
        if self.must_be_woken {
            assert!(wakes > 0, "the task does not know: {:?}", self.told);
        }
        let first = self.first();
        let is_due = first.is_some_and(|item| item.deadline <= self.rung());
        if is_due && self.told != Told::Item {
            assert!(wakes > 0, "the task sleeps over what is due");
        }
    }

    /// All items of the model in the order of their delivery.
    fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.model.ascending().map(|(key, timer)| Item { key, deadline: timer.deadline, value: timer.value })
    }

    fn first(&self) -> Option<Item> {
        self.items().next()
    }

    fn item_of(&self, key: Key) -> Option<Item> {
        self.items().find(|item| item.key == key)
    }

    /// What was due by then has made the timers of tokio ring.
    fn rung(&self) -> u64 {
        (self.now() - ORIGIN) / TICK * TICK + ORIGIN
    }

    fn item(&self, expired: Expired<u32>) -> Item {
        Item { key: expired.key(), deadline: self.time(expired.deadline()), value: expired.into_inner() }
    }

    fn time(&self, instant: Instant) -> u64 {
        match instant.checked_duration_since(self.start) {
            Some(after) => ORIGIN.saturating_add(nanoseconds(after)),
            None => ORIGIN.saturating_sub(nanoseconds(self.start.duration_since(instant))),
        }
    }
}

/// Saturates as the queue does.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
