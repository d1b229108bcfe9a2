//! The timer thread.

use std::sync::Arc;

use super::queue::Due;
use super::shard::Shard;
use super::shards::Shards;
use super::shared::{ENDED, Shared};
use super::{Executor, Job, Shutdown, trace};
use crate::budget::Budget;
use crate::clock::NEVER;
use crate::sync::thread;
use crate::wheel::advance::Verdict;

/// Where jobs run: on the timer thread, unless there is one.
pub(super) type AnyExecutor = Option<Box<dyn Executor>>;

/// The most work that is done under a lock at a time.
const PIECE: usize = 256;

/// Hands jobs out when they are due, until the timer is shut down, and returns those that were not run.
///
/// A budget is the work of one turn, at least 1: jobs handed out, and moves within the wheels.
pub(super) fn run(shards: Shards, executor: AnyExecutor, budget: usize) -> Vec<Job> {
    let shared = Arc::clone(&shards.shared);
    let _end = End(&shards);
    // There is only one.
    let _ = shared.thread.set(thread::current());
    trace::started();
    let mut worker = Worker {
        shards: &shards,
        shared: &shared,
        executor,
        budget,
        heads: Vec::new(),
    };
    if cfg!(all(loom, test)) {
        worker.work(); // Loom tells by a panic what it has found.
    } else {
        shared.guard(|| worker.work()); // A panic is the clock's, as those of jobs are caught within.
    }
    // That is new to nobody but if the clock has panicked: without the time there is nothing to run.
    shards.end(Shutdown::Discard);
    shared.stay_awake();
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
    /// The shards where something is due, the one that was served last at the end.
    heads: Vec<Head<'a>>,
}

/// A shard where something is due.
struct Head<'a> {
    shard: &'a Arc<Shard>,
    /// No job that waited there when it was last looked at is due before; 0 if it was not looked at.
    time: u64,
}

impl<'a> Worker<'a> {
    /// Hands out what is due, and sleeps, until it is told to end.
    fn work(&mut self) {
        let mut has_backlog = false;
        loop {
            let calls = self.shared.calls();
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
            // Missed runs take their place in order, but after a turn that has come to no end.
            let missed_from = if has_backlog { now } else { 0 };
            self.shared.set_missed_from(missed_from);
            has_backlog = self.hand_out_due(now);
            if !has_backlog {
                self.sleep(now, asked);
            }
        }
    }

    /// Hands out what is due by `now`, within the budget: whether there may be more.
    fn hand_out_due(&mut self, now: u64) -> bool {
        // Something that is due before may have come in.
        self.heads.iter_mut().for_each(|head| head.time = 0);
        self.look(now);
        let mut left = self.budget;
        while left > 0 {
            let Some((place, until)) = self.next(now) else {
                return false;
            };
            let piece = left.min(PIECE);
            match self.hand_out(place, until, now, piece) {
                Some(unused) => left -= piece - unused,
                None => return true,
            }
        }
        true
    }

    /// Notes the shards whose time has come.
    fn look(&mut self, now: u64) {
        for shard in self.shards.all() {
            let is_known = |head: &Head<'_>| Arc::ptr_eq(head.shard, shard);
            if shard.wake() <= now && !self.heads.iter().any(is_known) {
                self.heads.push(Head { shard, time: 0 });
            }
        }
    }

    /// The place of the shard whose job comes first, of equal ones the one that has waited longest, and until
    /// when its jobs come before all others.
    fn next(&mut self, now: u64) -> Option<(usize, u64)> {
        if self.heads.is_empty() {
            self.look(now);
        }
        let heads = self.heads.iter().enumerate();
        let (first, _) = heads.min_by_key(|(_, head)| head.time)?;
        let (before, after) = (&self.heads[..first], &self.heads[first + 1..]);
        // Those before it are later than it, as of equal ones the first was taken.
        let before = before.iter().map(|head| head.time - 1);
        let until = before.chain(after.iter().map(|head| head.time)).min();
        Some((first, until.unwrap_or(NEVER)))
    }

