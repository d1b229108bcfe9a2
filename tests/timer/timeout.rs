//! Timeouts: when they count from, what is polled first, and what they keep.

use std::future::{pending, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use timer_wheel::Clock;
use timer_wheel::timer::{Reason, TimeoutError};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, SECOND};

const ELAPSED: Poll<Result<(), TimeoutError>> = Poll::Ready(Err(TimeoutError::Elapsed));

#[test]
fn timeout_polls_its_future_first_and_asks_the_timer_only_if_that_is_pending() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut timeout = bench.timer.timeout(Duration::ZERO, ready(7));
    assert_eq!(executor.poll(&mut timeout), Poll::Ready(Ok(7)));
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let third = poll_fn(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        2 => Poll::Ready(8),
        _ => Poll::Pending,
    });
    let mut timeout = bench.timer.timeout(SECOND, third);
    executor.start([&mut timeout]);
    assert_eq!((bench.timer.len(), executor.wakers()), (1, 1));
    executor.start([&mut timeout]);
    bench.advance(HOUR);
    assert_eq!(executor.wakes(), 1);
    assert_eq!(executor.poll(&mut timeout), Poll::Ready(Ok(8)), "both are over");
    drop(timeout);
    assert_eq!(polls.load(Ordering::Relaxed), 3);
    assert_eq!(bench.timer.stats().scheduled, 1);
}

#[test]
fn timeout_counts_from_when_its_future_is_found_pending() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut timeout = bench.timer.timeout(SECOND, pending::<()>());
    bench.advance(HOUR);
    executor.start([&mut timeout]);
    bench.advance(SECOND - Duration::from_nanos(1));
    executor.start([&mut timeout]);
    bench.advance(Duration::from_nanos(1));
    assert_eq!(executor.wakes(), 1);
    assert_eq!([executor.poll(&mut timeout), executor.poll(&mut timeout)], [ELAPSED; 2]);
    assert_eq!(executor.poll(&mut bench.timer.timeout(Duration::ZERO, pending())), ELAPSED);
}

#[test]
fn timeout_that_is_ready_keeps_no_place_though_it_is_not_dropped() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut answers = [Poll::Pending, Poll::Ready(())].into_iter();
    let mut answered = bench.timer.timeout(SECOND, poll_fn(|_| answers.next().unwrap()));
    executor.start([&mut answered]);
    assert_eq!((bench.timer.len(), executor.wakers()), (1, 1));
    assert_eq!(executor.poll(&mut answered), Poll::Ready(Ok(())));
    assert_eq!((bench.timer.len(), executor.wakers()), (0, 0));
    let mut elapsed = bench.timer.timeout(SECOND, pending::<()>());
    executor.start([&mut elapsed]);
    bench.advance(SECOND);
    assert_eq!(executor.poll(&mut elapsed), ELAPSED);
    assert_eq!((bench.timer.len(), executor.wakers()), (0, 0));
    drop((answered, elapsed));
    assert_eq!(bench.timer.stats().cancelled, 1);
}

#[test]
fn timeout_at_is_over_at_its_instant_whenever_it_was_polled_first() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let at = bench.clock.origin() + 2 * SECOND;
    let [mut early, mut late] = [(); 2].map(|()| bench.timer.timeout_at(at, pending::<()>()));
    executor.start([&mut early]);
    bench.advance(2 * SECOND - Duration::from_nanos(1));
    executor.start([&mut late]);
    assert_eq!(executor.wakes(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!((executor.wakes(), executor.poll(&mut early), executor.poll(&mut late)), (2, ELAPSED, ELAPSED));
    assert_eq!(executor.poll(&mut bench.timer.timeout_at(at, pending())), ELAPSED);
    assert_eq!(executor.poll(&mut bench.timer.timeout_at(at, ready(1))), Poll::Ready(Ok(1)), "late, and ready");
    assert_eq!(bench.timer.stats().scheduled, 2);
}

/// As those before, of one that owns what it needs.
#[test]
fn owned_timeout_does_what_one_does_that_borrows() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    assert_eq!(executor.poll(&mut bench.timer.timeout_owned(Duration::ZERO, ready(7))), Poll::Ready(Ok(7)));
    assert_eq!(bench.timer.stats().scheduled, 0, "the timer is not asked");
    let mut elapsed = bench.timer.timeout_owned(SECOND, pending::<()>());
    bench.advance(HOUR);
    executor.start([&mut elapsed]);
    bench.advance(SECOND - Duration::from_nanos(1));
    executor.start([&mut elapsed]);
    bench.advance(Duration::from_nanos(1));
    assert_eq!((executor.wakes(), bench.timer.len()), (1, 0));
    assert_eq!([executor.poll(&mut elapsed), executor.poll(&mut elapsed)], [ELAPSED; 2]);
    assert_eq!(executor.poll(&mut bench.timer.timeout_owned(Duration::ZERO, pending())), ELAPSED);

    let mut answers = [Poll::Pending, Poll::Ready(()), Poll::Pending].into_iter();
    let mut answered = bench.timer.timeout_owned(SECOND, poll_fn(|_| answers.next().unwrap()));
    executor.start([&mut answered]);
    assert_eq!((bench.timer.len(), executor.wakers()), (1, 1));
    assert_eq!(executor.poll(&mut answered), Poll::Ready(Ok(())));
    assert_eq!((bench.timer.len(), executor.wakers()), (0, 0), "it keeps no place though it is not dropped");

    let mut dropped = bench.timer.timeout_owned(SECOND, pending::<()>());
    executor.start([&mut dropped]);
    drop(dropped);
    assert_eq!((bench.timer.len(), bench.timer.stats().cancelled), (0, 2));

    let mut ended = bench.timer.timeout_owned(SECOND, pending::<()>());
    executor.start([&mut ended]);
    drop(bench);
    let error = TimeoutError::Refused(Reason::ShutDown);
    assert_eq!(executor.poll(&mut ended), Poll::Ready(Err(error)), "it does not keep the timer running");
}
