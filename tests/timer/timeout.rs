//! Timeouts: when they count from, what is polled first, and what they keep.

use std::future::{Future, pending, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use timer_wheel::timer::{Reason, TimeoutError};
use timer_wheel::{Clock, Timer};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, SECOND};

type Answer = Pin<Box<dyn Future<Output = u32>>>;

type InTime<'a> = Pin<Box<dyn Future<Output = Result<u32, TimeoutError>> + 'a>>;

/// A timeout that borrows the timer, and one that owns what it needs.
const KINDS: [for<'a> fn(&'a Timer, Duration, Answer) -> InTime<'a>; 2] = [
    |timer, delay, answer| Box::pin(timer.timeout(delay, answer)),
    |timer, delay, answer| Box::pin(timer.timeout_owned(delay, answer)),
];

const ELAPSED: Poll<Result<u32, TimeoutError>> = Poll::Ready(Err(TimeoutError::Elapsed));

/// Pending until its last poll.
fn answered_at(nth_poll: usize) -> (Answer, Arc<AtomicUsize>) {
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let answer = poll_fn(move |_| match counted.fetch_add(1, Ordering::Relaxed) + 1 {
        nth if nth == nth_poll => Poll::Ready(8),
        _ => Poll::Pending,
    });
    (Box::pin(answer), polls)
}

fn never() -> Answer {
    Box::pin(pending())
}

#[test]
fn timeout_polls_its_future_first_and_asks_the_timer_only_if_that_is_pending() {
    for timeout in KINDS {
        let (bench, executor) = (Bench::new(), ManualExecutor::default());
        assert_eq!(executor.poll(&mut timeout(&bench.timer, Duration::ZERO, Box::pin(ready(7)))), Poll::Ready(Ok(7)));
        let (answer, polls) = answered_at(3);
        let mut timeout = timeout(&bench.timer, SECOND, answer);
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
}

#[test]
fn timeout_counts_from_when_its_future_is_found_pending() {
    for timeout in KINDS {
        let (bench, executor) = (Bench::new(), ManualExecutor::default());
        let mut elapsed = timeout(&bench.timer, SECOND, never());
        bench.advance(HOUR);
        executor.start([&mut elapsed]);
        bench.advance(SECOND - Duration::from_nanos(1));
        executor.start([&mut elapsed]);
        bench.advance(Duration::from_nanos(1));
        assert_eq!(executor.wakes(), 1);
        assert_eq!([executor.poll(&mut elapsed), executor.poll(&mut elapsed)], [ELAPSED; 2]);
        assert_eq!(executor.poll(&mut timeout(&bench.timer, Duration::ZERO, never())), ELAPSED);
    }
}

#[test]
fn timeout_that_is_ready_or_dropped_keeps_no_place() {
    for timeout in KINDS {
        let (bench, executor) = (Bench::new(), ManualExecutor::default());
        let mut answered = timeout(&bench.timer, SECOND, answered_at(2).0);
        executor.start([&mut answered]);
        assert_eq!((bench.timer.len(), executor.wakers()), (1, 1));
        assert_eq!(executor.poll(&mut answered), Poll::Ready(Ok(8)));
        assert_eq!((bench.timer.len(), executor.wakers()), (0, 0), "though it is not dropped");
        let mut elapsed = timeout(&bench.timer, SECOND, never());
        executor.start([&mut elapsed]);
        bench.advance(SECOND);
        assert_eq!(executor.poll(&mut elapsed), ELAPSED);
        assert_eq!((bench.timer.len(), executor.wakers()), (0, 0));
        let mut dropped = timeout(&bench.timer, SECOND, never());
        executor.start([&mut dropped]);
        drop(dropped);
        assert_eq!((bench.timer.len(), executor.wakers()), (0, 0));
        drop((answered, elapsed));
        assert_eq!(bench.timer.stats().cancelled, 2);
    }
}

#[test]
fn timeout_at_is_over_at_its_instant_whenever_it_was_polled_first() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let at = bench.clock.origin() + 2 * SECOND;
    let [mut early, mut late] = [(); 2].map(|()| bench.timer.timeout_at(at, never()));
    executor.start([&mut early]);
    bench.advance(2 * SECOND - Duration::from_nanos(1));
    executor.start([&mut late]);
    assert_eq!(executor.wakes(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!((executor.wakes(), executor.poll(&mut early), executor.poll(&mut late)), (2, ELAPSED, ELAPSED));
    assert_eq!(executor.poll(&mut bench.timer.timeout_at(at, never())), ELAPSED);
    assert_eq!(executor.poll(&mut bench.timer.timeout_at(at, ready(1))), Poll::Ready(Ok(1)), "late, and ready");
    assert_eq!(bench.timer.stats().scheduled, 2);
}

#[test]
fn owned_timeout_does_not_keep_the_timer_running() {
    let (bench, executor) = (Bench::new(), ManualExecutor::default());
    let mut ended = bench.timer.timeout_owned(SECOND, never());
    executor.start([&mut ended]);
    drop(bench);
    assert_eq!(executor.poll(&mut ended), Poll::Ready(Err(TimeoutError::Refused(Reason::ShutDown))));
}
