//! One order of deadlines, whichever threads and shards the jobs come from, and one account.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use timer_wheel::timer::Reason;
use timer_wheel::{Job, KeyedTimer, ManualClock, Shutdown, Timer};

use crate::log::{Asked, Bench, HOUR, Hooked, Log, MS, SECOND};

/// Calls `f` on so many threads, one after the other: threads that follow each other have different shards.
pub(crate) fn on_threads<R: Send>(threads: u64, f: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let f = &f;
    let call = |number| thread::scope(|scope| scope.spawn(move || f(number)).join().unwrap());
    (0..threads).map(call).collect()
}

fn sharded(shards: usize) -> Bench {
    Bench::with(|builder| builder.shards(shards))
}

#[test]
fn jobs_of_all_shards_start_in_order_of_their_deadlines() {
    for (shards, budget) in [(1, 1_024), (2, 1), (3, 7), (8, 1), (8, 1_024)] {
        let bench = Bench::with(|builder| builder.shards(shards).budget(budget));
        on_threads(8, |thread| {
            for number in 0..100 {
                let delay = (number * 7_919 + thread * 104_729) % 800;
                bench.schedule(Duration::from_micros(delay) + SECOND, delay);
            }
        });
        bench.advance(HOUR);
        let ran = bench.log.read();
        assert_eq!(ran.len(), 800);
        assert!(ran.is_sorted(), "{shards} shards, budget {budget}");
        assert!(bench.timer.is_empty());
    }
}

#[test]
fn call_in_another_shard_wakes_the_thread_only_if_it_is_sooner() {
    let bench = sharded(4);
    bench.timer.schedule_after(SECOND, || ()).unwrap();
    bench.settle();
    assert!(bench.expiration_delay() <= SECOND);
    let before = bench.timer.stats().wake_ups;
    let later = on_threads(8, |thread| bench.schedule(HOUR * (thread as u32 + 1), thread));
    assert!(bench.timer.expiration_delay() <= Some(SECOND), "it sleeps on");
    assert_eq!(bench.timer.stats().wake_ups, before);
    assert!(later[7].reschedule_after(MS), "sooner");
    bench.advance(MS);
    assert!(!later[7].is_live());
}

#[test]
fn shutdown_runs_what_is_due_returns_the_rest_in_order_and_refuses_in_each_shard() {
    for (shards, budget) in [(1, 2), (4, 2), (4, 1_024)] {
        let bench = Bench::with(|builder| builder.shards(shards).budget(budget));
        on_threads(8, |thread| {
            for number in 0..50 {
                let order = number * 8 + (thread * 5) % 8;
                bench.schedule(order as u32 * SECOND, order);
                assert!(bench.schedule((order as u32 + 1) * SECOND, order).cancel());
            }
        });
        // The thread need not have noticed that the time has come.
        bench.clock.advance(99 * SECOND);
        let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!((bench.log.len(), unrun.len(), bench.timer.len()), (100, 300, 300));
        unrun.into_iter().for_each(Job::run);
        assert_eq!(bench.log.read(), (0..400).collect::<Vec<_>>());
        let refused = |_| bench.timer.schedule_after(MS, || ()).unwrap_err().reason;
        assert_eq!(on_threads(8, refused), [Reason::ShutDown; 8]);
    }
}

#[test]
fn keys_set_by_one_thread_are_found_by_all() {
    let bench = sharded(8);
    let keyed = KeyedTimer::new(bench.timer.clone());
    for key in 0..100 {
        keyed.set_after(key, SECOND, bench.log.job(key)).unwrap();
    }
    let removed = on_threads(100, |key| {
        let is_there = keyed.contains(&key);
        let is_replaced = keyed.set_after(key, HOUR, || ()).unwrap();
        is_there && is_replaced && (key < 50 || keyed.remove(&key))
    });
    assert!(removed.into_iter().all(|is_right| is_right));
    assert_eq!((keyed.len(), bench.timer.len()), (50, 50));
    assert!((0..100).all(|key| keyed.contains(&key) == (key < 50)));
    let unrun = keyed.shutdown(Shutdown::Drain).unwrap();
    assert_eq!((unrun.len(), bench.log.len()), (50, 0));
    assert!(bench.timer.schedule_after(MS, || ()).is_err());
    drop(unrun);
    assert!(keyed.is_empty() && keyed.shutdown(Shutdown::Discard).unwrap().is_empty());
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
