//! Sleeps and their wakers. When they fire is in `tests/local`, in one set with those of a `LocalTimer`.

use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use timer_wheel::timer::{Reason, Sleep, TimeoutError};
use timer_wheel::{Clock, Job, Shutdown, Timer};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, SECOND};

const READY: Poll<Result<(), Reason>> = Poll::Ready(Ok(()));

impl Bench {
    /// Moves a sleep to a time since the clock's origin.
    fn reset(&self, sleep: &mut Sleep, to: Duration) {
        sleep.reset(self.clock.origin() + to);
    }

    /// A sleep that waits for a second, and has been reset as often.
    fn armed(&self, executor: &ManualExecutor, resets: u32) -> Sleep {
        let mut sleep = self.timer.sleep(SECOND);
        executor.start([&mut sleep]);
        (0..resets).for_each(|_| self.reset(&mut sleep, SECOND));
        sleep
    }
}

/// The thread looks at all of this at once.
#[test]
fn sleep_that_was_reset_fires_in_the_order_of_its_last_deadline() {
    let (bench, executor) = (Bench::with(|builder| builder.shards(1)), Arc::new(ManualExecutor::default()));
    let mut sleep = bench.armed(&executor, 1);
    bench.reset(&mut sleep, 3 * SECOND);
    for second in [2, 4] {
        let (executor, log) = (Arc::clone(&executor), bench.log.clone());
        bench.timer.schedule_after(second * SECOND, move || log.write(executor.wakes() as u64)).unwrap();
    }
    bench.advance(HOUR);
    assert_eq!(bench.log.read(), [0, 1]);
}

#[test]
fn sleep_refused_for_the_limit_tries_again_when_it_is_reset() {
    let (bench, executor) = (Bench::with(|builder| builder.limit(1)), ManualExecutor::default());
    let first = bench.armed(&executor, 0);
    let mut second = bench.timer.sleep(SECOND);
    assert_eq!((executor.poll(&mut second), executor.wakers()), (Poll::Ready(Err(Reason::Full)), 1));
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    assert_eq!(executor.poll(&mut timeout), Poll::Ready(Err(TimeoutError::Refused(Reason::Full))));
    drop(first);
    assert_eq!(executor.poll(&mut second), Poll::Ready(Err(Reason::Full)));
    bench.reset(&mut second, SECOND);
    executor.start([&mut second]);
    bench.advance(SECOND);
    assert_eq!(executor.poll(&mut second), READY);
}

#[test]
fn sleep_reset_before_or_after_a_shutdown_is_an_error_unless_it_is_due() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for resets in 0..3 {
            let (bench, executor) = (Bench::new(), ManualExecutor::default());
            let (mut before, mut after) = (bench.armed(&executor, resets), bench.armed(&executor, resets));
            bench.reset(&mut before, HOUR);
            bench.clock.advance(SECOND);
            assert!(bench.timer.shutdown(how).unwrap().is_empty());
            assert_eq!(executor.wakers(), 0);
            bench.reset(&mut after, 2 * SECOND);
            let refused = Poll::Ready(Err(Reason::ShutDown));
            assert_eq!([executor.poll(&mut before), executor.poll(&mut after)], [refused; 2]);
            bench.reset(&mut before, SECOND);
            assert_eq!(executor.poll(&mut before), READY);
        }
    }
}

/// The job before it is due at the same time: the timer is firing.
#[test]
fn sleep_dropped_by_a_job_that_fires_with_it_wakes_nobody() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut sleep = bench.timer.sleep(SECOND);
    let shared = Arc::new(Mutex::new(None));
    let victim = Arc::clone(&shared);
    let drops = move || drop(victim.lock().unwrap().take());
    bench.timer.schedule_after(SECOND, drops).unwrap();
    executor.start([&mut sleep]);
    *shared.lock().unwrap() = Some(sleep);
    bench.advance(SECOND);
    assert_eq!((executor.wakes(), bench.timer.len()), (0, 0));
    assert_eq!(bench.timer.stats().cancelled, 1);
}

