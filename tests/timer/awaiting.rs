//! Futures of a timer, polled by hand and on executors.

use std::future::{Future, pending, poll_fn, ready};
use std::mem;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use timer_wheel::timer::{Interval, Reason, Sleep, Timeout, TimeoutError};
use timer_wheel::{Clock, Job, Shutdown, Timer};

use crate::log::{Bench, HOUR, MS, SECOND};

/// A waker that counts.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wakes {
    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// An executor of one task, which polls when it is told to.
#[derive(Default)]
struct Hand(Arc<Wakes>);

impl Hand {
    fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.0));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    fn wakes(&self) -> usize {
        self.0.get()
    }

    /// How many wakers there are.
    fn wakers(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

#[test]
fn sleep_wakes_its_task_once_and_to_the_nanosecond() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut sleep = bench.timer.sleep(SECOND);
    assert_eq!(sleep.deadline(), Some(bench.clock.origin() + SECOND));
    assert_eq!(bench.timer.len(), 0, "not before it is polled");
    assert!(hand.poll(&mut sleep).is_pending());
    assert_eq!(bench.timer.len(), 1);
    bench.advance(SECOND - Duration::from_nanos(1));
    assert_eq!(hand.wakes(), 0);
    assert!(hand.poll(&mut sleep).is_pending());
    bench.advance(Duration::from_nanos(1));
    assert_eq!((hand.wakes(), hand.wakers()), (1, 0));
    for _ in 0..3 {
        assert_eq!(hand.poll(&mut sleep), Poll::Ready(Ok(())), "for ever");
    }
    drop(sleep);
    let stats = bench.timer.stats();
    assert_eq!((stats.scheduled, stats.fired, stats.len), (1, 1, 0));
    assert_eq!((stats.cancelled, stats.lateness.count()), (0, 1));
}

#[test]
fn sleep_whose_time_has_come_is_ready_at_its_first_poll_and_takes_no_place() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut sleep = bench.timer.sleep(SECOND);
    let mut until = bench.timer.sleep_until(bench.clock.origin() + SECOND);
    let mut zero = bench.timer.sleep(Duration::ZERO);
    assert_eq!(hand.poll(&mut zero), Poll::Ready(Ok(())));
    bench.advance(SECOND);
    assert_eq!(hand.poll(&mut sleep), Poll::Ready(Ok(())));
    assert_eq!(hand.poll(&mut until), Poll::Ready(Ok(())));
    assert_eq!(bench.timer.stats().scheduled, 0);
}

#[test]
fn sleep_beyond_the_clock_never_comes() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut sleep = bench.timer.sleep(Duration::MAX);
    assert_eq!(sleep.deadline(), None);
    assert!(hand.poll(&mut sleep).is_pending());
    bench.advance(Duration::MAX);
    assert!(hand.poll(&mut sleep).is_pending());
    assert_eq!(hand.wakes(), 0);
}

#[test]
fn waker_that_changes_is_replaced_in_place_and_the_last_one_is_called() {
    let (bench, hands) = (Bench::new(), [Hand::default(), Hand::default()]);
    let mut sleep = bench.timer.sleep(SECOND);
    for hand in hands.iter().chain(&hands).chain([&hands[1]]) {
        assert!(hand.poll(&mut sleep).is_pending());
        assert_eq!(hand.wakers(), 1);
    }
    assert_eq!(hands[0].wakers(), 0, "dropped");
    let stats = bench.timer.stats();
    assert_eq!((stats.len, stats.scheduled), (1, 1));
    bench.advance(SECOND);
    assert_eq!((hands[0].wakes(), hands[1].wakes()), (0, 1));
    assert_eq!(hands[0].poll(&mut sleep), Poll::Ready(Ok(())));
}

#[test]
fn dropped_sleep_leaves_nothing_behind() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut sleep = bench.timer.sleep(SECOND);
    assert!(hand.poll(&mut sleep).is_pending());
    drop(sleep);
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    drop(bench.timer.sleep(SECOND)); // never polled
    bench.advance(HOUR);
    let stats = bench.timer.stats();
    assert_eq!((hand.wakes(), stats.cancelled, stats.fired), (0, 1, 0));
}

