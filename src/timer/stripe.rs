//! A list of jobs for the timer thread to attend to, filled by some of the calling threads.

use std::mem;
use std::sync::Arc;

use super::hub::Hub;
use super::task::AnyTask;
use crate::clock::NEVER;
use crate::sync::{Mutex, lock};

/// The alarm of a thread that is awake: nothing is due before it.
const AWAKE: u64 = 0;

/// So many jobs in a list wake the thread, whenever they are due, so that filing them does not
/// take long when something is.
const CROWD: usize = 1024;

/// Fewer places than this are not worth closing up.
const FEW: usize = 64;

/// The timer is shut down.
#[derive(Debug)]
pub(super) struct Refusal;

/// Whether the timer thread must be woken, with no lock held.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Yes,
    No,
}

/// A list of jobs that the timer thread must look at. Aligned so that two threads with a stripe each
/// do not share a cache line.
#[repr(align(128))]
pub(super) struct Stripe {
    hub: Arc<Hub>,
    list: Mutex<List>,
}

/// Invariant: a job is in the list at most once, at the place that it has noted.
struct List {
    /// In the order of the calls; `None` where a job was struck out.
    places: Vec<Option<Arc<AnyTask>>>,
    struck: usize,
    /// No job that came since the list was last taken is due before this, struck out or not.
    soonest: u64,
    /// The time until which the timer thread sleeps, or [`AWAKE`].
    alarm: u64,
    is_closed: bool,
    tally: Tally,
}

/// What went through a stripe, in jobs.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) scheduled: u64,
    pub(super) cancelled: u64,
    pub(super) rescheduled: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.scheduled += other.scheduled;
        self.cancelled += other.cancelled;
        self.rescheduled += other.rescheduled;
    }
}

/// For callers.
impl Stripe {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            list: Mutex::new(List {
                places: Vec::new(),
                struck: 0,
                soonest: NEVER,
                alarm: AWAKE,
                is_closed: false,
                tally: Tally::default(),
            }),
        }
    }

    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Takes in a new job that nobody else knows yet.
    pub(super) fn admit(&self, task: Arc<AnyTask>, deadline: u64) -> Result<(), Refusal> {
        let wake = {
            let mut list = lock(&self.list);
            if list.is_closed {
                return Err(Refusal);
            }
            list.tally.scheduled += 1;
            list.push(task, deadline)
        };
        self.wake(wake);
        Ok(())
    }

    /// Lets the thread look at a job that has a new deadline, behind all that are in the list.
    pub(super) fn reschedule(&self, task: &Arc<AnyTask>, deadline: u64) -> Result<Wake, Refusal> {
        let mut list = lock(&self.list);
        let wake = list.requeue(task, deadline)?;
        list.tally.rescheduled += 1;
        Ok(wake)
    }

    /// As [`reschedule`](Stripe::reschedule), for a periodic job between two runs.
    pub(super) fn rearm(&self, task: &Arc<AnyTask>, deadline: u64) -> Result<Wake, Refusal> {
        lock(&self.list).requeue(task, deadline)
    }

    /// Counts a waiting job as cancelled, and sees to it that it goes from wherever it is.
    pub(super) fn withdraw(&self, task: &Arc<AnyTask>, is_in_wheel: bool) -> Wake {
        let mut list = lock(&self.list);
        list.tally.cancelled += 1;
        if !is_in_wheel {
            // Or the thread has it in hand, and will look at it.
            list.strike(task);
            return Wake::No;
        }
        if list.holds(task) || list.is_closed {
            return Wake::No;
        }
        list.push(Arc::clone(task), NEVER)
    }

    /// Counts a job as cancelled that the thread has nothing more to do with.
    pub(super) fn count_cancelled(&self) -> Wake {
        lock(&self.list).tally.cancelled += 1;
        Wake::No
    }

    pub(super) fn tally(&self) -> Tally {
        lock(&self.list).tally
    }

    pub(super) fn wake(&self, wake: Wake) {
        if wake == Wake::Yes {
            self.hub.unpark();
        }
    }
}

/// For the timer thread.
impl Stripe {
    /// Swaps the list with an empty one, and returns the time before which none of it is due, struck
    /// out or not. From now on the thread is awake.
    pub(super) fn take(&self, empty: &mut Vec<Option<Arc<AnyTask>>>) -> u64 {
        debug_assert!(empty.is_empty(), "jobs must not be lost");
        let mut list = lock(&self.list);
        list.alarm = AWAKE;
        list.struck = 0;
        mem::swap(&mut list.places, empty);
        mem::replace(&mut list.soonest, NEVER)
    }

    /// Whether the thread may sleep until `wake`. Then whoever is in a greater hurry wakes it.
    pub(super) fn set_alarm(&self, wake: u64) -> bool {
        debug_assert!(wake > AWAKE, "the past is no time to wake up");
        let mut list = lock(&self.list);
        if list.is_closed || list.soonest < wake || list.is_crowded() {
            return false;
        }
        list.alarm = wake;
        true
    }

    /// Refuses all that comes from now on.
    pub(super) fn close(&self) {
        lock(&self.list).is_closed = true;
    }
}

impl List {
    fn push(&mut self, task: Arc<AnyTask>, deadline: u64) -> Wake {
        task.set_place(self.places.len());
        self.places.push(Some(task));
        self.soonest = self.soonest.min(deadline);
        if deadline < self.alarm || (self.alarm != AWAKE && self.is_crowded()) {
            self.alarm = AWAKE;
            return Wake::Yes;
        }
        Wake::No
    }

