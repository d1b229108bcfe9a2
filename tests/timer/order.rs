//! Jobs start in exact order of their deadlines, and first in first out among equals.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use timer_wheel::{ManualClock, Timer};

use crate::log::{Asked, Bench, Hooked, Log, SECOND};
use crate::numbers::Numbers;

#[test]
fn ten_thousand_jobs_of_one_deadline_run_in_the_order_they_were_scheduled() {
    let bench = Bench::new();
    (0..10_000).for_each(|number| _ = bench.schedule(SECOND, number));
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), (0..10_000).collect::<Vec<_>>());
}

#[test]
fn jobs_of_one_thread_keep_their_order_among_those_of_others() {
    for shards in [1, 2, 8] {
        let bench = Bench::with(|builder| builder.shards(shards));
        let (bench, start) = (&bench, &Barrier::new(4));
        thread::scope(|scope| {
            for producer in 0..4 {
                scope.spawn(move || {
                    start.wait();
                    (0..5_000).for_each(|number| _ = bench.schedule(SECOND, producer * 10_000 + number));
                });
            }
        });
        bench.advance(SECOND);
        let ran = bench.log.read();
        for producer in 0..4 {
            let own = ran.iter().copied().filter(|number| number / 10_000 == producer);
            assert!(own.eq(producer * 10_000..producer * 10_000 + 5_000), "{producer} was overtaken by itself");
        }
    }
}

/// Against the obvious: a sorted list of deadlines.
#[test]
fn jobs_run_in_order_of_deadline_then_of_calls() {
    for seed in 1..=150 {
        let mut numbers = Numbers(seed);
        let bench = Bench::with(|builder| builder.budget(3));
        let (mut model, mut handles) = (Vec::new(), Vec::new());
        let (mut expected, mut now) = (Vec::new(), 0);
        for call in 0..numbers.below(120) {
            // Some of them alike, and others of any order of magnitude.
            let delay = match numbers.below(2) {
                0 => numbers.below(1 << 16) << numbers.below(24),
                _ => numbers.below(4) << 30,
            };
            let after = Duration::from_nanos(delay);
            match numbers.below(6) {
                0..=2 => {
                    handles.push(bench.schedule(after, call));
                    model.push((now + delay, call, handles.len() - 1));
                }
                choice @ 3..=4 if !handles.is_empty() => {
                    let nth = numbers.below(handles.len() as u64) as usize;
                    let place = model.iter().position(|(.., other)| *other == nth);
                    let is_live = match choice {
                        3 => handles[nth].reschedule_after(after),
                        _ => handles[nth].cancel(),
                    };
                    assert_eq!(is_live, place.is_some());
                    let moved = place.map(|place| model.remove(place)).filter(|_| choice == 3);
                    model.extend(moved.map(|(_, call, nth)| (now + delay, call, nth)));
                }
                _ => {
                    now += delay;
                    bench.clock.advance(after);
                }
            }
            // What is due has run before the next call, so that the two agree.
            bench.settle();
            // Stable, so that equals stay in the order of the calls.
            model.sort_by_key(|(deadline, ..)| *deadline);
            let due = model.partition_point(|(deadline, ..)| *deadline <= now);
            expected.extend(model.drain(..due).map(|(_, call, _)| call));
            assert_eq!((bench.log.len(), bench.timer.len()), (expected.len(), model.len()));
        }
        assert_eq!(bench.log.read(), expected);
    }
}

/// The clock lets something happen just before the timer thread reads it.
#[test]
fn job_scheduled_just_before_the_clock_jumps_runs_in_order_with_those_filed_long_ago() {
    type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;
    let (clock, hook, test) = (ManualClock::new(), Hook::default(), thread::current().id());
    let next = Arc::clone(&hook);
    let hooked = Hooked(clock.clone(), move |asked| {
        if asked == Asked::Now && thread::current().id() != test {
            let happens = next.lock().unwrap().take();
            happens.into_iter().for_each(|happens| happens());
        }
    });
    let timer = Timer::builder().clock(hooked).start().unwrap();
    let bench = Bench { timer, clock, log: Log::default() };
    bench.schedule(5 * SECOND, 5);
    bench.settle();
    let (timer, clock, job) = (bench.timer.clone(), bench.clock.clone(), bench.log.job(3));
    *hook.lock().unwrap() = Some(Box::new(move || {
        timer.schedule_after(3 * SECOND, job).unwrap();
        clock.advance(10 * SECOND);
    }));
    bench.settle();
    assert_eq!(bench.log.read(), [3, 5]);
}
