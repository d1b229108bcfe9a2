//! The least that producers can do: an ordered map under a lock, and nobody who looks at it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Client, Driver};

type Key = (Instant, u64);

/// A `Mutex<BTreeMap>`, shared.
#[derive(Clone, Default)]
pub(crate) struct TreeClient(Arc<Mutex<Tree>>);

#[derive(Default)]
struct Tree {
    jobs: BTreeMap<Key, Box<dyn FnOnce() + Send>>,
    next_sequence: u64,
}

impl Driver for TreeClient {
    const NAME: &'static str = "Mutex<BTreeMap>";
    type Client = Self;

    fn start() -> Self {
        Self::default()
    }

    fn client(&self, _: u64) -> Self {
        self.clone()
    }

    fn stop(self) {}
}

impl Client for TreeClient {
    type Handle = Key;

    fn schedule(&mut self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Key {
        let job = Box::new(job);
        let deadline = Instant::now() + delay;
        let mut tree = self.0.lock().unwrap();
        let key = (deadline, tree.next_sequence);
        tree.next_sequence += 1;
        tree.jobs.insert(key, job);
        key
    }

    fn cancel(&mut self, key: Key) -> Option<bool> {
        let job = self.0.lock().unwrap().jobs.remove(&key);
        Some(job.is_some())
    }
}
