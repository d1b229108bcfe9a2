//! With slack no job is early, none is later than the slack after its deadline, and the thread wakes up less often.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

use timer_wheel::clock::nanoseconds;
use timer_wheel::timer::Missed;
use timer_wheel::{Clock, ManualClock, Shutdown, Wheel, align};

use crate::arbitrary::{Drawn, check};
use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR, MS, SECOND};
use crate::random::Call;
use crate::rng::Rng;
use crate::wake_ups::SETTLING;

/// The seed of all measurements.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// So round that windows around it have no rounder time: 68.7 s.
const ROUND: Duration = Duration::from_nanos(1 << 36);

fn with_slack(slack: Duration) -> Bench {
    Bench::with(|builder| builder.slack(slack))
}

/// A job that writes how late it is. An early one writes more than any slack.
fn lateness_writer(bench: &Bench, deadline: &Arc<AtomicU64>) -> impl FnMut() + Send + 'static {
    let (clock, log, deadline) = (bench.clock.clone(), bench.log.clone(), Arc::clone(deadline));
    move || log.write(clock.now().wrapping_sub(deadline.load(Ordering::SeqCst)))
}

/// Moves the clock only to where the thread sleeps to, until only `left` jobs are live: the wake-ups.
fn sleep_as_told(bench: &Bench, left: usize) -> usize {
    let mut wake_ups = 0;
    bench.settle();
    while bench.timer.len() > left {
        bench.advance(bench.expiration_delay());
        wake_ups += 1;
    }
    wake_ups
}

#[test]
fn jobs_with_slack_run_within_it_at_a_tenth_of_the_wake_ups() {
    let wake_ups = |slack: Duration| {
        let (bench, mut numbers) = (with_slack(slack), Rng(SEED));
        for _ in 0..2_000 {
            let delay = numbers.below(nanoseconds(HOUR));
            let job = lateness_writer(&bench, &Arc::new(delay.into()));
            bench.timer.schedule_after(Duration::from_nanos(delay), job).unwrap();
        }
        let wake_ups = sleep_as_told(&bench, 0);
        let lateness = bench.log.read();
        assert_eq!(lateness.len(), 2_000);
        assert!(lateness.into_iter().all(|late| late <= nanoseconds(slack)));
        wake_ups
    };
    let (exact, slack) = (wake_ups(Duration::ZERO), wake_ups(36 * SECOND));
    println!("{exact} wake-ups without slack, {slack} with it");
    assert!(slack * 10 <= exact, "{slack} of {exact}");
}

/// W21. Each job has a window of its own, so the jobs are scheduled at round times on a wheel.
#[test]
fn jobs_that_may_run_a_hundredth_of_their_delay_later_take_a_tenth_of_the_wake_ups() {
    fn wake_ups(latest: fn(u64) -> u64) -> usize {
        let (clock, mut wheel, mut numbers) = (ManualClock::new(), Wheel::<(u64, u64)>::new(0), Rng(SEED));
        for _ in 0..10_000 {
            let deadline = numbers.below(nanoseconds(HOUR));
            let latest = latest(deadline);
            wheel.schedule(align(deadline, latest), (deadline, latest));
        }
        let (mut wake_ups, mut fired) = (0, 0);
        while let Some(time) = wheel.wake_at() {
            clock.set(Duration::from_nanos(time));
            wake_ups += 1;
            for timer in wheel.advance(clock.now()) {
                let (earliest, latest) = timer.value;
                assert!((earliest..=latest).contains(&clock.now()), "outside of its window");
                fired += 1;
            }
        }
        assert_eq!(fired, 10_000);
        wake_ups
    }
    let (exact, slack) = (wake_ups(|deadline| deadline), wake_ups(|deadline| deadline + deadline / 100));
    println!("{exact} wake-ups without slack, {slack} with it");
    assert!(slack * 10 <= exact, "{slack} of {exact}");
}

/// The clock moves to where the thread sleeps to and not beyond, and in between to times at which nobody wakes it.
#[test]
fn no_job_is_early_or_later_than_the_slack_whatever_is_scheduled_and_changed() {
    fn agree(script: Drawn<Call>) {
        for slack in [0, 1 << 10, 1 << 20, 1 << 30, 3 << 30] {
            let bench = with_slack(Duration::from_nanos(slack));
            // There is always a time to sleep to.
            let far = bench.timer.schedule_after(1_000 * HOUR, || ()).unwrap();
            let (mut jobs, mut cancelled) = (Vec::new(), 0);
            // At least 1, so that nothing is due before the clock moves.
            let ahead = |delay: Duration| delay.max(Duration::from_nanos(1));
            for call in script.script() {
                let now = bench.clock_shows();
                match call {
                    Call::Schedule(delay) | Call::SetKey(_, delay) | Call::RenewKey(_, delay) => {
                        let deadline = Arc::new(AtomicU64::new(nanoseconds(now + ahead(delay))));
                        let job = lateness_writer(&bench, &deadline);
                        jobs.push((bench.timer.schedule_after(ahead(delay), job).unwrap(), deadline));
                    }
                    Call::Reschedule(nth, delay) | Call::RescheduleKey(nth, delay) => {
                        let Some(nth) = usize::from(nth).checked_rem(jobs.len()) else { continue };
                        let (handle, deadline) = &jobs[nth];
                        if handle.reschedule_after(ahead(delay)) {
                            deadline.store(nanoseconds(now + ahead(delay)), Ordering::SeqCst);
                        }
                    }
                    Call::Cancel(nth) | Call::RemoveKey(nth) => {
                        let Some(nth) = usize::from(nth).checked_rem(jobs.len()) else { continue };
                        cancelled += usize::from(jobs[nth].0.cancel());
                    }
                    Call::Pass(time) => bench.clock.advance(time.min(bench.expiration_delay())),
                    Call::Back(_) => {}
                }
            }
            sleep_as_told(&bench, 1);
            let lateness = bench.log.read();
            assert_eq!(lateness.len() + cancelled, jobs.len());
            assert!(lateness.iter().all(|late| *late <= slack), "{lateness:?} with {slack}");
            assert!(far.cancel());
        }
    }
    check(100, 80, agree);
}