#[test]
fn million_cancelled_sleeps_leave_nothing_behind() {
    let (bench, hand) = (Bench::new(), Hand::default());
    for _ in 0..100 {
        let sleep = |number: u32| bench.timer.sleep(SECOND + number * MS);
        let mut sleeps: Vec<Sleep> = (0..10_000).map(sleep).collect();
        for sleep in &mut sleeps {
            assert!(hand.poll(sleep).is_pending());
        }
        assert_eq!((bench.timer.len(), hand.wakers()), (10_000, 10_000));
    }
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    assert_eq!(bench.timer.stats().cancelled, 1_000_000);
}

/// The job before it is due at the same time: the timer is firing.
#[test]
fn sleep_dropped_by_a_job_that_fires_with_it_wakes_nobody() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut sleep = bench.timer.sleep(SECOND);
    let shared = Arc::new(Mutex::new(None));
    let victim = Arc::clone(&shared);
    let drops = move || drop(victim.lock().unwrap().take());
    bench.timer.schedule_after(SECOND, drops).unwrap();
    assert!(hand.poll(&mut sleep).is_pending());
    *shared.lock().unwrap() = Some(sleep);
    bench.advance(SECOND);
    assert_eq!((hand.wakes(), bench.timer.len()), (0, 0));
    assert_eq!(bench.timer.stats().cancelled, 1);
}

/// Wherever the drops fall: a sleep has woken its task, or not.
#[test]
fn sleeps_dropped_while_they_fire_are_all_accounted_for() {
    let (bench, hand) = (Bench::with(|builder| builder.shards(2)), Hand::default());
    let mut cancelled = 0;
    for _ in 0..200 {
        let mut sleeps: Vec<Sleep> = (0..20).map(|_| bench.timer.sleep(MS)).collect();
        for sleep in &mut sleeps {
            assert!(hand.poll(sleep).is_pending());
        }
        bench.clock.advance(MS);
        drop(sleeps);
        bench.settle();
        cancelled = bench.timer.stats().cancelled;
        assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    }
    assert_eq!(hand.wakes() as u64 + cancelled, 4_000);
}

#[test]
fn timeout_polls_its_future_first_and_asks_the_timer_only_if_that_is_pending() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut timeout = bench.timer.timeout(Duration::ZERO, ready(7));
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Ok(7)));
    let (mut polls, mut is_ready) = (0, false);
    let future = poll_fn(|_| {
        polls += 1;
        match mem::replace(&mut is_ready, polls == 2) {
            true => Poll::Ready(8),
            false => Poll::Pending,
        }
    });
    let mut timeout = bench.timer.timeout(SECOND, future);
    assert!(hand.poll(&mut timeout).is_pending());
    assert_eq!(bench.timer.len(), 1);
    assert!(hand.poll(&mut timeout).is_pending());
    bench.advance(HOUR);
    assert_eq!(hand.wakes(), 1);
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Ok(8)), "both are over");
    drop(timeout);
    assert_eq!(polls, 3);
    assert_eq!(bench.timer.stats().scheduled, 1);
}

#[test]
fn timeout_counts_from_when_its_future_is_found_pending() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    bench.advance(HOUR);
    assert!(hand.poll(&mut timeout).is_pending());
    bench.advance(SECOND - Duration::from_nanos(1));
    assert!(hand.poll(&mut timeout).is_pending());
    bench.advance(Duration::from_nanos(1));
    assert_eq!(hand.wakes(), 1);
    for _ in 0..2 {
        let elapsed = Poll::Ready(Err(TimeoutError::Elapsed));
        assert_eq!(hand.poll(&mut timeout), elapsed);
    }
    let mut at_once = bench.timer.timeout(Duration::ZERO, pending::<()>());
    let elapsed = Poll::Ready(Err(TimeoutError::Elapsed));
    assert_eq!(hand.poll(&mut at_once), elapsed);
}

