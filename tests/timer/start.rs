//! A timer as programs start it: its clock, its thread, and where its types may go. Bad use gets a clear answer: no panic, no
//! hang, nothing lost.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use timer_wheel::timer::{Builder, Missed, Reason};
use timer_wheel::{Clock, Job, KeyedTimer, Shutdown, Timer, TimerHandle};

use crate::log::{Bench, HOUR, MS, SECOND};

/// The system clock parks the thread as clocks do that say nothing else.
#[test]
fn timer_on_the_system_clock_sleeps_until_it_is_time() {
    let timer = Timer::new().unwrap();
    let (sender, receiver) = mpsc::channel();
    for delay in [30, 10, 20] {
        let (sender, deadline) = (sender.clone(), Instant::now() + delay * MS);
        timer.schedule_at(deadline, move || sender.send(Instant::now() >= deadline).unwrap()).unwrap();
    }
    drop(sender);
    assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [true; 3]);
    // One for each job, one a level on its way, and what the system adds.
    let wake_ups = timer.stats().wake_ups;
    assert!(wake_ups < 90, "it woke up {wake_ups} times");
}

#[test]
fn jobs_run_on_the_timer_thread_unless_an_executor_is_brought() {
    let (sender, receiver) = mpsc::channel();
    let timer = Timer::builder().name("clockwork").start().unwrap();
    let job = move || sender.send(thread::current().name().map(str::to_owned)).unwrap();
    timer.schedule_after(Duration::ZERO, job).unwrap();
    assert_eq!(receiver.recv().unwrap().as_deref(), Some("clockwork"));
}

#[test]
fn public_types_go_where_they_are_needed() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    anywhere::<Timer>();
    anywhere::<TimerHandle>();
    anywhere::<KeyedTimer<String>>();
    fn movable<T: Send + 'static>() {}
    movable::<Job>();
}

/// The caller's: the wheel is the business of the timer's own thread, and a page of timers is not made on a stack.
#[test]
fn hundred_thousand_jobs_are_scheduled_and_run_from_a_small_thread() {
    const JOBS: u64 = 100_000;
    let kilobytes = if cfg!(debug_assertions) { 64 } else { 48 };
    let thread = thread::Builder::new().stack_size(kilobytes << 10).spawn(|| {
        let bench = Bench::new();
        for n in 0..JOBS {
            let handle = bench.schedule(SECOND + MS * (n % 5_000) as u32, n);
            assert!(n % 3 != 0 || handle.reschedule_after(HOUR));
            assert!(n % 7 != 0 || handle.cancel());
        }
        bench.advance(SECOND * 60);
        bench.advance(HOUR);
        assert!(bench.timer.is_empty());
        assert_eq!(bench.log.len() as u64, JOBS - JOBS.div_ceil(7));
    });
    thread.expect("a thread can be started").join().expect("all of them run");
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[test]
fn period_of_zero_is_refused_and_hands_the_job_back() {
    let bench = Bench::new();
    let log = bench.log.clone();
    let mut refused = bench.timer.every(Duration::ZERO, Missed::Skip, move || log.write(7)).unwrap_err();
    assert_eq!(refused.reason, Reason::ZeroPeriod);
    assert_eq!(refused.to_string(), "the period of a job must be longer than zero");
    (refused.job)();
    assert_eq!((bench.log.read(), bench.timer.len()), (vec![7], 0));
}

#[test]
fn delay_beyond_the_clock_never_comes() {
    let bench = Bench::new();
    bench.advance(HOUR);
    for delay in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        let handle = bench.schedule(delay, 1);
        bench.advance(HOUR);
        assert!(handle.reschedule_after(delay));
        assert_eq!(bench.timer.sleep(delay).deadline(), None);
    }
    let far = (0..10).fold(bench.clock.origin(), |far, _| far.checked_add(100 * YEAR).unwrap_or(far));
    let handle = bench.timer.schedule_at(far, bench.log.job(1)).unwrap();
    assert!(handle.reschedule_at(far) && handle.cancel());
    let beat = bench.timer.every(Duration::MAX, Missed::Skip, bench.log.job(1)).unwrap();
    let wake = bench.timer.expiration_delay();
    assert!(wake.is_none_or(|wake| wake > 500 * YEAR), "{wake:?}");
    bench.clock.set(Duration::MAX);
    bench.settle();
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 3));
    assert!(beat.cancel());
    // A caller who wants it all the same gets it from a shutdown, without an instant.
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert!(unrun.iter().all(|job| job.deadline().is_none()));
    assert_eq!(unrun.len(), 2);
}

#[test]
fn last_moment_of_the_clock_does_come() {
    let bench = Bench::new();
    let last = Duration::from_nanos(u64::MAX - 1);
    bench.schedule(last, 1);
    bench.advance(last - Duration::from_nanos(1));
    assert_eq!(bench.log.len(), 0);
    bench.advance(Duration::from_nanos(1));
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn settings_out_of_range_are_made_fit() {
    type Configure = fn(Builder) -> Builder;
    let settings: [Configure; 4] = [
        |builder| builder.budget(0),
        |builder| builder.shards(0),
        |builder| builder.shards(usize::MAX),
        |builder| builder.name("a\0b"),
    ];
    for configure in settings {
        let bench = Bench::with(configure);
        (0..10).for_each(|number| _ = bench.schedule(SECOND, number));
        bench.advance(SECOND);
        assert_eq!(bench.log.len(), 10);
    }
}
