//! A script run on a queue, and everything that both queues must agree on.

use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, advance};

use super::DelayQueue;
use super::Key;
use crate::rig::{Task, ms, pass, paused};
use crate::side_by_side::Step;

struct Run {
    start: Instant,
    queue: DelayQueue<u32>,
    task: Task,
    /// Keys of the items in the queue, by value.
    live: Vec<(u32, Key)>,
    inserted: u32,
    /// What each step led to. Times are milliseconds since the start, values name the items.
    events: Vec<String>,
}

pub(crate) fn transcript(steps: &[Step]) -> Vec<String> {
    paused(async {
        let mut run = Run {
            start: Instant::now(),
            queue: DelayQueue::new(),
            task: Task::new(),
            live: Vec::new(),
            inserted: 0,
            events: Vec::new(),
        };
        for step in steps {
            run.take(step).await;
            run.note_state();
        }
        run.events
    })
}

impl Run {
    async fn take(&mut self, step: &Step) {
        match *step {
            Step::Insert { delay } => self.insert(Instant::now() + ms(delay)),
            Step::InsertPast { age } => {
                let past = Instant::now().checked_sub(ms(age));
                self.insert(past.unwrap_or(self.start));
            }
            Step::Remove { nth } => {
                let removed = self.nth(nth).map(|at| {
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
            Step::Reset { nth, delay } => {
                if let Some(at) = self.nth(nth) {
                    self.queue.reset(&self.live[at].1, ms(delay));
                }
            }
            Step::Poll => self.poll(),
            Step::Pass { time } => pass(ms(time)).await,
            Step::Jump { days } => advance(Duration::from_secs(86_400 * u64::from(days))).await,
            Step::Clear => {
                let was_empty = self.queue.is_empty();
                self.queue.clear();
                self.live.clear();
                self.note_whether_woken(!was_empty);
            }
            Step::Compact => self.queue.compact(),
        }
    }

    fn nth(&self, nth: u8) -> Option<usize> {
        usize::from(nth).checked_rem(self.live.len())
    }

    fn insert(&mut self, deadline: Instant) {
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
