//! The timer thread.

use std::sync::Arc;
use std::task::Waker;

use super::owner::Shards;
use super::queue::{AnyWork, Occupant};
use super::shard::Shard;
use super::shared::{AWAKE, ENDED, Shared};
use super::{Executor, Job, Shutdown, trace};
use crate::Budget;
use crate::clock::NEVER;
use crate::sync::atomic::Ordering;
use crate::sync::{lock, thread};

/// Where jobs run; `None` means on the timer thread.
pub(super) type AnyExecutor = Option<Box<dyn Executor>>;

/// The most work that is done under a lock at a time.
const PIECE: usize = 256;

/// What to do with a due occupant.
enum Task {
    Run(AnyWork),
    Wake(Waker),
    /// Hand the job to the executor.
    HandOver,
}

/// Hands jobs out when they are due, until the timer is shut down, and returns those that were not run.
///
/// A budget is the work of one turn, at least 1: jobs handed out, and moves within the wheels.
pub(super) fn run(shards: Shards, executor: AnyExecutor, budget: usize) -> Vec<Job> {
    let shared = Arc::clone(&shards.shared);
    let _end = End(&shards);
    // Set for the first time: there is only one timer thread.
    let _ = shared.thread.set(thread::current());
    trace::started();
    let heads = shards.all.iter().map(|shard| (NEVER, shard)).collect();
    let mut worker = Worker { shards: &shards, shared: &shared, executor, budget, heads };
    if cfg!(all(loom, test)) {
        worker.work(); // Loom reports by a panic, which must not be caught.
    } else {
        shared.guard(|| worker.work()); // Only the clock can panic here: panics of jobs are caught inside.
    }
    // The shards are still open only after a panic of the clock. Without the time, no job can run.
    shards.end(Shutdown::Discard);
    shared.set_alarm(AWAKE);
    let unrun = worker.take_back();
    shared.guard(|| drop(worker.executor));
    trace::stopped(unrun.len());
    unrun
}

struct Worker<'a> {
    shards: &'a Shards,
    shared: &'a Shared,
    executor: AnyExecutor,
    budget: usize,
    /// All shards, the one that was served last at the end, each with a time. No job that the last look saw in the
    /// shard is due before that time. It is 0 if the shard must be looked at, and [`NEVER`] if nothing is due.
    heads: Vec<(u64, &'a Arc<Shard>)>,
}