    fn requeue(&mut self, task: &Arc<AnyTask>, deadline: u64) -> Result<Wake, Refusal> {
        if self.is_closed {
            return Err(Refusal);
        }
        self.strike(task);
        Ok(self.push(Arc::clone(task), deadline))
    }

    fn holds(&self, task: &Arc<AnyTask>) -> bool {
        match self.places.get(task.place()) {
            Some(Some(found)) => Arc::as_ptr(found).addr() == Arc::as_ptr(task).addr(),
            _ => false,
        }
    }

    /// Takes a job out of the list, if it is there. Amortized O(1). The caller has it too, so that
    /// this is never the end of it.
    fn strike(&mut self, task: &Arc<AnyTask>) {
        if !self.holds(task) {
            return;
        }
        self.places[task.place()] = None;
        self.struck += 1;
        while let Some(None) = self.places.last() {
            self.places.pop();
            self.struck -= 1;
        }
        if self.struck > FEW && 2 * self.struck > self.places.len() {
            self.close_up();
        }
    }

    /// Removes the empty places.
    fn close_up(&mut self) {
        self.places.retain(Option::is_some);
        self.struck = 0;
        for (place, task) in self.places.iter().flatten().enumerate() {
            task.set_place(place);
        }
    }

    fn is_crowded(&self) -> bool {
        self.places.len() - self.struck >= CROWD
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ManualClock;
    use crate::timer::task::Task;
    use crate::timer::work::Once;

    fn stripe() -> Arc<Stripe> {
        let hub = Hub::new(Box::new(ManualClock::new()), None, Duration::MAX);
        Arc::new(Stripe::new(Arc::new(hub)))
    }

    fn task(stripe: &Arc<Stripe>) -> Arc<AnyTask> {
        Arc::new(Task::new(Arc::clone(stripe), 0, Once::new(|| ())))
    }

    fn push(stripe: &Arc<Stripe>, deadline: u64) -> (Arc<AnyTask>, Wake) {
        let task = task(stripe);
        let wake = lock(&stripe.list).push(Arc::clone(&task), deadline);
        (task, wake)
    }

    fn places_and_struck(stripe: &Stripe) -> (usize, usize) {
        let list = lock(&stripe.list);
        (list.places.len(), list.struck)
    }

    #[test]
    fn job_in_the_wheel_is_listed_once_to_be_withdrawn_and_not_when_all_is_over() {
        let stripe = stripe();
        let task = task(&stripe);
        assert_eq!(stripe.withdraw(&task, true), Wake::No);
        assert_eq!(places_and_struck(&stripe), (1, 0));
        assert_eq!(stripe.withdraw(&task, true), Wake::No);
        assert_eq!(places_and_struck(&stripe), (1, 0), "it is there");
        stripe.take(&mut Vec::new());
        stripe.close();
        assert_eq!(stripe.withdraw(&task, true), Wake::No);
        assert_eq!(places_and_struck(&stripe), (0, 0), "nobody would look");
    }

    #[test]
    fn alarm_is_refused_to_a_list_with_something_sooner_or_too_much_or_closed() {
        let stripe = stripe();
        let (first, _) = push(&stripe, 10);
        assert!(!stripe.set_alarm(11));
        assert!(stripe.set_alarm(10), "that is soon enough");
        for _ in 1..CROWD {
            push(&stripe, 10);
        }
        assert!(!stripe.set_alarm(10));
        lock(&stripe.list).strike(&first);
        assert!(
            stripe.set_alarm(10),
            "those that are struck out are no crowd"
        );
        stripe.take(&mut Vec::new());
        assert!(stripe.set_alarm(11));
        stripe.close();
        assert!(!stripe.set_alarm(11));
    }

    #[test]
    fn thread_that_sleeps_is_woken_once_by_what_is_sooner_or_by_a_crowd() {
        let stripe = stripe();
        assert_eq!(push(&stripe, 5).1, Wake::No, "it is awake");
        stripe.take(&mut Vec::new());
        assert!(stripe.set_alarm(10));
        assert_eq!(push(&stripe, 10).1, Wake::No, "it wakes up for that");
        assert_eq!(push(&stripe, 9).1, Wake::Yes);
        assert_eq!(push(&stripe, 9).1, Wake::No, "it is awake");
        stripe.take(&mut Vec::new());
        assert!(stripe.set_alarm(10));
        for place in 1..=CROWD + 9 {
            let expected = if place == CROWD { Wake::Yes } else { Wake::No };
            assert_eq!(push(&stripe, 20).1, expected, "place {place}");
        }
    }

    #[test]
    fn list_is_closed_up_when_most_of_many_places_are_empty() {
        // Places, how many may be empty at the front, and what is left with one more.
        for (places, empty) in [(200, 100), (120, FEW), (60, 59)] {
            let stripe = stripe();
            let tasks: Vec<_> = (0..places).map(|_| push(&stripe, 9).0).collect();
            let mut list = lock(&stripe.list);
            for (nth, task) in tasks.iter().enumerate().take(empty) {
                list.strike(task);
                assert_eq!((list.places.len(), list.struck), (places, nth + 1));
            }
            list.strike(&tasks[empty]);
            assert_eq!((list.places.len(), list.struck), (places - empty - 1, 0));
            assert!(tasks[empty + 1..].iter().all(|task| list.holds(task)));
        }
    }
}
