//! Jobs start in exact order of their deadlines, and first in first out among equals.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use timer_wheel::{ManualClock, Timer};

use crate::log::{Asked, Bench, Hooked, Log, SECOND};

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