#[test]
fn timeout_that_is_dropped_or_answered_leaves_nothing_behind() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    assert!(hand.poll(&mut timeout).is_pending());
    drop(timeout);
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    let answers = Arc::new(AtomicUsize::new(0));
    let answer = Arc::clone(&answers);
    let mut timeout = bench.timer.timeout(
        SECOND,
        poll_fn(move |_| match answer.fetch_add(1, Ordering::Relaxed) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }),
    );
    assert!(hand.poll(&mut timeout).is_pending());
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Ok(())));
    drop(timeout);
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
}

#[test]
fn futures_after_a_shutdown_are_errors_but_for_what_is_ready() {
    let (bench, hand) = (Bench::new(), Hand::default());
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    let refused = Poll::Ready(Err(Reason::ShutDown));
    let mut sleep = bench.timer.sleep(SECOND);
    assert_eq!([hand.poll(&mut sleep), hand.poll(&mut sleep)], [refused; 2]);
    let mut zero = bench.timer.sleep(Duration::ZERO);
    assert_eq!(hand.poll(&mut zero), Poll::Ready(Ok(())));
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    let error = TimeoutError::Refused(Reason::ShutDown);
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Err(error)));
    assert_eq!(error.to_string(), "the timer is shut down");
    assert_eq!(TimeoutError::Elapsed.to_string(), "the time is up");
    let mut answered = bench.timer.timeout(SECOND, ready(1));
    assert_eq!(hand.poll(&mut answered), Poll::Ready(Ok(1)));
    let mut beat = bench.timer.interval(SECOND);
    assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ShutDown));
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
}

#[test]
fn shutdown_wakes_all_tasks_and_returns_only_jobs() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (bench, hand) = (Bench::with(|builder| builder.shards(3)), Hand::default());
        let sleep = |seconds| bench.timer.sleep(seconds * SECOND);
        let mut sleeps: Vec<Sleep> = [1, 3, 2, 700].map(sleep).into();
        for sleep in &mut sleeps {
            assert!(hand.poll(sleep).is_pending());
        }
        bench.timer.schedule_after(HOUR, bench.log.job(1)).unwrap();
        bench.clock.advance(2 * SECOND);
        let unrun = bench.timer.shutdown(how).unwrap();
        assert_eq!((unrun.len(), bench.timer.len()), (1, 1));
        assert_eq!((hand.wakes(), hand.wakers()), (4, 0));
        let results = sleeps.iter_mut().map(|sleep| hand.poll(sleep));
        let (over, never) = (Poll::Ready(Ok(())), Poll::Ready(Err(Reason::ShutDown)));
        assert_eq!(results.collect::<Vec<_>>(), [over, never, over, never]);
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
fn sleep_over_the_limit_is_an_error() {
    let (bench, hand) = (Bench::with(|builder| builder.limit(1)), Hand::default());
    let (mut first, mut second) = (bench.timer.sleep(SECOND), bench.timer.sleep(SECOND));
    assert!(hand.poll(&mut first).is_pending());
    assert_eq!(hand.poll(&mut second), Poll::Ready(Err(Reason::Full)));
    assert_eq!(hand.wakers(), 1);
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    let error = TimeoutError::Refused(Reason::Full);
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Err(error)));
    drop(first);
    let mut third = bench.timer.sleep(SECOND);
    assert!(hand.poll(&mut third).is_pending());
}

#[test]
fn tasks_are_woken_by_the_thread_whatever_the_executor_does_with_jobs() {
    let (bench, hand) = (Bench::with(|builder| builder.executor(|job: Job| drop(job))), Hand::default());
    let mut sleep = bench.timer.sleep(SECOND);
    assert!(hand.poll(&mut sleep).is_pending());
    bench.timer.schedule_after(SECOND, || ()).unwrap();
    bench.advance(SECOND);
    assert_eq!(hand.wakes(), 1);
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
    let (first, last) = (nosy(), nosy());
    let mut sleep = bench.timer.sleep(SECOND);
    for waker in [first, Arc::clone(&last)].map(Waker::from) {
        // Each is dropped with the context, and lives on in the timer.
        let poll = Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
    }
    bench.timer.schedule_after(SECOND, bench.log.job(1)).unwrap();
    bench.advance(SECOND);
    assert_eq!(last.1.load(Ordering::SeqCst), 2, "the job still waited");
    let stats = bench.timer.stats();
    assert_eq!((bench.log.read(), stats.panicked), (vec![1], 1));
    let mut dropped = bench.timer.sleep(SECOND);
    let waker = Waker::from(nosy());
    let poll = Pin::new(&mut dropped).poll(&mut Context::from_waker(&waker));
    assert!(poll.is_pending());
    drop(waker);
    drop(dropped);
    assert!(bench.timer.is_empty());
}

