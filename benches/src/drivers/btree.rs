//! What one writes in an afternoon: an ordered map under a lock, and a thread that waits on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::driver::{Client, Driver};

type Key = (Instant, u64);

/// A timer made of a `Mutex<BTreeMap>` and a `Condvar`, or the map alone, whose jobs nobody runs.
pub(super) struct BTreeTimer<const RUNS: bool = true> {
    shared: Arc<Shared<RUNS>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
pub(super) struct Shared<const RUNS: bool> {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: BTreeMap<Key, Box<dyn FnOnce() + Send>>,
    next_sequence: u64,
    is_closed: bool,
}

impl<const RUNS: bool> Driver for BTreeTimer<RUNS> {
    const NAME: &'static str = if RUNS { "Mutex<BTreeMap> + Condvar" } else { "Mutex<BTreeMap>" };
    type Client = Arc<Shared<RUNS>>;

    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        Self { shared, thread: RUNS.then(|| thread::spawn(move || own.run())) }
    }

    fn client(&self) -> Arc<Shared<RUNS>> {
        Arc::clone(&self.shared)
    }
}

impl<const RUNS: bool> Drop for BTreeTimer<RUNS> {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap().is_closed = true;
        self.shared.changed.notify_one();
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl<const RUNS: bool> Shared<RUNS> {
    fn run(&self) {
        let mut queue = self.queue.lock().unwrap();
        while !queue.is_closed {
            let now = Instant::now();
            queue = match queue.jobs.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let job = first.remove();
                    drop(queue);
                    job();
                    self.queue.lock().unwrap()
                }
                Some(first) => {
                    let delay = first.key().0 - now;
                    self.changed.wait_timeout(queue, delay).unwrap().0
                }
                None => self.changed.wait(queue).unwrap(),
            };
        }
    }
}

impl<const RUNS: bool> Client for Arc<Shared<RUNS>> {
    type Handle = Key;

    fn schedule(&mut self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Key {
        let job = Box::new(job);
        let deadline = Instant::now() + delay;
        let mut queue = self.queue.lock().unwrap();
        let key = (deadline, queue.next_sequence);
        queue.next_sequence += 1;
        queue.jobs.insert(key, job);
        let is_first = RUNS && queue.jobs.first_key_value().is_some_and(|(first, _)| *first == key);
        drop(queue);
        if is_first {
            self.changed.notify_one();
        }
        key
    }

    fn cancel(&mut self, key: Key) -> Option<bool> {
        let job = self.queue.lock().unwrap().jobs.remove(&key);
        Some(job.is_some())
    }
}