#[test]
fn periodic_job_with_slack_keeps_its_rate_and_lateness_counts_from_the_deadline() {
    const SLACK: Duration = Duration::from_millis(300);
    for missed in [Missed::Skip, Missed::CatchUp] {
        let bench = with_slack(SLACK);
        let (clock, log) = (bench.clock.clone(), bench.log.clone());
        let beat = bench.timer.every(SECOND, missed, move || log.write(clock.now())).unwrap();
        while bench.log.len() < 20 {
            bench.advance(bench.expiration_delay());
        }
        let ran = bench.log.read();
        for (time, number) in ran.iter().zip(1..) {
            let deadline = number * SECOND;
            assert!((deadline..=deadline + SLACK).contains(&Duration::from_nanos(*time)), "run {number} at {time}");
        }
        assert!(ran.iter().any(|time| time % nanoseconds(SECOND) > 0), "the slack is used");
        assert_eq!(beat.deadline(), Some(bench.clock.origin() + 21 * SECOND));
        let stats = bench.timer.stats();
        assert!(stats.lateness(1.0) > Duration::ZERO && stats.lateness(1.0) <= SLACK + 3 * MS);
        assert_eq!(stats.late, 0, "what the slack allows is not reported");
    }
}

#[test]
fn runs_beyond_the_slack_are_late_and_beyond_what_was_asked_for_if_it_was() {
    for (asked, late) in [(None, 1), (Some(550 * MS), 2), (Some(MS), 3)] {
        let bench = Bench::with(|builder| match asked {
            Some(lateness) => builder.late_after(lateness).slack(500 * MS),
            None => builder.slack(500 * MS),
        });
        // They are 590, 610 and 30 ms late.
        [410, 390, 970].into_iter().for_each(|delay| _ = bench.schedule(delay * MS, 0));
        bench.advance(SECOND);
        assert_eq!(bench.timer.stats().late, late, "{asked:?}");
    }
}

/// The thread sleeps until the round time, which all these windows contain.
#[test]
fn call_wakes_no_thread_that_wakes_within_the_slack_and_the_jobs_keep_their_order() {
    let bench = with_slack(10 * SECOND);
    let start = ROUND - 5 * SECOND;
    bench.schedule(start + 1_000 * MS, 1_000);
    bench.settle();
    assert_eq!(bench.expiration_delay(), ROUND);
    let before = bench.timer.stats().wake_ups;
    for number in (0..1_000).rev() {
        bench.schedule(start + number * MS, u64::from(number));
    }
    assert_eq!(bench.expiration_delay(), ROUND);
    bench.clock.advance(start + SECOND);
    assert!(bench.timer.stats().wake_ups <= before + SETTLING);
    bench.advance(ROUND - bench.clock_shows());
    assert_eq!(bench.log.read(), (0..=1_000).collect::<Vec<_>>());
}

/// The thread sleeps for less than the slack already, and nothing but the call wakes it.
#[test]
fn job_whose_window_is_over_runs_at_once() {
    let bench = with_slack(SECOND);
    bench.advance(ROUND - 500 * MS);
    bench.schedule(400 * MS, 9);
    bench.settle();
    assert_eq!(bench.expiration_delay(), 500 * MS);
    for deadline in [Duration::ZERO, 5 * SECOND, ROUND - 1_600 * MS] {
        let (sender, rang) = mpsc::channel();
        bench.timer.schedule_at(bench.clock.origin() + deadline, move || sender.send(()).unwrap()).unwrap();
        rang.recv().unwrap();
    }
    assert_eq!(bench.log.len(), 0);
}

#[test]
fn sleep_and_timeout_with_slack_are_over_at_the_wake_up_and_not_early() {
    let (bench, executor) = (with_slack(10 * SECOND), ManualExecutor::default());
    let mut sleeps = [1, 2, 3].map(|seconds| bench.timer.sleep(ROUND - seconds * SECOND));
    executor.start(&mut sleeps);
    let mut timeout = bench.timer.timeout(ROUND - 4 * SECOND, std::future::pending::<()>());
    assert!(executor.poll(&mut timeout).is_pending());
    assert_eq!(bench.expiration_delay(), ROUND);
    bench.advance(ROUND);
    assert_eq!(executor.wakes(), 4);
    assert!(sleeps.iter_mut().all(|sleep| executor.poll(sleep) == Poll::Ready(Ok(()))));
    assert!(executor.poll(&mut timeout).is_ready());
}

#[test]
fn what_is_due_runs_at_settle_and_drain_however_long_the_slack() {
    let bench = with_slack(Duration::MAX);
    bench.schedule(SECOND, 1);
    bench.schedule(HOUR, 2);
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
    bench.clock.advance(HOUR);
    bench.schedule(HOUR, 3);
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!((bench.log.read(), unrun.len()), (vec![1, 2], 1));
}
