//! The timer thread.

use std::sync::Arc;

use super::executor::Executor;
use super::hub::Hub;
use super::job::Job;
use super::shutdown::Shutdown;
use super::stripe::Stripe;
use super::task::{AnyTask, Due};
use super::trace;
use crate::clock::NEVER;
use crate::sync::thread;
use crate::wheel::Wheel;

/// A list that had to grow beyond this is given back when it is mostly unused.
const ROOMY: usize = 8 * 1024;

/// The timer thread: it owns the wheel.
pub(super) struct Worker {
    hub: Arc<Hub>,
    stripes: Vec<Arc<Stripe>>,
    wheel: Wheel<Arc<AnyTask>>,
    executor: Box<dyn Executor>,
    budget: usize,
    /// Jobs taken from a stripe, in order. Empty but while they are gone through.
    taken: Vec<Option<Arc<AnyTask>>>,
    /// A time to come at which something was due that a stripe held, or [`NEVER`].
    ///
    /// It may have been struck out since. Sleeping no longer than that keeps callers that schedule
    /// and cancel one job after the other from waking the thread for each of them.
    expected: u64,
}

impl Worker {
    pub(super) fn new(
        hub: Arc<Hub>,
        stripes: Vec<Arc<Stripe>>,
        executor: Box<dyn Executor>,
        budget: usize,
    ) -> Self {
        Self {
            wheel: Wheel::new(hub.tick()),
            hub,
            stripes,
            executor,
            budget,
            taken: Vec::new(),
            expected: NEVER,
        }
    }

    /// Runs until the timer is shut down, and returns the jobs that were not run.
    pub(super) fn run(mut self) -> Vec<Job> {
        let _end = End {
            hub: Arc::clone(&self.hub),
            stripes: self.stripes.clone(),
        };
        let hub = Arc::clone(&self.hub);
        hub.set_thread(thread::current());
        trace::started();
        // What remains when the clock panics: without the time there is nothing to run.
        let mut how = Shutdown::Discard;
        hub.guard_clock(|| how = self.work());
        let unrun = self.end(how);
        trace::stopped(unrun.len());
        unrun
    }

    /// Runs what is due, and sleeps, until it is told how to end.
    fn work(&mut self) -> Shutdown {
        loop {
            let asked = self.hub.asked_to_settle();
            let now = self.hub.tick();
            self.attend();
            if let Some(how) = self.hub.ending() {
                return how;
            }
            let has_backlog = self.fire_due(now);
            if !has_backlog {
                self.sleep(now, asked);
            }
        }
    }

    /// Looks at every job in the lists.
    fn attend(&mut self) {
        for stripe in &self.stripes {
            let soonest = stripe.take(&mut self.taken);
            self.expected = self.expected.min(soonest);
            let count = self.taken.len();
            for task in self.taken.drain(..).flatten() {
                task.attend(&mut self.wheel);
            }
            give_back_spare(&mut self.taken, count);
        }
    }

    /// Hands out what is due by `now`, within the budget: whether there may be more.
    fn fire_due(&mut self, now: u64) -> bool {
        let mut budget = self.budget;
        while budget > 0 && self.hub.ending() != Some(Shutdown::Discard) {
            // One at a time: between two of them the wheel is free to take what a job left behind.
            let mut advance = self.wheel.advance_with_budget(now, budget);
            let Some(expired) = advance.next() else {
                return advance.has_backlog();
            };
            budget = advance.unused();
            self.fire(expired.value, now);
        }
        true
    }

    fn fire(&mut self, task: Arc<AnyTask>, now: u64) {
        match task.fall_due(now) {
            Due::Hand => {
                let is_periodic = task.is_periodic();
                let job = Job::new(task);
                let executor = &self.executor;
                self.hub.guard(|| executor.execute(job));
                if is_periodic {
                    // Its next run may be due before what comes next.
                    self.attend();
                }
            }
            Due::Later => task.attend(&mut self.wheel),
            Due::Gone => {}
        }
    }

    /// Sleeps until there is something to do, but for what has turned up already.
    fn sleep(&mut self, now: u64, asked: u64) {
        if self.expected <= now {
            self.expected = NEVER;
        }
        let wake = self.wake().min(self.expected);
        if wake <= now || !self.stripes.iter().all(|stripe| stripe.set_alarm(wake)) {
            return;
        }
        // From here to the park nothing may run that parks the thread and so uses up an unpark.
        self.hub.set_next_wake(wake);
        self.hub.answer_settled(asked);
        if self.hub.asked_to_settle() == asked {
            self.hub.clock().park_until(wake);
            self.hub.counters().wake_ups.bump();
        }
        self.hub.set_next_wake(NEVER);
    }

    /// The time until which the wheel has nothing to do.
    fn wake(&self) -> u64 {
        match self.wheel.expiration_delay() {
            Some(delay) => self.wheel.now().saturating_add(delay),
            None => NEVER,
        }
    }

    /// Closes the stripes, runs what is due if it is to be, and takes the other jobs out in order.
    fn end(mut self, how: Shutdown) -> Vec<Job> {
        close(&self.stripes);
        self.attend();
        if how == Shutdown::Drain {
            let hub = Arc::clone(&self.hub);
            hub.guard_clock(|| {
                let now = hub.tick();
                while hub.ending() == Some(Shutdown::Drain) && self.fire_due(now) {}
            });
        }
        let mut unrun = Vec::with_capacity(self.wheel.len());
        for expired in self.wheel.advance(u64::MAX) {
            if expired.value.hand_back() {
                unrun.push(Job::new(expired.value));
            }
        }
        let executor = self.executor;
        self.hub.guard(|| drop(executor));
        unrun
    }
}

/// Gives back memory of an empty list of which no more than `used` places were needed.
fn give_back_spare<T>(list: &mut Vec<T>, used: usize) {
    if list.capacity() > ROOMY && used < list.capacity() / 4 {
        list.shrink_to(2 * used);
    }
}

/// Refuses and answers all callers when the thread ends, be it in a panic.
struct End {
    hub: Arc<Hub>,
    stripes: Vec<Arc<Stripe>>,
}

impl Drop for End {
    fn drop(&mut self) {
        close(&self.stripes);
        self.hub.set_ended();
    }
}

fn close(stripes: &[Arc<Stripe>]) {
    for stripe in stripes {
        stripe.close();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn list_that_is_roomy_and_mostly_unused_gives_memory_back() {
        let large = 2 * ROOMY;
        for (capacity, used, kept) in [
            (ROOMY, 0, ROOMY),
            (large, large / 4, large),
            (large, large / 4 - 1, 2 * (large / 4 - 1)),
            (large, 0, 0),
        ] {
            let mut list: Vec<u64> = Vec::with_capacity(capacity);
            give_back_spare(&mut list, used);
            assert_eq!(list.capacity(), kept, "{used} of {capacity} used");
        }
    }
}