    /// Hands out the first job of a shard if it is due `until` then, and looks at the second: what is left of
    /// the budget, or `None` if nothing may start any more.
    ///
    /// One at a time: a job may cancel and put off those after it.
    fn hand_out(&mut self, place: usize, until: u64, now: u64, budget: usize) -> Option<usize> {
        let (shard, executor) = (self.heads[place].shard, &self.executor);
        let seen = self.shared.last_now();
        let (mut first, mut next) = (None, 0);
        let mut queue = shard.queue();
        if queue.ending == Some(Shutdown::Discard) {
            return None;
        }
        let progress = queue.wheel.advance_with(now, budget, |key, time, entry| {
            if first.is_some() || time > until {
                next = time;
                return Verdict::Stop;
            }
            let due = match executor {
                None => entry.begin(),
                Some(_) => entry.hand_out(),
            };
            let verdict = due.as_ref().map_or(Verdict::Rearm(NEVER), Due::verdict);
            first = due.map(|due| (key, entry.deadline, due));
            verdict
        });
        self.heads[place].time = next;
        let Some((key, deadline, due)) = first else {
            if !progress.has_backlog {
                shard.rest(&queue, now);
                self.heads.remove(place);
            }
            return Some(progress.unused);
        };
        let is_last = due.verdict() == Verdict::Remove;
        queue.begun += usize::from(is_last && matches!(due, Due::Run(_)));
        drop(queue);
        self.heads[place..].rotate_left(1);
        if let (Due::HandOut, Some(executor)) = (&due, executor) {
            let job = Job::new(Arc::clone(shard), key, deadline);
            self.shared.guard(|| executor.execute(job));
            return Some(progress.unused);
        }
        self.shared.count_run(seen.saturating_sub(deadline));
        match due {
            Due::Run(work) => shard.run(key, work),
            Due::Wake(waker) => self.shared.guard(|| waker.wake()),
            Due::HandOut => {}
        }
        Some(progress.unused)
    }

    /// Answers the first `asked` of those that wait for the thread to settle, and sleeps until there is
    /// something to do, but for what has turned up already.
    fn sleep(&self, now: u64, asked: u64) {
        let alarm = self.shards.wake();
        if alarm <= now {
            return;
        }
        self.shared.set_alarm(alarm);
        let is_sooner = self.shards.wake() < alarm;
        let mut calls = self.shared.calls();
        let is_news = calls.answered != asked;
        calls.answered = asked;
        let may_sleep = !is_sooner && calls.asked == asked && calls.ending.is_none();
        drop(calls);
        if is_news {
            self.shared.answered.notify_all();
        }
        // From here to the park nothing may run that parks the thread and so uses up an unpark.
        match alarm {
            _ if !may_sleep => return self.shared.stay_awake(),
            NEVER => thread::park(), // No clock has to say when that is.
            time => self.shared.clock.park_until(time),
        }
        self.shared.stay_awake();
        self.shared.count(|stats| stats.wake_ups += 1);
    }

    /// Takes back whatever still waits, due or not, in order, and wakes the tasks that sleep.
    fn take_back(&self) -> Vec<Job> {
        let (mut unrun, mut wakers) = (Vec::new(), Vec::new());
        for shard in self.shards.all() {
            let mut left = shard.queue().wheel.len();
            // As nothing can be scheduled any more, that many come before one that comes again.
            while left > 0 {
                let mut queue = shard.queue();
                left = left.min(queue.wheel.len());
                let budget = Budget::of_work(PIECE).with_fires(left);
                let progress = queue.wheel.advance_with(u64::MAX, budget, |key, _, entry| {
                    let due = entry.hand_out();
                    let verdict = due.as_ref().map_or(Verdict::Rearm(NEVER), Due::verdict);
                    match due {
                        Some(Due::Wake(waker)) => wakers.push(waker),
                        Some(_) => unrun.push(Job::new(Arc::clone(shard), key, entry.deadline)),
                        None => {}
                    }
                    verdict
                });
                left -= progress.fired;
            }
        }
        for waker in wakers {
            self.shared.guard(|| waker.wake());
        }
        // Those of each shard are in order, but for missed runs, which were ahead of their turn.
        unrun.sort_by_key(|job| job.deadline);
        unrun
    }
}

/// Refuses and answers all callers when the thread ends, be it in a panic.
struct End<'a>(&'a Shards);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end(Shutdown::Discard);
        self.0.shared.calls().answered = ENDED;
        self.0.shared.answered.notify_all();
    }
}
