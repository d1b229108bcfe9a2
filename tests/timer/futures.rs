//! All futures of a timer: after a shutdown, over the limit, and on executors; intervals at their end, in a full timer and with a
//! period of zero. What they answer else is in `tests/local`, in one set with those of a `LocalTimer`.

use std::future::{pending, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use timer_wheel::timer::{Interval, OwnedTimeout, Reason, Sleep, Timeout, TimeoutError};
use timer_wheel::{Clock, Shutdown, Timer};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, MS, SECOND};

#[test]
fn futures_after_a_shutdown_are_errors_but_for_what_is_ready() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    let refused = Poll::Ready(Err(Reason::ShutDown));
    let mut sleep = bench.timer.sleep(SECOND);
    assert_eq!([executor.poll(&mut sleep), executor.poll(&mut sleep)], [refused; 2]);
    let mut zero = bench.timer.sleep(Duration::ZERO);
    assert_eq!(executor.poll(&mut zero), Poll::Ready(Ok(())));
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    let error = TimeoutError::Refused(Reason::ShutDown);
    assert_eq!(executor.poll(&mut timeout), Poll::Ready(Err(error)));
    assert_eq!(error.to_string(), "the timer is shut down");
    assert_eq!(TimeoutError::Elapsed.to_string(), "the time is up");
    let mut answered = bench.timer.timeout(SECOND, ready(1));
    assert_eq!(executor.poll(&mut answered), Poll::Ready(Ok(1)));
    let mut beat = bench.timer.interval(SECOND);
    assert_eq!(pollster::block_on(beat.tick()), Err(Reason::ShutDown));
    assert_eq!((bench.timer.len(), executor.wakers()), (0, 0));
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

#[test]
fn owned_timeout_does_not_keep_the_timer_running() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut ended = bench.timer.timeout_owned(SECOND, pending::<()>());
    executor.start([&mut ended]);
    drop(bench);
    assert_eq!(executor.poll(&mut ended), Poll::Ready(Err(TimeoutError::Refused(Reason::ShutDown))));
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

/// Whether the next tick has come.
fn ticks(executor: &ManualExecutor, beat: &mut Interval) -> Poll<Result<(), Reason>> {
    executor.poll(&mut pin!(beat.tick()))
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
fn interval_that_met_a_full_timer_ticks_once_there_is_room_and_loses_no_tick() {
    let (bench, executor) = (Bench::with(|builder| builder.limit(1)), ManualExecutor::default());
    let mut beat = bench.timer.interval(10 * MS);
    let job = bench.schedule(HOUR, 1);
    for _ in 0..2 {
        assert_eq!(ticks(&executor, &mut beat), Poll::Ready(Err(Reason::Full)));
    }
    assert!(job.cancel());
    assert_eq!(ticks(&executor, &mut beat), Poll::Pending);
    bench.advance(10 * MS);
    assert_eq!(ticks(&executor, &mut beat), Poll::Ready(Ok(())));
    let job = bench.schedule(HOUR, 1);
    assert_eq!(ticks(&executor, &mut beat), Poll::Ready(Err(Reason::Full)));
    bench.advance(10 * MS);
    assert_eq!(ticks(&executor, &mut beat), Poll::Ready(Ok(())), "it is due, and needs no place");
    assert!(job.cancel());
    assert_eq!(ticks(&executor, &mut beat), Poll::Pending);
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
fn interval_is_a_stream_that_goes_on_after_a_full_timer_and_ends_after_another_error() {
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
    assert!(next().is_pending());
    bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(next(), Poll::Ready(Some(Err(Reason::ShutDown))));
    assert_eq!([next(), next()], [Poll::Ready(None), Poll::Ready(None)]);
}
