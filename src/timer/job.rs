//! A job that is due, on its way to where it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::task::AnyTask;

/// A job that has left the timer: an [`Executor`](super::Executor) got it because it is due, or
/// [`Timer::shutdown`](super::Timer::shutdown) returned it because it is not.
///
/// Until it runs it can still be cancelled by its handle. Dropping it gives the run up, which is
/// counted as [`abandoned`](super::Statistics::abandoned).
#[must_use = "a job that is dropped is not run"]
pub struct Job {
    /// `None` once it was run.
    task: Option<Arc<AnyTask>>,
    deadline: u64,
}

impl Job {
    /// Of a task that was just handed out.
    pub(super) fn new(task: Arc<AnyTask>) -> Self {
        Self {
            deadline: task.deadline(),
            task: Some(task),
        }
    }

    /// Runs the job on this thread, unless it was cancelled. A panic is caught, counted and
    /// reported to the timer's hook. A periodic job then waits for its next run, if its timer
    /// has not been shut down.
    pub fn run(mut self) {
        let Some(task) = self.task.take() else {
            return;
        };
        let Some(deadline) = task.start() else {
            return;
        };
        let hub = task.home().hub();
        hub.count_run(deadline);
        hub.guard(|| task.run());
        conclude(&task);
    }

    /// When it was due; `None` for never, or too far ahead for an [`Instant`].
    pub fn deadline(&self) -> Option<Instant> {
        let task = self.task.as_ref()?;
        task.home().hub().clock().instant_at(self.deadline)
    }
}

/// Lets a job that was started wait for its next run, or ends it.
fn conclude(task: &Arc<AnyTask>) {
    let hub = task.home().hub();
    if task.conclude(hub.now()) {
        hub.guard(|| task.discard());
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else {
            return;
        };
        // Claimed as for a run, so that nobody cancels it meanwhile.
        if task.start().is_some() {
            task.home().hub().counters().abandoned.bump();
            conclude(&task);
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
