//! The thread wakes up when there is something to do, and never for nothing.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use timer_wheel::Shutdown;
use timer_wheel::timer::Missed;

use crate::log::{Bench, HOUR, MS, SECOND};

/// What settling may add: it wakes the thread, and once more if that was up already and had seen the call.
pub(crate) const SETTLING: u64 = 2;

fn wake_ups(bench: &Bench) -> u64 {
    bench.timer.stats().wake_ups
}

#[test]
fn timer_whose_jobs_have_all_gone_wakes_at_most_once_more_and_an_idle_one_never() {
    for (cancelled, more) in [(0, 0), (5_000, 1)] {
        let bench = Bench::new();
        (0..cancelled).for_each(|number| _ = bench.schedule(SECOND, number).cancel());
        bench.schedule(MS, 1);
        bench.advance(MS);
        assert_eq!(bench.log.len(), 1);
        let before = wake_ups(&bench);
        (0..1_000).for_each(|_| bench.clock.advance(HOUR));
        bench.settle();
        assert!(wake_ups(&bench) <= before + more + SETTLING);
        assert_eq!(bench.timer.expiration_delay(), None);
    }
}

/// 30 s timeouts that are answered: the thread sleeps through nearly all of it. Three thousand under way are a crowd,
/// of which some are to be moved ahead the sooner the more there are: while it grows the wake-up moves closer with each
/// block of 32, and no more after that.
#[test]
fn schedule_and_cancel_do_not_wake_the_thread_each_time() {
    for under_way in [0, 3_000] {
        let bench = Bench::new();
        let mut handles = VecDeque::new();
        for number in 0..100_000 {
            handles.push_back(bench.schedule(30 * SECOND, number));
            if handles.len() > under_way {
                assert!(handles.pop_front().unwrap().cancel());
            }
        }
        bench.settle();
        let wake_ups = wake_ups(&bench);
        assert!(wake_ups <= under_way as u64 / 32 + 4, "{wake_ups} wake-ups");
        assert_eq!(bench.timer.len(), under_way);
        // It keeps an eye on the time at which the first of them was due, so that the next one is no
        // reason to wake up.
        assert!(under_way > 0 || bench.expiration_delay() == 30 * SECOND);
    }
}

/// The thread sleeps until the first job; nothing but what is sooner may disturb it.
#[test]
fn call_wakes_the_thread_only_if_the_wake_up_moves_closer() {
    let bench = Bench::new();
    let first = bench.schedule(SECOND, 1);
    // So many that the wheel has made its buckets, and wakes for those.
    (0..100).for_each(|number| _ = bench.schedule(SECOND, number));
    bench.settle();
    let (delay, before) = (bench.expiration_delay(), wake_ups(&bench));
    for delay in (1..1_000).rev() {
        let handle = bench.schedule(delay * SECOND, 1);
        assert!(handle.reschedule_after((delay + 1) * SECOND));
        if delay % 2 == 0 {
            assert!(handle.cancel());
        }
    }
    assert!(first.reschedule_after(HOUR), "later");
    bench.settle();
    assert!(wake_ups(&bench) <= before + SETTLING);
    assert_eq!(bench.expiration_delay(), delay);
    assert!(first.reschedule_after(MS), "sooner");
    assert_eq!(bench.expiration_delay(), MS);
}

#[test]
fn jobs_that_an_executor_has_taken_wake_nobody() {
    let (bench, jobs) = Bench::with_pool();
    for number in 0..1_000 {
        bench.schedule(MS, number);
        bench.timer.every(MS, Missed::Skip, || ()).unwrap();
    }
    bench.advance(MS);
    let before = wake_ups(&bench);
    (0..1_000).for_each(|_| bench.clock.advance(HOUR));
    bench.settle();
    assert!(wake_ups(&bench) <= before + SETTLING);
    assert_eq!((bench.timer.len(), jobs.try_iter().count()), (2_000, 2_000));
}

/// Of those who wait, neither is forgotten.
#[test]
fn settling_and_shutdown_are_noticed_though_a_job_has_used_up_the_unpark() {
    let waits: [fn(&Bench); 2] =
        [Bench::settle, |bench| assert!(bench.timer.shutdown(Shutdown::Drain).unwrap().is_empty())];
    for wait in waits {
        let bench = Bench::new();
        let (begin, has_begun) = mpsc::channel();
        // Parks its thread, as channels do, and so uses up an unpark that was meant for the timer. It returns once one
        // has come.
        let job = move || {
            thread::park_timeout(Duration::ZERO);
            begin.send(()).unwrap();
            thread::park();
        };
        bench.timer.schedule_after(Duration::ZERO, job).unwrap();
        has_begun.recv().unwrap();
        wait(&bench);
        assert!(bench.timer.is_empty());
    }
}
