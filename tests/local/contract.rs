//! What is left when all has been dropped, and at the end of an executor. And what neither the random calls nor the comparison
//! with `Timer` reach: a period of zero, and a clock that is set back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use timer_wheel::local::{LocalInterval, LocalTimer, TurnClock};
use timer_wheel::{Budget, TimeSource};

use crate::executor::ManualExecutor;
use crate::{MS, fire, timer};

/// Counts the timers that have it.
#[derive(Clone, Default)]
struct Counted(Rc<()>);

impl TimeSource for Counted {
    type Instant = u64;

    fn now(&self) -> u64 {
        0
    }

    fn deadline_at(&self, instant: u64) -> u64 {
        instant
    }
}

#[test]
fn futures_that_outlive_all_handles_keep_the_timer_and_nothing_is_left_after_them() {
    let (clock, executor) = (Counted::default(), ManualExecutor::default());
    let timer = LocalTimer::new(clock.clone());
    let mut sleeps: Vec<_> = (1..1_000).map(|delay| timer.sleep_until(delay)).collect();
    let mut timeouts: Vec<_> = (1..1_000).map(|delay| timer.timeout(delay * MS, pending::<()>())).collect();
    let mut interval = timer.interval(MS);
    executor.start(&mut sleeps);
    executor.start(&mut timeouts);
    executor.start([&mut Box::pin(interval.tick())]);
    assert_eq!((timer.len(), executor.wakers()), (1_999, 1_999), "the tick's place is the interval's");
    drop(timer);
    assert_eq!(Rc::strong_count(&clock.0), 2);
    drop((sleeps, timeouts));
    assert_eq!((Rc::strong_count(&clock.0), executor.wakers()), (2, 1));
    drop(interval);
    assert_eq!((Rc::strong_count(&clock.0), executor.wakers()), (1, 0));
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    /// Wakers are `Send`, tasks are not: a waker owns its task by its number.
    static TASKS: RefCell<BTreeMap<usize, Task>> = const { RefCell::new(BTreeMap::new()) };
}

struct Owner(usize);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Owner {
    fn drop(&mut self) {
        let task = TASKS.with_borrow_mut(|tasks| tasks.remove(&self.0));
        drop(task);
    }
}

/// The wheel owns the wakers, these the tasks, these the sleeps, and these the wheel.
#[test]
fn clear_ends_the_circle_of_tasks_and_wakers_at_the_end_of_an_executor() {
    let clock = Counted::default();
    let timer = LocalTimer::new(clock.clone());
    for number in 0..10 {
        let sleep = timer.sleep(MS);
        let mut task: Task = Box::pin(sleep);
        let waker = Waker::from(Arc::new(Owner(number)));
        assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        TASKS.with_borrow_mut(|tasks| tasks.insert(number, task));
    }
    let all: Weak<()> = Rc::downgrade(&clock.0);
    assert_eq!((timer.len(), TASKS.with_borrow(BTreeMap::len)), (10, 10));
    timer.clear();
    assert_eq!((timer.len(), TASKS.with_borrow(BTreeMap::len)), (0, 0));
    drop((timer, clock));
    assert_eq!(all.strong_count(), 0);
}

/// Polls as long as ticks are due, at most ten times.
fn ticks(interval: &mut LocalInterval<TurnClock>) -> usize {
    let is_due = |_: &usize| pin!(interval.tick()).poll(&mut Context::from_waker(Waker::noop())).is_ready();
    (0..10).take_while(is_due).count()
}

#[test]
fn interval_with_a_period_of_zero_ticks_once_for_each_time_that_the_clock_shows() {
    let timer = timer();
    let mut interval = timer.interval(Duration::ZERO);
    assert_eq!((interval.period(), ticks(&mut interval)), (Duration::from_nanos(1), 0));
    for now in 1..5 {
        assert_eq!((fire(&timer, now), ticks(&mut interval)), (1, 1));
    }
    assert_eq!(ticks(&mut timer.interval_at(0, Duration::ZERO)), 1);
}

/// A reading that the timer has made counts, also the one at its start: a clock that is set back below it stands still.
#[test]
fn clock_set_back_below_its_reading_at_new_counts_as_stopped() {
    let (clock, executor) = (TurnClock::new(), ManualExecutor::default());
    clock.set(1_000);
    let timer = LocalTimer::new(clock.clone());
    clock.set(0);
    let mut passed = timer.sleep_until(5);
    assert!(passed.is_elapsed() && executor.poll(&mut passed).is_ready());
    let mut sleep = timer.sleep(Duration::from_nanos(5));
    assert_eq!(sleep.deadline(), 1_005);
    executor.start([&mut sleep]);
    assert_eq!((timer.fire(0, &mut Budget::unlimited()), executor.wakes()), (0, 0));
    assert!(timer.wake_at() <= Some(1_005));
    assert_eq!(timer.fire(1_005, &mut Budget::unlimited()), 1);
    assert!(executor.poll(&mut sleep).is_ready());
}
