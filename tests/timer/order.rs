//! Jobs start in exact order of their deadlines, and first in first out among equals.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use timer_wheel::{ManualClock, Timer};

use crate::bytes::{Decoder, Draw};
use crate::drawn::{Drawn, check};
use crate::log::{Asked, Bench, Hooked, Log, SECOND};

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

#[derive(Debug)]
enum Call {
    Schedule(Duration),
    /// Reschedules a job, or cancels it.
    Change(u8, Option<Duration>),
    Pass(Duration),
}

impl Draw for Call {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        let (choice, nth) = (decoder.below(6), decoder.byte());
        // Some of them alike, and others of any order of magnitude.
        let delay = Duration::from_nanos(match decoder.below(2) {
            0 => u64::from(decoder.below(4)) << 30,
            _ => (decoder.word() % (1 << 16)) << decoder.below(24),
        });
        script.push(match choice {
            0..3 => Self::Schedule(delay),
            3 => Self::Change(nth, Some(delay)),
            4 => Self::Change(nth, None),
            _ => Self::Pass(delay),
        });
    }
}

/// Against the obvious: a sorted list of deadlines.
#[test]
fn jobs_run_in_order_of_deadline_then_of_calls() {
    fn agree(script: Drawn<Call>) {
        let bench = Bench::with(|builder| builder.budget(3));
        // When a job is due, and its number.
        let (mut model, mut handles) = (Vec::new(), Vec::new());
        let (mut expected, mut now) = (Vec::new(), Duration::ZERO);
        for call in script.script() {
            match call {
                Call::Schedule(after) => {
                    model.push((now + after, handles.len()));
                    handles.push(bench.schedule(after, handles.len() as u64));
                }
                Call::Change(nth, after) => {
                    let Some(nth) = usize::from(nth).checked_rem(handles.len()) else { continue };
                    let place = model.iter().position(|&(_, other)| other == nth);
                    place.map(|place| model.remove(place));
                    model.extend(place.and(after).map(|after| (now + after, nth)));
                    let is_live = match after {
                        Some(after) => handles[nth].reschedule_after(after),
                        None => handles[nth].cancel(),
                    };
                    assert_eq!(is_live, place.is_some());
                }
                Call::Pass(time) => {
                    now += time;
                    bench.clock.advance(time);
                }
            }
            // What is due has run before the next call, so that the two agree.
            bench.settle();
            // Stable, so that equals stay in the order of the calls.
            model.sort_by_key(|(deadline, _)| *deadline);
            let due = model.partition_point(|(deadline, _)| *deadline <= now);
            expected.extend(model.drain(..due).map(|(_, nth)| nth as u64));
            assert_eq!((bench.log.len(), bench.timer.len()), (expected.len(), model.len()));
        }
        assert_eq!(bench.log.read(), expected);
    }
    check(150, 120, agree);
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
