//! Sleeps whose deadline is moved, at the ends of time, in a full timer, and while it ends. When they
//! fire is in `tests/local`.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use timer_wheel::timer::{Reason, Sleep};
use timer_wheel::{Clock, Shutdown};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, SECOND};

const READY: Poll<Result<(), Reason>> = Poll::Ready(Ok(()));

impl Bench {
    /// Moves a sleep to a time since the clock's origin.
    fn reset(&self, sleep: &mut Sleep, to: Duration) {
        sleep.reset(self.clock.origin() + to);
    }

    /// An instant that the clock never shows.
    fn far(&self) -> Instant {
        (0..10).fold(self.clock.origin(), |far, _| far.checked_add(900_000 * HOUR).unwrap_or(far))
    }

    /// A sleep that waits for a second, and has been reset as often.
    fn armed(&self, executor: &ManualExecutor, resets: u32) -> Sleep {
        let mut sleep = self.timer.sleep(SECOND);
        executor.start([&mut sleep]);
        (0..resets).for_each(|_| self.reset(&mut sleep, SECOND));
        sleep
    }
}

#[test]
fn sleep_reset_beyond_the_clock_never_fires_unless_it_is_reset_again() {
    for resets in 0..3 {
        let (bench, executor) = (Bench::new(), ManualExecutor::default());
        let mut sleep = bench.armed(&executor, resets);
        let far = bench.far();
        sleep.reset(far);
        bench.advance(HOUR);
        assert_eq!((executor.wakes(), sleep.is_elapsed()), (0, false));
        sleep.reset(far);
        bench.reset(&mut sleep, 2 * HOUR);
        bench.advance(HOUR);
        assert_eq!((executor.wakes(), executor.poll(&mut sleep)), (1, READY));
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
fn sleep_that_is_reset_keeps_its_place_in_a_full_timer() {
    let (bench, executor) = (Bench::with(|builder| builder.limit(1)), ManualExecutor::default());
    let mut sleep = bench.armed(&executor, 1);
    for second in 2..5 {
        bench.reset(&mut sleep, second * SECOND);
        bench.advance(SECOND);
        assert!(bench.timer.schedule_after(SECOND, || ()).is_err());
        executor.start([&mut sleep]);
    }
    bench.advance(SECOND);
    assert_eq!(executor.wakes(), 1);
}

#[test]
fn sleep_refused_for_the_limit_tries_again_when_it_is_reset() {
    let (bench, executor) = (Bench::with(|builder| builder.limit(1)), ManualExecutor::default());
    let first = bench.armed(&executor, 0);
    let mut second = bench.timer.sleep(SECOND);
    assert_eq!(executor.poll(&mut second), Poll::Ready(Err(Reason::Full)));
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

/// The thread takes back what is left in pieces, and lets go of the lock in between. A sleep that was moved behind what had
/// been taken back was never woken.
#[test]
fn sleep_reset_to_the_end_of_time_during_a_shutdown_is_woken() {
    for round in 0..10 {
        let (bench, executor) = (Bench::with(|builder| builder.shards(1)), ManualExecutor::default());
        (0..20_000).for_each(|_| _ = bench.timer.schedule_after(SECOND, || ()).unwrap());
        let mut sleep = bench.timer.sleep(HOUR);
        executor.start([&mut sleep]);
        let far = bench.far();
        let ending = bench.begin_shutdown(Shutdown::Discard);
        (0..round * 20).for_each(|_| std::hint::spin_loop());
        sleep.reset(far);
        // One more if the last job of the loop was taken back before it was cancelled.
        assert!(ending.join().unwrap().len() >= 20_000);
        assert_eq!((executor.poll(&mut sleep), executor.wakers()), (Poll::Ready(Err(Reason::ShutDown)), 0));
    }
}
