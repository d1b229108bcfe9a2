//! Intervals at their end, in a full timer and with a period of zero. When they tick is in `tests/local`.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use timer_wheel::timer::{Interval, Reason};
use timer_wheel::{Clock, Shutdown};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, MS, SECOND};

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
