//! Clocks that panic: a timer ends in order, tells everybody, and loses no job.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;

use timer_wheel::timer::{Missed, Reason};
use timer_wheel::{Job, ManualClock, Shutdown, Timer};

use crate::fuse::{Burnt, Fuse};
use crate::log::{Asked, Bench, Hooked, Log, MS, SECOND};

/// A timer on a clock that panics when a fuse is set, and whether the panics that were reported are the clock's.
struct Broken {
    bench: Bench,
    /// For the timer thread, when it looks at the time.
    inside: Fuse,
    /// For it, when it sleeps.
    parking: Fuse,
    /// For all other threads.
    outside: Fuse,
    reports: mpsc::Receiver<bool>,
}

impl Deref for Broken {
    type Target = Bench;

    fn deref(&self) -> &Bench {
        &self.bench
    }
}

impl Broken {
    fn new() -> Self {
        let [inside, parking, outside] = [(); 3].map(|()| Fuse::default());
        let clock = ManualClock::new();
        let fuses = [&inside, &parking, &outside].map(Fuse::clone);
        let brittle = Hooked(clock.clone(), move |asked| match asked {
            Asked::Origin => {}
            Asked::Now if thread::current().name() == Some("brittle") => fuses[0].ask(),
            Asked::Park => fuses[1].ask(),
            Asked::Now => fuses[2].ask(),
        });
        let (sender, reports) = mpsc::channel();
        let builder = Timer::builder().clock(brittle).name("brittle");
        let builder = builder.on_panic(move |payload| sender.send(payload.is::<Burnt>()).unwrap());
        let bench = Bench { timer: builder.start().unwrap(), clock, log: Log::default() };
        Self { bench, inside, parking, outside, reports }
    }

    fn schedule_three(&self) {
        for number in [3, 1, 2] {
            self.schedule(number * SECOND, number.into());
        }
    }
}

#[test]
fn clock_that_panics_on_the_timer_thread_ends_the_timer_and_loses_no_job() {
    let burns: [fn(&Broken); 2] = [|bench| bench.inside.set(0..u32::MAX), |bench| bench.parking.set(0..1)];
    for burn in burns {
        let bench = Broken::new();
        bench.schedule_three();
        let handle = bench.schedule(MS, 4);
        bench.settle();
        burn(&bench);
        bench.settle();
        // When it is to park, settling is answered before the thread comes to that, or because it has ended.
        assert_eq!(bench.reports.recv(), Ok(true));
        bench.settle();
        assert!(!handle.reschedule_after(SECOND), "the timer has ended");
        assert!(handle.cancel(), "it has not run, and will not now");
        assert_eq!([bench.timer.expiration_delay(), bench.timer.stats().expiration_delay], [None; 2]);
        let refused = bench.timer.schedule_after(MS, bench.log.job(9)).unwrap_err();
        assert_eq!(refused.reason, Reason::ShutDown);
        let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(bench.log.len(), 0, "nothing has run without the time");
        unrun.into_iter().for_each(Job::run);
        assert_eq!((bench.log.read(), bench.timer.len()), (vec![1, 2, 3], 0));
        assert!(bench.timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert_eq!(bench.reports.try_iter().count(), 0);
    }
}

/// The clock is asked when the run under way ends, when the thread comes round, by the shutdown, and
/// around each run: wherever it fails, every job is run or returned.
#[test]
fn clock_that_panics_during_a_shutdown_loses_no_job() {
    for spared in 0..8 {
        let bench = Broken::new();
        let go = bench.hold_up(|| ());
        bench.schedule_three();
        let ending = bench.begin_shutdown(Shutdown::Drain);
        bench.clock.advance(2 * SECOND);
        bench.inside.set(spared..u32::MAX);
        go.send(()).unwrap();
        let unrun = ending.join().unwrap();
        bench.inside.set(0..0);
        let ran = bench.log.len();
        assert!(ran == 0 || ran == 2, "what is due was run, or nothing");
        unrun.into_iter().for_each(Job::run);
        assert_eq!(bench.log.read(), [1, 2, 3], "spared {spared} times");
        assert_eq!(bench.timer.len(), 0);
    }
}

#[test]
fn clock_that_panics_under_a_caller_changes_nothing_in_the_timer() {
    let bench = Broken::new();
    bench.schedule_three();
    let handle = bench.schedule(SECOND, 4);
    bench.outside.set(0..u32::MAX);
    let calls: [&dyn Fn(); 3] = [
        &|| drop(bench.timer.schedule_after(MS, || ())),
        &|| drop(bench.timer.every(MS, Missed::Skip, || ())),
        &|| assert!(!handle.reschedule_after(10 * SECOND)),
    ];
    for call in calls {
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&Burnt));
    }
    bench.outside.set(0..0);
    assert_eq!(bench.timer.len(), 4);
    bench.advance(3 * SECOND);
    assert_eq!(bench.log.read(), [1, 4, 2, 3]);
    assert_eq!(bench.reports.try_iter().count(), 0, "the thread is well");
}

/// Bookkeeping around a run asks for the time too. It makes do with the latest that was seen.
#[test]
fn clock_that_panics_around_a_run_neither_loses_it_nor_ends_its_series() {
    let bench = Broken::new();
    bench.timer.every(SECOND, Missed::Skip, bench.log.job(1)).unwrap();
    let (inside, log) = (bench.inside.clone(), bench.log.clone());
    let fails_after = move || {
        log.write(2);
        // When the run ends, and before the next one begins.
        inside.set(0..2);
    };
    bench.timer.every(SECOND, Missed::Skip, fails_after).unwrap();
    bench.timer.every(SECOND, Missed::Skip, bench.log.job(3)).unwrap();
    for round in 1..=3 {
        bench.advance(SECOND);
        assert_eq!(bench.log.read(), [1, 2, 3].repeat(round));
    }
    assert_eq!(bench.reports.try_iter().count(), 0);
    assert_eq!((bench.timer.len(), bench.timer.stats().fired), (3, 9));
}

#[test]
fn last_timer_with_a_broken_clock_is_dropped_without_waiting_for_ever() {
    let bench = Broken::new();
    bench.schedule_three();
    bench.inside.set(0..u32::MAX);
    let Broken { bench, reports, .. } = bench;
    drop(bench);
    // The thread has ended, and its hook with it.
    assert!(reports.iter().all(|is_the_clocks| is_the_clocks));
}
