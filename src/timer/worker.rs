//! The timer thread.

use std::sync::Arc;

use super::queue::ENDED;
use super::shared::Shared;
use super::{Executor, Job, Shutdown, trace};
use crate::budget::Budget;
use crate::clock::NEVER;
use crate::sync::thread;

/// Where jobs run: on the timer thread, unless there is one.
pub(super) type AnyExecutor = Option<Box<dyn Executor>>;

/// The most work that is done under the lock at a time.
const PIECE: usize = 256;

/// Hands jobs out when they are due, until the timer is shut down, and returns those that were not run.
///
/// A budget is the work of one turn, at least 1: jobs handed out, and moves within the wheel.
pub(super) fn run(shared: Arc<Shared>, executor: AnyExecutor, budget: usize) -> Vec<Job> {
    let _end = End(&shared);
    // There is only one.
    let _ = shared.thread.set(thread::current());
    trace::started();
    let work = || shared.work(&executor, budget);
    if cfg!(all(loom, test)) {
        work(); // Loom tells by a panic what it has found.
    } else {
        shared.guard(work); // A panic is the clock's, as those of jobs are caught within.
    }
    // That is new to nobody but if the clock has panicked: without the time there is nothing to run.
    shared.end(Shutdown::Discard);
    let unrun = shared.take_back();
    shared.guard(|| drop(executor));
    trace::stopped(unrun.len());
    unrun
}

impl Shared {
    /// Hands out what is due, and sleeps, until it is told to end.
    fn work(self: &Arc<Self>, executor: &AnyExecutor, budget: usize) {
        let mut has_backlog = false;
        loop {
            let queue = self.queue();
            let (asked, ending) = (queue.asked, queue.ending);
            drop(queue);
            if ending == Some(Shutdown::Discard) {
                return;
            }
            let now = self.tick();
            if ending == Some(Shutdown::Drain) {
                while self.hand_out_due(now, executor, budget) {}
                return;
            }
            // Missed runs take their place in order, but after a turn that has come to no end.
            self.queue().missed_from = if has_backlog { now } else { 0 };
            has_backlog = self.hand_out_due(now, executor, budget);
            if !has_backlog {
                self.sleep(now, asked);
            }
        }
    }

    /// Hands out what is due by `now`, within the budget: whether there may be more.
    fn hand_out_due(self: &Arc<Self>, now: u64, executor: &AnyExecutor, budget: usize) -> bool {
        let mut left = budget;
        while left > 0 {
            let piece = left.min(PIECE);
            let mut due = None;
            let seen = self.last_now();
            let mut queue = self.queue();
            if queue.ending == Some(Shutdown::Discard) {
                return true;
            }
            // One at a time: a job may cancel and put off those after it.
            let one = Budget::of_work(piece).with_fires(1);
            let progress = queue.hand_out(now, one, |key, entry| {
                let work = executor.is_none().then(|| entry.work.take()).flatten();
                due = Some((key, entry.deadline, work));
            });
            left -= piece - progress.unused;
            match (due, executor) {
                (Some((key, deadline, Some(work))), _) => {
                    self.count_run(queue, seen.saturating_sub(deadline));
                    self.run(key, work);
                }
                (Some((key, deadline, None)), Some(executor)) => {
                    drop(queue);
                    let job = Job::new(Arc::clone(self), key, deadline);
                    self.guard(|| executor.execute(job));
                }
                _ if progress.has_backlog => {}
                _ => return false,
            }
        }
        true
    }

    /// Answers the first `asked` of those that wait for the thread to settle, as nothing is due by `now`,
    /// and sleeps until there is something to do, but for what has turned up already.
    fn sleep(&self, now: u64, asked: u64) {
        let mut queue = self.queue();
        let is_news = queue.answered != asked;
        let alarm = queue.fall_asleep(now, asked);
        drop(queue);
        if is_news {
            self.answered.notify_all();
        }
        // From here to the park nothing may run that parks the thread and so uses up an unpark.
        match alarm {
            None => return,
            Some(NEVER) => thread::park(), // No clock has to say when that is.
            Some(time) => self.clock.park_until(time),
        }
        self.queue().wake_up();
    }

    /// Hands out whatever still waits, due or not, in order.
    fn take_back(self: &Arc<Self>) -> Vec<Job> {
        let mut left = self.queue().wheel.len();
        let mut unrun = Vec::with_capacity(left);
        // As nothing can be scheduled any more, that many come before one that comes again.
        while left > 0 {
            let mut queue = self.queue();
            left = left.min(queue.wheel.len());
            let budget = Budget::of_work(PIECE).with_fires(left);
            let progress = queue.hand_out(u64::MAX, budget, |key, entry| {
                unrun.push(Job::new(Arc::clone(self), key, entry.deadline));
            });
            left -= progress.fired;
        }
        // Missed runs were ahead of their turn.
        unrun.sort_by_key(|job| job.deadline);
        unrun
    }
}

/// Refuses and answers all callers when the thread ends, be it in a panic.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(Shutdown::Discard);
        self.0.queue().answered = ENDED;
        self.0.answered.notify_all();
    }
}
