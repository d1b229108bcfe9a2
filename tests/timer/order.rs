//! Jobs start in exact order of their deadlines, and first in first out among equals.

use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use quickcheck::{TestResult, quickcheck};
use timer_wheel::{Clock, ManualClock, Timer};

use crate::log::{Bench, HOUR, Log, SECOND};

#[test]
fn ten_thousand_jobs_of_one_deadline_run_in_the_order_they_were_scheduled() {
    let bench = Bench::new();
    for number in 0..10_000 {
        bench.timer.schedule_after(SECOND, bench.log.job(number)).unwrap();
    }
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), (0..10_000).collect::<Vec<_>>());
}

#[test]
fn jobs_of_one_thread_keep_their_order_among_those_of_others() {
    let bench = Bench::new();
    let log: Log = bench.log.clone();
    let start = Arc::new(Barrier::new(4));
    let deadline = SECOND;
    let producers: Vec<_> = (0..4)
        .map(|producer| {
            let (timer, log, start) = (bench.timer.clone(), log.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for number in 0..5_000 {
                    timer.schedule_after(deadline, log.job(producer * 10_000 + number)).unwrap();
                }
            })
        })
        .collect();
    for producer in producers {
        producer.join().unwrap();
    }
    bench.advance(SECOND);
    let ran = log.read();
    assert_eq!(ran.len(), 20_000);
    for producer in 0..4 {
        let own: Vec<u64> = ran.iter().copied().filter(|n| n / 10_000 == producer).collect();
        assert_eq!(own.len(), 5_000);
        assert!(own.is_sorted(), "producer {producer} was overtaken by itself");
    }
}

#[test]
fn rescheduled_job_goes_behind_those_of_equal_deadline() {
    for is_filed in [false, true] {
        let bench = Bench::new();
        let first = bench.timer.schedule_after(SECOND, bench.log.job(1)).unwrap();
        bench.timer.schedule_after(SECOND, bench.log.job(2)).unwrap();
        if is_filed {
            bench.settle();
        }
        assert!(first.reschedule_after(SECOND));
        bench.timer.schedule_after(SECOND, bench.log.job(3)).unwrap();
        bench.advance(SECOND);
        assert_eq!(bench.log.read(), [2, 1, 3], "filed: {is_filed}");
    }
}

/// Jobs are filed in time even when a crowd of them is scheduled just before the clock jumps.
#[test]
fn crowd_scheduled_before_a_jump_runs_in_order() {
    let bench = Bench::with(|builder| builder.budget(100));
    let mut delay = 1;
    for _ in 0..30_000 {
        delay = delay * 48_271 % 2_147_483_647;
        let job = bench.log.job(delay);
        bench.timer.schedule_after(Duration::from_nanos(delay), job).unwrap();
    }
    bench.advance(HOUR);
    let ran = bench.log.read();
    assert_eq!(ran.len(), 30_000);
    assert!(ran.is_sorted());
}

quickcheck! {
    /// Against the obvious: a sorted list of deadlines.
    fn jobs_run_in_order_of_deadline_then_of_calls(steps: Vec<(u16, u8, u8)>) -> TestResult {
        let bench = Bench::with(|builder| builder.budget(3));
        let mut model: Vec<(u64, usize)> = Vec::new();
        let mut live = Vec::new();
        let mut expected = Vec::new();
        let mut now = 0;
        for (call, &(delay, what, which)) in steps.iter().enumerate() {
            let delay = u64::from(delay) << (which % 24);
            let deadline = now + delay;
            match what % 4 {
                0 | 1 => {
                    let job = bench.log.job(call as u64);
                    let handle = bench.timer.schedule_after(Duration::from_nanos(delay), job).unwrap();
                    live.push((handle, call));
                    model.push((deadline, call));
                }
                2 if !live.is_empty() => {
                    let (handle, call) = &live[usize::from(which) % live.len()];
                    let place = model.iter().position(|(_, other)| other == call);
                    let is_moved = handle.reschedule_after(Duration::from_nanos(delay));
                    assert_eq!(is_moved, place.is_some());
                    if let Some(place) = place {
                        model.remove(place);
                        model.push((deadline, *call));
                    }
                }
                3 => {
                    now += delay;
                    bench.advance(Duration::from_nanos(delay));
                    // Stable, so that equals stay in the order of the calls.
                    model.sort_by_key(|(deadline, _)| *deadline);
                    let due = model.partition_point(|(deadline, _)| *deadline <= now);
                    expected.extend(model.drain(..due).map(|(_, call)| call as u64));
                }
                _ => {}
            }
            // What is due at once has run before the next call, so that the two agree.
            if what % 4 != 3 {
                bench.settle();
                let due: Vec<_> = model.iter().filter(|(deadline, _)| *deadline <= now).copied().collect();
                model.retain(|(deadline, _)| *deadline > now);
                expected.extend(due.into_iter().map(|(_, call)| call as u64));
            }
        }
        assert_eq!(bench.log.read(), expected);
        assert_eq!(bench.timer.len(), model.len());
        TestResult::passed()
    }
}

/// What happens when the clock is read next.
type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A clock that lets something happen just before the timer thread reads it.
struct Hooked {
    clock: ManualClock,
    hook: Hook,
    test: ThreadId,
}

impl Clock for Hooked {
    fn origin(&self) -> Instant {
        self.clock.origin()
    }

    fn now(&self) -> u64 {
        if thread::current().id() != self.test {
            let hook = self.hook.lock().unwrap().take();
            if let Some(hook) = hook {
                hook();
            }
        }
        self.clock.now()
    }

    fn park_until(&self, time: u64) {
        self.clock.park_until(time);
    }
}

#[test]
fn job_scheduled_just_before_the_clock_jumps_runs_in_order_with_those_filed_long_ago() {
    let (clock, log) = (ManualClock::new(), Log::default());
    let hook = Hook::default();
    let hooked = Hooked { clock: clock.clone(), hook: Arc::clone(&hook), test: thread::current().id() };
    let timer = Timer::builder().clock(hooked).start().unwrap();
    let origin = clock.origin();
    timer.schedule_at(origin + 5 * SECOND, log.job(5)).unwrap();
    timer.settle().unwrap();
    let (inner, job) = (timer.clone(), log.job(3));
    *hook.lock().unwrap() = Some(Box::new(move || {
        inner.schedule_at(origin + 3 * SECOND, job).unwrap();
        clock.advance(10 * SECOND);
    }));
    timer.settle().unwrap();
    assert_eq!(log.read(), [3, 5]);
}