#[test]
fn interval_ticks_at_whole_periods_however_late_it_is_polled() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut beat = bench.timer.interval(10 * MS);
    let mut poll = || {
        let mut tick = pin!(beat.tick());
        hand.poll(&mut tick).map(Result::unwrap).is_ready()
    };
    assert!(!poll());
    bench.advance(10 * MS);
    assert!(poll() && !poll());
    bench.advance(37 * MS); // late, at 47, for those of 20, 30 and 40
    assert!(poll() && !poll());
    bench.advance(2 * MS);
    assert!(!poll());
    bench.advance(MS);
    assert!(poll() && !poll(), "at 50");
    assert_eq!((hand.wakes(), bench.timer.len()), (3, 1));
    drop(beat);
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
}

#[test]
fn interval_with_a_period_of_zero_is_an_error() {
    let bench = Bench::new();
    let mut beat = bench.timer.interval(Duration::ZERO);
    for _ in 0..2 {
        assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ZeroPeriod));
    }
}

#[cfg(feature = "tokio")]
#[test]
fn interval_is_a_stream_that_ends_after_an_error() {
    use futures_core::Stream;

    let bench = Bench::new();
    let mut beat = bench.timer.interval(SECOND);
    let mut context = Context::from_waker(Waker::noop());
    let mut next = || Pin::new(&mut beat).poll_next(&mut context);
    assert!(next().is_pending());
    bench.advance(SECOND);
    assert_eq!(next(), Poll::Ready(Some(Ok(()))));
    assert!(next().is_pending());
    bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(next(), Poll::Ready(Some(Err(Reason::ShutDown))));
    assert_eq!([next(), next()], [Poll::Ready(None), Poll::Ready(None)]);
}

#[test]
fn futures_go_where_they_are_needed() {
    fn anywhere<T: Send + Sync + 'static>(_: &T) {}
    let timer = Timer::new().unwrap();
    anywhere::<Sleep>(&timer.sleep(MS));
    anywhere::<Interval>(&timer.interval(MS));
    fn movable<T: Send + Sync>(_: &T) {}
    movable::<Timeout<'_, _>>(&timer.timeout(MS, ready(())));
    let text = format!("{:?}", (timer.interval(MS), timer.timeout(MS, ready(()))));
    let expected = "(Interval { period: 1ms, .. }, Timeout { delay: 1ms, .. })";
    assert_eq!(text, expected);
    assert!(format!("{:?}", timer.sleep(MS)).starts_with("Sleep { deadline: Some("));
}

/// What any executor is to do.
async fn program(timer: Timer) -> usize {
    let mut beat = timer.interval(MS);
    for _ in 0..3 {
        beat.tick().await.unwrap();
    }
    let slow = async {
        timer.sleep(HOUR).await.unwrap();
        0
    };
    let elapsed = timer.timeout(MS, slow).await;
    assert_eq!(elapsed, Err(TimeoutError::Elapsed));
    let quick = async {
        timer.sleep(MS).await.unwrap();
        7
    };
    timer.timeout(HOUR, quick).await.unwrap()
}

#[test]
fn futures_run_on_pollster() {
    let timer = Timer::new().unwrap();
    assert_eq!(pollster::block_on(program(timer.clone())), 7);
    assert!(timer.is_empty());
}

#[test]
fn futures_run_on_tokio_without_its_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap();
    let timer = Timer::new().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..50).map(|_| tokio::spawn(program(timer.clone()))).collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), 7);
        }
    });
    assert!(timer.is_empty());
}
