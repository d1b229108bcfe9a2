//! The end of a timer: nothing is lost, nobody hangs.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use timer_wheel::timer::{Missed, Reason};
use timer_wheel::{Clock, Job, ManualClock, Shutdown, Timer};

use crate::log::{Bench, HOUR, Log, MS, SECOND};

/// Writes down that it was dropped.
struct Witness(Log, u64);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.write(self.1);
    }
}

/// A missed run that waits stands where it was missed, ahead of a job that has come in since.
#[test]
fn missed_run_that_waits_is_returned_in_its_place() {
    let bench = Bench::with(|builder| builder.budget(1));
    let (give, holds) = mpsc::channel::<mpsc::Receiver<()>>();
    let (at_work, has_begun) = mpsc::channel();
    let mut runs = 0;
    let series = move || {
        runs += 1;
        if runs == 5 {
            at_work.send(()).unwrap();
            let _ = holds.recv().unwrap().recv();
        }
    };
    let timer = &bench.timer;
    timer.every(SECOND, Missed::CatchUp, series).unwrap();
    timer.every(SECOND, Missed::CatchUp, || ()).unwrap();
    bench.clock.advance(100 * SECOND);
    has_begun.recv().unwrap();
    let came_in_since = bench.clock.origin() + 95 * SECOND;
    timer.schedule_at(came_in_since, || ()).unwrap();
    let (let_go, may_go_on) = mpsc::channel();
    give.send(may_go_on).unwrap();
    let ending = bench.begin_shutdown(Shutdown::Discard);
    let_go.send(()).unwrap();
    let unrun = ending.join().unwrap();
    let deadlines: Vec<_> = unrun.iter().map(Job::deadline).collect();
    assert!(deadlines.len() == 2 && deadlines.is_sorted());
    assert_eq!(deadlines[1], Some(came_in_since));
}

/// While a job holds up the end, those that wait are still where they were.
#[test]
fn discard_starts_nothing_more_moves_nothing_and_returns_all() {
    let bench = Bench::new();
    let let_go = bench.hold_up(|| ());
    for number in 0..10 {
        bench.schedule(2 * MS, number);
    }
    let handle = bench.schedule(HOUR, 10);
    bench.clock.advance(SECOND);
    let ending = bench.begin_shutdown(Shutdown::Discard);
    assert!(!handle.reschedule_after(2 * HOUR), "nobody will run it then");
    let_go.send(()).unwrap();
    let unrun = ending.join().unwrap();
    assert_eq!((unrun.len(), bench.log.len()), (11, 0));
    assert_eq!(unrun[10].deadline(), Some(bench.clock.origin() + HOUR));
    assert_eq!(bench.timer.stats().rescheduled, 0);
}

#[test]
fn job_returned_by_a_shutdown_can_be_cancelled_or_dropped() {
    let bench = Bench::new();
    let handle = bench.schedule(SECOND, 1);
    let witness = Witness(bench.log.clone(), 2);
    bench.timer.schedule_after(2 * SECOND, move || drop(witness)).unwrap();
    let mut unrun = bench.timer.shutdown(Shutdown::Discard).unwrap();
    assert!(bench.timer.shutdown(Shutdown::Drain).unwrap().is_empty(), "once");
    assert!(!handle.reschedule_after(MS), "nobody is left to run it");
    assert!(handle.cancel());
    unrun.remove(0).run();
    assert_eq!((bench.log.len(), bench.timer.len()), (0, 1));
    drop(unrun);
    assert_eq!(bench.log.read(), [2], "its closure was dropped");
    let stats = bench.timer.stats();
    assert_eq!((stats.cancelled, stats.abandoned, stats.fired, stats.len), (1, 1, 0, 0));
}

/// A second caller waits for the end as well: when a shutdown has returned, nothing runs.
#[test]
fn second_shutdown_waits_for_the_end_that_the_first_has_asked_for() {
    for _ in 0..3 {
        let bench = Bench::new();
        let log = bench.log.clone();
        let let_go = bench.hold_up(move || log.write(1));
        let first = bench.begin_shutdown(Shutdown::Discard);
        let (timer, log) = (bench.timer.clone(), bench.log.clone());
        let (calling, is_called) = mpsc::channel();
        let second = thread::spawn(move || {
            calling.send(()).unwrap();
            assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
            log.read()
        });
        is_called.recv().unwrap();
        // One that does not wait is given the time to show it.
        (0..20).for_each(|_| thread::yield_now());
        let_go.send(()).unwrap();
        assert_eq!(second.join().unwrap(), [1], "it has returned while a job ran");
        first.join().unwrap();
    }
}

