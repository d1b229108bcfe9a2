//! Futures of a timer that limit or repeat, polled by hand and on executors.

use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use timer_wheel::timer::{Interval, OwnedTimeout, Reason, Sleep, Timeout, TimeoutError};
use timer_wheel::{Clock, Shutdown, Timer};

use crate::hand::Hand;
use crate::log::{Bench, HOUR, MS, SECOND};

const ELAPSED: Poll<Result<(), TimeoutError>> = Poll::Ready(Err(TimeoutError::Elapsed));

#[test]
fn timeout_polls_its_future_first_and_asks_the_timer_only_if_that_is_pending() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut timeout = bench.timer.timeout(Duration::ZERO, ready(7));
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Ok(7)));
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let third = poll_fn(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        2 => Poll::Ready(8),
        _ => Poll::Pending,
    });
    let mut timeout = bench.timer.timeout(SECOND, third);
    hand.start([&mut timeout]);
    assert_eq!((bench.timer.len(), hand.wakers()), (1, 1));
    hand.start([&mut timeout]);
    bench.advance(HOUR);
    assert_eq!(hand.wakes(), 1);
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Ok(8)), "both are over");
    drop(timeout);
    assert_eq!(polls.load(Ordering::Relaxed), 3);
    assert_eq!(bench.timer.stats().scheduled, 1);
}

#[test]
fn timeout_counts_from_when_its_future_is_found_pending() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    bench.advance(HOUR);
    hand.start([&mut timeout]);
    bench.advance(SECOND - Duration::from_nanos(1));
    hand.start([&mut timeout]);
    bench.advance(Duration::from_nanos(1));
    assert_eq!(hand.wakes(), 1);
    assert_eq!([hand.poll(&mut timeout), hand.poll(&mut timeout)], [ELAPSED; 2]);
    assert_eq!(hand.poll(&mut bench.timer.timeout(Duration::ZERO, pending())), ELAPSED);
}

#[test]
fn timeout_that_is_ready_keeps_no_place_though_it_is_not_dropped() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut answers = [Poll::Pending, Poll::Ready(())].into_iter();
    let mut answered = bench.timer.timeout(SECOND, poll_fn(|_| answers.next().unwrap()));
    hand.start([&mut answered]);
    assert_eq!((bench.timer.len(), hand.wakers()), (1, 1));
    assert_eq!(hand.poll(&mut answered), Poll::Ready(Ok(())));
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    let mut elapsed = bench.timer.timeout(SECOND, pending::<()>());
    hand.start([&mut elapsed]);
    bench.advance(SECOND);
    assert_eq!(hand.poll(&mut elapsed), ELAPSED);
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0));
    drop((answered, elapsed));
    assert_eq!(bench.timer.stats().cancelled, 1);
}

#[test]
fn timeout_at_is_over_at_its_instant_whenever_it_was_polled_first() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let at = bench.clock.origin() + 2 * SECOND;
    let [mut early, mut late] = [(); 2].map(|()| bench.timer.timeout_at(at, pending::<()>()));
    hand.start([&mut early]);
    bench.advance(2 * SECOND - Duration::from_nanos(1));
    hand.start([&mut late]);
    assert_eq!(hand.wakes(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!((hand.wakes(), hand.poll(&mut early), hand.poll(&mut late)), (2, ELAPSED, ELAPSED));
    assert_eq!(hand.poll(&mut bench.timer.timeout_at(at, pending())), ELAPSED);
    assert_eq!(hand.poll(&mut bench.timer.timeout_at(at, ready(1))), Poll::Ready(Ok(1)), "late, and ready");
    assert_eq!(bench.timer.stats().scheduled, 2);
}

/// As those before, of one that owns what it needs.
#[test]
fn owned_timeout_does_what_one_does_that_borrows() {
    let (bench, hand) = (Bench::new(), Hand::default());
    assert_eq!(hand.poll(&mut bench.timer.timeout_owned(Duration::ZERO, ready(7))), Poll::Ready(Ok(7)));
    assert_eq!(bench.timer.stats().scheduled, 0, "the timer is not asked");
    let mut elapsed = bench.timer.timeout_owned(SECOND, pending::<()>());
    bench.advance(HOUR);
    hand.start([&mut elapsed]);
    bench.advance(SECOND - Duration::from_nanos(1));
    hand.start([&mut elapsed]);
    bench.advance(Duration::from_nanos(1));
    assert_eq!((hand.wakes(), bench.timer.len()), (1, 0));
    assert_eq!([hand.poll(&mut elapsed), hand.poll(&mut elapsed)], [ELAPSED; 2]);
    assert_eq!(hand.poll(&mut bench.timer.timeout_owned(Duration::ZERO, pending())), ELAPSED);

    let mut answers = [Poll::Pending, Poll::Ready(()), Poll::Pending].into_iter();
    let mut answered = bench.timer.timeout_owned(SECOND, poll_fn(|_| answers.next().unwrap()));
    hand.start([&mut answered]);
    assert_eq!((bench.timer.len(), hand.wakers()), (1, 1));
    assert_eq!(hand.poll(&mut answered), Poll::Ready(Ok(())));
    assert_eq!((bench.timer.len(), hand.wakers()), (0, 0), "it keeps no place though it is not dropped");

    let mut dropped = bench.timer.timeout_owned(SECOND, pending::<()>());
    hand.start([&mut dropped]);
    drop(dropped);
    assert_eq!((bench.timer.len(), bench.timer.stats().cancelled), (0, 2));

    let mut ended = bench.timer.timeout_owned(SECOND, pending::<()>());
    hand.start([&mut ended]);
    drop(bench);
    let error = TimeoutError::Refused(Reason::ShutDown);
    assert_eq!(hand.poll(&mut ended), Poll::Ready(Err(error)), "it does not keep the timer running");
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
fn future_over_the_limit_is_an_error() {
    let (bench, hand) = (Bench::with(|builder| builder.limit(1)), Hand::default());
    let [mut first, mut second, mut third] = [(); 3].map(|()| bench.timer.sleep(SECOND));
    hand.start([&mut first]);
    assert_eq!(hand.poll(&mut second), Poll::Ready(Err(Reason::Full)));
    assert_eq!(hand.wakers(), 1);
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    assert_eq!(hand.poll(&mut timeout), Poll::Ready(Err(TimeoutError::Refused(Reason::Full))));
    drop(first);
    hand.start([&mut third]);
}

/// One whose caller is late each time never waits, and went on for ever.
#[test]
fn interval_that_is_late_ends_with_the_timer() {
    let bench = Bench::new();
    let mut beat = bench.timer.interval(10 * MS);
    bench.clock.advance(15 * MS);
    assert_eq!(pollster::block_on(beat.tick()), Ok(()));
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    for _ in 0..3 {
        bench.clock.advance(15 * MS);
        assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ShutDown));
    }
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

/// Whether the next tick has come.
fn ticks(hand: &Hand, beat: &mut Interval) -> Poll<Result<(), Reason>> {
    hand.poll(&mut pin!(beat.tick()))
}

#[test]
fn interval_at_ticks_at_its_start_and_at_whole_periods_after_that() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let at = |time| bench.timer.interval_at(bench.clock.origin() + time, 10 * MS);
    let mut beat = at(3 * MS);
    assert_eq!(beat.period(), 10 * MS);
    for step in [3 * MS, 10 * MS, 10 * MS] {
        bench.advance(step - Duration::from_nanos(1));
        assert_eq!(ticks(&hand, &mut beat), Poll::Pending);
        bench.advance(Duration::from_nanos(1));
        assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Ok(())));
    }
    let mut late = at(Duration::ZERO); // at 23, for 0, 10 and 20
    assert_eq!(ticks(&hand, &mut late), Poll::Ready(Ok(())));
    assert_eq!(ticks(&hand, &mut late), Poll::Pending);
    bench.advance(7 * MS);
    assert_eq!(ticks(&hand, &mut late), Poll::Ready(Ok(())));
    assert_eq!(bench.timer.interval(Duration::MAX).period(), Duration::from_nanos(u64::MAX));
}

