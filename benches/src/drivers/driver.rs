//! The drivers: `Timer`, tokio's tasks, and what one writes in an afternoon.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use timer_wheel::{Timer, TimerHandle};
use tokio::runtime::{Builder, Runtime};
use tokio::task;

/// Something that runs jobs when they are due.
pub(super) trait Driver: Send + Sized + 'static {
    type Handle;

    fn start() -> Self;

    /// For a thread that uses it too.
    fn share(&self) -> Self;

    fn schedule(&self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Self::Handle;

    /// Whether the job does not run, of those drivers that say so.
    fn cancel(&self, handle: Self::Handle) -> Option<bool>;
}

/// The one that is measured.
impl Driver for Timer {
    type Handle = TimerHandle;

    fn start() -> Self {
        Self::new().expect("a thread can be started")
    }

    fn share(&self) -> Self {
        self.clone()
    }

    fn schedule(&self, delay: Duration, job: impl FnOnce() + Send + 'static) -> TimerHandle {
        self.schedule_after(delay, job).expect("the timer runs")
    }

    fn cancel(&self, handle: TimerHandle) -> Option<bool> {
        Some(handle.cancel())
    }
}

/// A task that sleeps for each job, on a runtime with one thread.
pub(super) type Tokio = Arc<Runtime>;

impl Driver for Tokio {
    type Handle = task::JoinHandle<()>;

    fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build();
        Self::new(runtime.expect("a thread can be started"))
    }

    fn share(&self) -> Self {
        Self::clone(self)
    }

    fn schedule(&self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Self::Handle {
        let deadline = Instant::now() + delay;
        self.spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            job();
        })
    }

    fn cancel(&self, handle: Self::Handle) -> Option<bool> {
        handle.abort();
        None
    }
}

/// An ordered map under a lock, and a thread that waits on it; or without `RUNS` the map alone, whose jobs nobody runs.
pub(super) struct BTreeTimer<const RUNS: bool = true> {
    shared: Arc<Shared>,
    /// Of the one that was started.
    thread: Option<JoinHandle<()>>,
}

type Key = (Instant, u64);

#[derive(Default)]
struct Shared {
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
    type Handle = Key;

    fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        Self { shared, thread: RUNS.then(|| thread::spawn(move || own.run())) }
    }

    fn share(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), thread: None }
    }

    fn schedule(&self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Key {
        let job = Box::new(job);
        let deadline = Instant::now() + delay;
        let mut queue = self.shared.queue.lock().unwrap();
        let key = (deadline, queue.next_sequence);
        queue.next_sequence += 1;
        queue.jobs.insert(key, job);
        let is_first = RUNS && queue.jobs.first_key_value().is_some_and(|(first, _)| *first == key);
        drop(queue);
        if is_first {
            self.shared.changed.notify_one();
        }
        key
    }

    fn cancel(&self, key: Key) -> Option<bool> {
        let job = self.shared.queue.lock().unwrap().jobs.remove(&key);
        Some(job.is_some())
    }
}

impl<const RUNS: bool> Drop for BTreeTimer<RUNS> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.queue.lock().unwrap().is_closed = true;
            self.shared.changed.notify_one();
            thread.join().unwrap();
        }
    }
}

impl Shared {
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