#[test]
fn dropping_the_last_timer_discards_and_joins() {
    let bench = Bench::new();
    let (log, clock) = (bench.log.clone(), bench.clock.clone());
    for number in 0..3 {
        let witness = Witness(log.clone(), number);
        bench.timer.schedule_after(SECOND, move || drop(witness)).unwrap();
    }
    let ran = log.clone();
    let handle = bench.timer.schedule_after(SECOND, move || ran.write(9)).unwrap();
    let clone = bench.timer.clone();
    drop(bench);
    assert_eq!(log.len(), 0, "a clone is left");
    drop(clone);
    assert_eq!(log.read(), [0, 1, 2], "dropped, and none of them run");
    clock.advance(HOUR);
    assert_eq!(log.len(), 3);
    assert!(!handle.cancel() && !handle.reschedule_after(MS));
}

#[test]
fn dropping_the_last_timer_inside_a_job_of_a_pool_does_not_hang() {
    let (queue, jobs) = mpsc::sync_channel::<Job>(0);
    let (executor, handed) = mpsc::channel();
    let executor = move |job| {
        executor.send(()).unwrap();
        queue.send(job).unwrap();
    };
    let (clock, log) = (ManualClock::new(), Log::default());
    let builder = Timer::builder().clock(clock.clone());
    let timer = builder.executor(executor).start().unwrap();
    let (give, take) = mpsc::channel::<Timer>();
    timer.schedule_after(MS, move || drop(take.recv().unwrap())).unwrap();
    timer.schedule_after(MS, log.job(2)).unwrap();
    let pool = thread::spawn(move || jobs.into_iter().for_each(Job::run));
    clock.advance(MS);
    // The timer thread waits for the pool with the second job, while the pool drops the timer.
    handed.recv().unwrap();
    handed.recv().unwrap();
    give.send(timer).unwrap();
    pool.join().unwrap();
    assert_eq!(log.read(), [2]);
}

/// A job that waits for a timer, and how that was answered.
fn waits_for(timer: &Timer) -> (impl FnOnce() + Send + 'static, mpsc::Receiver<[Result<(), Reason>; 2]>) {
    let (timer, (sender, answers)) = (timer.clone(), mpsc::channel());
    let job = move || sender.send([timer.settle(), timer.shutdown(Shutdown::Drain).map(drop)]).unwrap();
    (job, answers)
}

#[test]
fn job_cannot_wait_for_its_own_timer() {
    let bench = Bench::new();
    let (job, answers) = waits_for(&bench.timer);
    bench.timer.schedule_after(MS, job).unwrap();
    bench.advance(MS);
    assert_eq!(answers.recv(), Ok([Err(Reason::InsideJob); 2]));
    assert_eq!(Reason::InsideJob.to_string(), "a job cannot wait for the timer that runs it");
    bench.schedule(MS, 1);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1], "the timer goes on");
}

/// A thread of a pool that runs a job of one timer within a job of another runs jobs of both.
#[test]
fn job_cannot_wait_for_its_own_timer_from_within_a_job_of_another() {
    let (bench, jobs) = Bench::with_pool();
    let (inner, answers) = waits_for(&bench.timer);
    let other = Bench::new();
    other.timer.schedule_after(SECOND, inner).unwrap();
    let mut unrun = other.timer.shutdown(Shutdown::Discard).unwrap();
    let outer = move || unrun.remove(0).run();
    bench.timer.schedule_after(MS, outer).unwrap();
    bench.advance(MS);
    jobs.try_recv().unwrap().run();
    assert_eq!(answers.try_recv(), Ok([Err(Reason::InsideJob); 2]));
}

#[test]
fn job_may_wait_for_another_timer() {
    let (bench, other) = (Bench::new(), Bench::new());
    other.schedule(MS, 1);
    other.clock.advance(MS);
    let (job, answers) = waits_for(&other.timer);
    bench.timer.schedule_after(MS, job).unwrap();
    bench.advance(MS);
    assert_eq!(answers.recv(), Ok([Ok(()); 2]));
    assert_eq!(other.log.read(), [1]);
}

/// More than one piece of work of each kind.
#[test]
fn shutdown_returns_each_job_that_waits_once_in_order_and_none_that_was_handed_out() {
    let (bench, taken) = Bench::with_pool();
    let mut delay = 1;
    (0..700).for_each(|number| _ = bench.schedule(MS, number));
    bench.timer.every(MS, Missed::Skip, || ()).unwrap();
    bench.advance(MS);
    for number in 0..700 {
        delay = delay * 48_271 % 2_147_483_647;
        bench.schedule(SECOND + Duration::from_micros(delay), 1_000 + delay);
        let handle = bench.schedule(Duration::MAX, 1 << 40 | number);
        if number % 7 == 0 {
            assert!(handle.cancel());
        }
    }
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    unrun.into_iter().for_each(Job::run);
    let ran = bench.log.read();
    assert_eq!(ran.len(), 700 + 600);
    assert!(ran.is_sorted_by(|a, b| a < b), "each once and in order");
    let taken: Vec<Job> = taken.try_iter().collect();
    assert_eq!((taken.len(), bench.timer.len()), (701, 701));
    taken.into_iter().for_each(Job::run);
    assert_eq!((bench.log.len(), bench.timer.len()), (2_000, 0));
}
