//! The numbers add up.

use std::future::pending;
use std::panic::resume_unwind;
use std::time::Duration;

use timer_wheel::{Clock, Job, KeyedTimer, Shutdown, Timer};

use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, MS, SECOND};

/// What was scheduled and runs once has ended in one way, or waits; none of it runs at the moment.
#[track_caller]
fn assert_adds_up(timer: &Timer) {
    let stats = timer.stats();
    let ended = stats.fired + stats.cancelled + stats.abandoned;
    assert_eq!(stats.scheduled, ended + stats.len as u64, "{stats:?}");
}

#[test]
fn counts_add_up_whichever_way_jobs_and_sleeps_end_before_and_after_a_shutdown() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (bench, jobs) = Bench::with_pool();
        let (timer, keyed, executor) = (&bench.timer, KeyedTimer::new(bench.timer.clone()), ManualExecutor::default());
        let schedule = || timer.schedule_after(SECOND, || ()).unwrap();
        let sleep = |delay| {
            let mut sleep = timer.sleep(delay);
            executor.start([&mut sleep]);
            sleep
        };
        let panics = || resume_unwind(Box::new(()));
        timer.schedule_after(SECOND, panics).unwrap();
        let handles = [(); 8].map(|()| schedule());
        assert!(handles[0].cancel());
        for key in [1, 1, 2, 3] {
            keyed.set_after(key, SECOND, || ()).unwrap();
        }
        assert!(keyed.remove(&2));
        let mut sleeps = [SECOND, SECOND, HOUR, HOUR, HOUR].map(sleep);
        let at = |time| bench.clock.origin() + time;
        sleeps[1].reset(at(MS));
        (1..3).for_each(|hours| sleeps[2].reset(at(hours * HOUR)));
        drop(sleep(HOUR));
        assert_adds_up(timer);
        // Of those that are handed out some run, some are dropped, one is cancelled, and some wait.
        bench.advance(SECOND);
        assert_adds_up(timer);
        let mut taken: Vec<Job> = jobs.try_iter().collect();
        assert!(handles[1].cancel());
        taken.drain(..4).for_each(Job::run);
        taken.drain(..2).for_each(drop);
        assert_adds_up(timer);
        schedule();
        let returned = [(); 3].map(|()| timer.schedule_after(HOUR, || ()).unwrap());
        let mut timeout = timer.timeout(HOUR, pending::<()>());
        executor.start([&mut timeout]);
        bench.clock.advance(SECOND);
        let mut unrun = timer.shutdown(how).unwrap();
        assert_eq!(executor.wakers(), 0);
        assert_adds_up(timer);
        assert!(returned[0].cancel());
        unrun.pop().unwrap().run();
        unrun.pop();
        sleeps[3].reset(at(3 * HOUR));
        _ = executor.poll(&mut sleeps[3]);
        drop((sleeps, timeout));
        assert_adds_up(timer);
        drop((unrun, taken));
        jobs.try_iter().for_each(drop);
        assert_adds_up(timer);
        assert_eq!((timer.len(), keyed.len()), (0, 0));
    }
}

#[test]
fn lateness_is_that_of_each_run() {
    let bench = Bench::with(|builder| builder.late_after(500 * MS));
    for delay in 1..=100 {
        bench.timer.schedule_after(delay * 10 * MS, || ()).unwrap();
    }
    bench.advance(SECOND);
    let stats = bench.timer.stats();
    let lateness = |part| stats.lateness(part);
    let is_about = |duration: Duration, ms: u32| duration.abs_diff(ms * MS) <= ms * MS / 50;
    assert_eq!(stats.fired, 100);
    assert!(is_about(lateness(1.0), 990));
    assert!(is_about(lateness(0.5), 490) || is_about(lateness(0.5), 500));
    assert!(is_about(lateness(2.0), 990));
    assert_eq!(lateness(-1.0), Duration::ZERO);
    assert_eq!(lateness(f64::NAN), lateness(0.0), "no panic");
    assert_eq!(stats.late, 49, "those due by 490 ms");
}

#[test]
fn lateness_is_zero_without_runs_and_cut_off_beyond_the_histogram() {
    let bench = Bench::new();
    assert_eq!([0.0, 0.99, 1.0].map(|part| bench.timer.stats().lateness(part)), [Duration::ZERO; 3]);
    bench.schedule(MS, 1);
    bench.advance(100_000 * HOUR);
    assert!(bench.timer.stats().lateness(1.0) >= 24 * HOUR);
}

#[test]
fn debug_forms_say_something_and_stay_short() {
    let timer = Timer::new().unwrap();
    let handle = timer.schedule_after(HOUR, || ()).unwrap();
    assert!(format!("{timer:?}").starts_with("Timer { len: 1, expiration_delay: "));
    assert_eq!(format!("{handle:?}"), "TimerHandle { is_live: true, .. }");
    assert!(format!("{:?}", timer.stats()).contains("lateness: Lateness { p50: 0ns"));
    assert!(format!("{:?}", Timer::builder()).contains("budget: 1024"));
    let unrun = timer.shutdown(timer_wheel::Shutdown::Drain).unwrap();
    assert!(format!("{:?}", unrun[0]).starts_with("Job { deadline: Some("));
}
