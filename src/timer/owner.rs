//! The state that all clones of a timer share. It ends with the last of them.

use std::panic::resume_unwind;

use super::shards::Shards;
use super::shared::ENDED;
use super::{Job, Shutdown};
use crate::sync::{JoinHandle, Mutex, lock};

/// The owner of a timer thread. Dropping it ends the thread.
pub(super) struct Owner {
    pub(super) shards: Shards,
    pub(super) thread: Mutex<Option<JoinHandle<Vec<Job>>>>,
}

impl Owner {
    /// Ends the thread from outside of it, and returns the jobs that were not run.
    pub(super) fn shut_down(&self, how: Shutdown) -> Vec<Job> {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            self.shards.shared.wait_for(ENDED);
            return Vec::new();
        };
        self.shards.end(how);
        // Not a panic of a job or of the clock: the thread catches those.
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Some(thread) = lock(&self.thread).take() else {
            return;
        };
        self.shards.end(Shutdown::Discard);
        // Inside a job, that would wait for its own end. The thread ends by itself.
        if !self.shards.shared.is_inside_job() {
            drop(thread.join());
        }
    }
}