#[test]
fn shutdown_wakes_all_tasks_and_returns_only_jobs() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (bench, executor) = (Bench::with(|builder| builder.shards(3)), ManualExecutor::default());
        let mut sleeps = [1, 3, 2, 700].map(|seconds| bench.timer.sleep(seconds * SECOND));
        executor.start(&mut sleeps);
        bench.schedule(HOUR, 1);
        bench.clock.advance(2 * SECOND);
        let unrun = bench.timer.shutdown(how).unwrap();
        assert_eq!((unrun.len(), bench.timer.len()), (1, 1));
        assert_eq!((executor.wakes(), executor.wakers()), (4, 0));
        let (over, never) = (Poll::Ready(Ok(())), Poll::Ready(Err(Reason::ShutDown)));
        assert_eq!(sleeps.each_mut().map(|sleep| executor.poll(sleep)), [over, never, over, never]);
        unrun.into_iter().for_each(Job::run);
        assert_eq!((bench.log.read(), bench.timer.len()), (vec![1], 0));
    }
}

#[test]
fn sleep_does_not_keep_its_timer_running_and_does_not_hang_without_it() {
    let bench = Bench::new();
    let sleep = bench.timer.sleep(HOUR);
    let task = thread::spawn(|| pollster::block_on(sleep));
    while bench.timer.is_empty() {
        thread::yield_now();
    }
    drop(bench);
    assert_eq!(task.join().unwrap(), Err(Reason::ShutDown));
}

#[test]
fn tasks_are_woken_by_the_thread_whatever_the_executor_does_with_jobs() {
    let (bench, executor) = (Bench::with(|builder| builder.executor(|job: Job| drop(job))), ManualExecutor::default());
    let mut sleep = bench.timer.sleep(SECOND);
    executor.start([&mut sleep]);
    bench.schedule(SECOND, 1);
    bench.advance(SECOND);
    assert_eq!(executor.wakes(), 1);
    assert_eq!(bench.timer.stats().abandoned, 1);
}

/// A waker that uses the timer whenever it is called, cloned apart, and panics when it wakes.
struct Nosy(Timer, AtomicUsize);

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(self.0.len() + 1, Ordering::SeqCst);
        resume_unwind(Box::new(()));
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        _ = self.0.len();
    }
}

#[test]
fn waker_that_uses_the_timer_and_panics_harms_nobody() {
    let bench = Bench::new();
    let nosy = || Arc::new(Nosy(bench.timer.clone(), AtomicUsize::new(0)));
    // The waker is dropped with the context, and lives on in the timer.
    let start = |sleep: &mut Sleep, nosy: Arc<Nosy>| {
        let poll = Pin::new(sleep).poll(&mut Context::from_waker(&Waker::from(nosy)));
        assert!(poll.is_pending());
    };
    let (mut sleep, last) = (bench.timer.sleep(SECOND), nosy());
    start(&mut sleep, nosy());
    start(&mut sleep, Arc::clone(&last));
    bench.schedule(SECOND, 1);
    bench.advance(SECOND);
    assert_eq!(last.1.load(Ordering::SeqCst), 2, "the job still waited");
    assert_eq!((bench.log.read(), bench.timer.stats().panicked), (vec![1], 1));
    let mut dropped = bench.timer.sleep(SECOND);
    start(&mut dropped, nosy());
    drop(dropped);
    assert!(bench.timer.is_empty());
}

/// A waker that panics when its last clone is dropped.
struct Fragile(Arc<AtomicUsize>);

impl Wake for Fragile {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        resume_unwind(Box::new(()));
    }
}

#[test]
fn wakers_that_panic_when_dropped_keep_no_other_task_asleep() {
    for is_fired in [true, false] {
        let (bench, woken) = (Bench::new(), Arc::new(AtomicUsize::new(0)));
        let mut sleeps = [1, 2, 3].map(|seconds| bench.timer.sleep(seconds * SECOND));
        for sleep in &mut sleeps {
            let waker = Waker::from(Arc::new(Fragile(Arc::clone(&woken))));
            assert!(Pin::new(sleep).poll(&mut Context::from_waker(&waker)).is_pending());
            // The timer's clone is the last.
            drop(waker);
        }
        bench.schedule(SECOND, 1);
        if is_fired {
            bench.advance(3 * SECOND);
        }
        let unrun = bench.timer.shutdown(Shutdown::Discard).unwrap();
        assert_eq!((unrun.len(), woken.load(Ordering::SeqCst)), (usize::from(!is_fired), 3));
        assert_eq!((bench.timer.stats().panicked, bench.timer.len()), (3, usize::from(!is_fired)));
    }
}
