//! The timer thread.

use std::sync::Arc;

use super::executor::Executor;
use super::job::Job;
use super::shared::Shared;
use super::shutdown::Shutdown;
use super::trace;
use crate::budget::Budget;
use crate::sync::thread;

/// The most work that is done under the lock at a time.
const PIECE: usize = 256;

/// The timer thread: hands jobs out when they are due.
pub(super) struct Worker {
    shared: Arc<Shared>,
    executor: Box<dyn Executor>,
    /// The work of one turn, at least 1: jobs handed out, and moves within the wheel.
    budget: usize,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, executor: Box<dyn Executor>, budget: usize) -> Self {
        Self {
            shared,
            executor,
            budget,
        }
    }

    /// Runs until the timer is shut down, and returns the jobs that were not run.
    pub(super) fn run(self) -> Vec<Job> {
        let _end = End(Arc::clone(&self.shared));
        self.shared.set_thread(thread::current());
        trace::started();
        self.shared.guard_clock(|| self.work());
        // Not yet if the clock has panicked: without the time there is nothing to run.
        self.shared.end(Shutdown::Discard);
        let unrun = self.take_back();
        let executor = self.executor;
        self.shared.guard(|| drop(executor));
        trace::stopped(unrun.len());
        unrun
    }

    /// Hands out what is due, and sleeps, until it is told to end.
    fn work(&self) {
        // Missed runs take their place in order, but after a turn that has come to no end.
        let mut missed_from = 0;
        loop {
            let (asked, ending) = {
                let mut queue = self.shared.queue();
                queue.set_missed_from(missed_from);
                (queue.asked(), queue.ending())
            };
            if ending == Some(Shutdown::Discard) {
                return;
            }
            let now = self.shared.tick();
            if ending == Some(Shutdown::Drain) {
                while self.hand_out_due(now) {}
                return;
            }
            if self.hand_out_due(now) {
                missed_from = now;
            } else {
                missed_from = 0;
                self.sleep(now, asked);
            }
        }
    }

    /// Hands out what is due by `now`, within the budget: whether there may be more.
    fn hand_out_due(&self, now: u64) -> bool {
        let mut budget = self.budget;
        while budget > 0 {
            let piece = budget.min(PIECE);
            let mut due = None;
            let progress = {
                let mut queue = self.shared.queue();
                if queue.ending() == Some(Shutdown::Discard) {
                    return true;
                }
                // One at a time: a job may cancel and put off those after it.
                let one = Budget::of_work(piece).with_fires(1);
                queue.hand_out(now, one, |key, deadline| due = Some((key, deadline)))
            };
            budget -= piece - progress.unused;
            match due {
                Some((key, deadline)) => {
                    let job = Job::new(Arc::clone(&self.shared), key, deadline);
                    self.shared.guard(|| self.executor.execute(job));
                }
                None if progress.has_backlog => {}
                None => return false,
            }
        }
        true
    }

    /// Sleeps until there is something to do, but for what has turned up already.
    fn sleep(&self, now: u64, asked: u64) {
        // From here to the park nothing may run that parks the thread and so uses up an unpark.
        if let Some(time) = self.shared.fall_asleep(now, asked) {
            self.shared.park_until(time);
            self.shared.queue().wake_up();
        }
    }

    /// Hands out whatever still waits, due or not, in order.
    fn take_back(&self) -> Vec<Job> {
        let mut left = self.shared.queue().cancellable();
        let mut unrun = Vec::with_capacity(left);
        // As nothing can be scheduled any more, that many come before one that comes again.
        while left > 0 {
            let mut queue = self.shared.queue();
            left = left.min(queue.cancellable());
            let budget = Budget::of_work(PIECE).with_fires(left);
            let progress = queue.hand_out(u64::MAX, budget, |key, deadline| {
                unrun.push(Job::new(Arc::clone(&self.shared), key, deadline));
            });
            left -= progress.fired;
        }
        unrun
    }
}

/// Refuses and answers all callers when the thread ends, be it in a panic.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end(Shutdown::Discard);
        self.0.set_ended();
    }
}