impl Worker<'_> {
    /// Hands out due jobs, and sleeps in between, until the shutdown.
    fn work(&mut self) {
        let mut has_backlog = false;
        loop {
            let calls = lock(&self.shared.calls);
            let (asked, ending) = (calls.asked, calls.ending);
            drop(calls);
            if ending == Some(Shutdown::Discard) {
                return;
            }
            let now = self.shared.tick();
            if ending == Some(Shutdown::Drain) {
                while self.hand_out_due(now) {}
                return;
            }
            // Missed runs take their place in order, except after a turn that used up its budget.
            let missed_from = if has_backlog { now } else { 0 };
            let times = &self.shared.times;
            times.missed_from.store(missed_from, Ordering::Relaxed);
            has_backlog = self.hand_out_due(now);
            if !has_backlog {
                self.sleep(now, asked);
            }
        }
    }

    /// Hands out the jobs that are due by `now`, within the budget. Returns whether there may be more.
    fn hand_out_due(&mut self, now: u64) -> bool {
        let (mut left, mut is_due) = (self.budget, self.look(now));
        while left > 0 && is_due {
            let (place, until) = self.first();
            if self.heads[place].0 == NEVER {
                is_due = self.look(now);
                continue;
            }
            let piece = left.min(PIECE);
            let mut budget = Budget::of_work(piece);
            if !self.hand_out(place, until, now, &mut budget) {
                return true;
            }
            left -= piece - budget.work;
        }
        is_due
    }

    /// Marks the shards that must be looked at. Returns whether there is one.
    fn look(&mut self, now: u64) -> bool {
        self.heads.iter_mut().for_each(|(time, shard)| *time = if shard.wake() <= now { 0 } else { NEVER });
        self.heads.iter().any(|(time, _)| *time == 0)
    }

    /// The position of the shard whose job comes first, and the time until which its jobs come before all others. Among
    /// equals, the shard that has waited longest comes first.
    fn first(&self) -> (usize, u64) {
        let times = || self.heads.iter().map(|(time, _)| *time);
        let first = times().enumerate().min_by_key(|(_, time)| *time);
        let first = first.map_or(0, |(place, _)| place);
        // Shards before it have later jobs, because the first of equals was taken.
        let before = times().take(first).map(|time| time - 1);
        let until = before.chain(times().skip(first + 1)).min();
        (first, until.unwrap_or(NEVER))
    }

    /// Hands out the first job of a shard if it is due by `until`, and looks at the second. Returns `false` if
    /// nothing may start any more.
    ///
    /// One at a time: a job may cancel or postpone the jobs after it.
    fn hand_out(&mut self, place: usize, until: u64, now: u64, budget: &mut Budget) -> bool {
        let (shard, executor) = (self.heads[place].1, &self.executor);
        let seen = self.shared.last_now();
        let (mut first, mut next) = (None, 0);
        let mut queue = shard.queue_after_others();
        if queue.ending == Some(Shutdown::Discard) {
            return false;
        }
        queue.hand_out(now, budget, |key, time, occupant| {
            if first.is_some() || time > until {
                next = time;
                return false;
            }
            first = match occupant {
                Occupant::Sleep(sleeper) => sleeper.fire(time).map(|waker| (key, time, Task::Wake(waker))),
                Occupant::Waiting(job) | Occupant::Taken(job) => {
                    let work = if executor.is_none() { job.work.take() } else { None };
                    Some((key, job.deadline, work.map_or(Task::HandOver, Task::Run)))
                }
            };
            true
        });
        self.heads[place].0 = next;
        if first.is_none() && !queue.wheel.has_backlog() {
            shard.rest(&queue, now);
            self.heads[place].0 = NEVER;
        }
        drop(queue);
        let Some((key, deadline, task)) = first else {
            return true;
        };
        if !matches!(task, Task::HandOver) {
            self.shared.count_run(seen.saturating_sub(deadline));
        }
        match task {
            Task::Run(work) => shard.run(key, work),
            Task::Wake(waker) => self.shared.guard(|| waker.wake()),
            Task::HandOver => {
                let job = Job::new(Arc::clone(shard), key, deadline);
                self.shared.guard(|| _ = executor.as_ref().map(|executor| executor.execute(job)));
            }
        }
        self.heads[place..].rotate_left(1);
        true
    }

    /// Answers the first `asked` of the calls that wait for the thread to settle. Then sleeps until there is something
    /// to do, unless there is already.
    fn sleep(&self, now: u64, asked: u64) {
        let wake = self.shards.wake();
        if wake <= now {
            return;
        }
        let alarm = self.shared.alarm_for(wake);
        self.shared.set_alarm(alarm);
        let is_sooner = self.shards.wake() < wake;
        let mut calls = lock(&self.shared.calls);
        let is_news = calls.answered != asked;
        calls.answered = asked;
        let may_sleep = !is_sooner && calls.asked == asked && calls.ending.is_none();
        drop(calls);
        if is_news {
            self.shared.answered.notify_all();
        }
        // From here to the park nothing may run that parks the thread and so uses up an unpark.
        match alarm {
            _ if !may_sleep => return self.shared.set_alarm(AWAKE),
            NEVER => thread::park(), // Without a deadline, no clock is needed.
            time => self.shared.clock.park_until(time),
        }
        self.shared.set_alarm(AWAKE);
        self.shared.count(|stats| stats.wake_ups += 1);
    }

    /// Takes back all jobs that still wait, due or not, in order, and wakes the tasks that sleep.
    fn take_back(&self) -> Vec<Job> {
        let (mut unrun, mut wakers) = (Vec::new(), Vec::new());
        for shard in self.shards.all.iter() {
            let mut left = shard.queue().wheel.len();
            // Nothing can be scheduled or moved any more, so `left` hand-outs reach each occupant once.
            while left > 0 {
                let mut queue = shard.queue_after_others();
                left = left.min(queue.wheel.len());
                let mut budget = Budget::of_work(PIECE.min(self.budget)).with_fires(left);
                queue.hand_out(u64::MAX, &mut budget, |key, _, occupant| {
                    match occupant {
                        Occupant::Sleep(sleeper) => wakers.extend(sleeper.end()),
                        Occupant::Waiting(job) | Occupant::Taken(job) => {
                            unrun.push(Job::new(Arc::clone(shard), key, job.deadline))
                        }
                    }
                    true
                });
                left = budget.fires;
            }
        }
        self.shared.count(|stats| stats.abandoned += wakers.len() as u64);
        for waker in wakers {
            self.shared.guard(|| waker.wake());
        }
        // Jobs of each shard are in order, except missed runs, which were moved.
        unrun.sort_by_key(|job| job.deadline);
        unrun
    }
}

/// Refuses and answers all callers when the thread ends, even by a panic.
struct End<'a>(&'a Shards);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(Shutdown::Discard);
        lock(&self.0.shared.calls).answered = ENDED;
        self.0.shared.answered.notify_all();
    }
}