#[test]
fn interval_that_is_reset_ticks_a_period_from_then() {
    let (bench, hand) = (Bench::new(), Hand::default());
    let mut beat = bench.timer.interval(10 * MS);
    for round in 0..5 {
        assert_eq!(ticks(&hand, &mut beat), Poll::Pending);
        bench.advance(9 * MS);
        beat.reset();
        assert_eq!((hand.wakes(), ticks(&hand, &mut beat)), (0, Poll::Pending), "round {round}");
    }
    bench.advance(10 * MS);
    assert_eq!((hand.wakes(), ticks(&hand, &mut beat)), (1, Poll::Ready(Ok(()))));
    bench.advance(10 * MS);
    assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Ok(())), "at 65");
}

#[test]
fn interval_that_met_a_full_timer_ticks_once_there_is_room_and_loses_no_tick() {
    let (bench, hand) = (Bench::with(|builder| builder.limit(1)), Hand::default());
    let mut beat = bench.timer.interval(10 * MS);
    let job = bench.schedule(HOUR, 1);
    for _ in 0..2 {
        assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Err(Reason::Full)));
    }
    assert!(job.cancel());
    assert_eq!(ticks(&hand, &mut beat), Poll::Pending);
    bench.advance(10 * MS);
    assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Ok(())));
    let job = bench.schedule(HOUR, 1);
    assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Err(Reason::Full)));
    bench.advance(10 * MS);
    assert_eq!(ticks(&hand, &mut beat), Poll::Ready(Ok(())), "it is due, and needs no place");
    assert!(job.cancel());
    assert_eq!(ticks(&hand, &mut beat), Poll::Pending);
}

#[test]
fn interval_with_a_period_of_zero_is_an_error_also_after_a_reset() {
    let bench = Bench::new();
    for mut beat in
        [bench.timer.interval(Duration::ZERO), bench.timer.interval_at(bench.clock.origin(), Duration::ZERO)]
    {
        for _ in 0..2 {
            assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ZeroPeriod));
            beat.reset();
        }
    }
}

#[cfg(feature = "tokio")]
#[test]
fn interval_as_a_stream_goes_on_after_a_full_timer() {
    use futures_core::Stream;

    let bench = Bench::with(|builder| builder.limit(1));
    let mut beat = bench.timer.interval(SECOND);
    let job = bench.schedule(HOUR, 1);
    let mut context = Context::from_waker(Waker::noop());
    let mut next = || Pin::new(&mut beat).poll_next(&mut context);
    assert_eq!(next(), Poll::Ready(Some(Err(Reason::Full))));
    assert!(job.cancel());
    assert!(next().is_pending());
    bench.advance(SECOND);
    assert_eq!(next(), Poll::Ready(Some(Ok(()))));
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
    anywhere::<OwnedTimeout<_>>(&timer.timeout_owned(MS, ready(())));
    fn movable<T: Send + Sync>(_: &T) {}
    movable::<Timeout<'_, _>>(&timer.timeout(MS, ready(())));
    let timeouts = (timer.timeout(MS, ready(())), timer.timeout_owned(MS, ready(())));
    let text = format!("{:?}", (timer.interval(MS), timeouts));
    let expected =
        "(Interval { period: 1ms, .. }, (Timeout { limit: After(1ms), .. }, OwnedTimeout { delay: 1ms, .. }))";
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
    timer.timeout_owned(HOUR, quick).await.unwrap()
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
