//! What all clones of a timer share, and what ends with the last of them.

use std::panic::resume_unwind;
use std::sync::Arc;

use super::job::Job;
use super::shared::Shared;
use super::shutdown::Shutdown;
use crate::sync::{JoinHandle, Mutex, lock};

/// The owner of a timer thread. Dropping it ends the thread.
pub(super) struct Owner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Vec<Job>>>>,
}

impl Owner {
    pub(super) fn new(shared: Arc<Shared>, thread: JoinHandle<Vec<Job>>) -> Self {
        Self {
            shared,
            thread: Mutex::new(Some(thread)),
        }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Ends the thread from outside of it, and returns what was not run.
    pub(super) fn shut_down(&self, how: Shutdown) -> Vec<Job> {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            self.shared.wait_for_end();
            return Vec::new();
        };
        self.shared.end(how);
        match thread.join() {
            Ok(unrun) => unrun,
            // Not one of a job or of the clock: the thread catches those.
            Err(payload) => resume_unwind(payload),
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            return;
        };
        self.shared.end(Shutdown::Discard);
        if self.shared.is_inside_job() {
            // The job would wait for its own end. The thread ends by itself.
            return;
        }
        if let Ok(unrun) = thread.join() {
            drop(unrun);
        }
    }
}
