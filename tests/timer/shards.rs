//! Threads with different shards: one order of deadlines, one thread, one account.

use std::thread;
use std::time::Duration;

use timer_wheel::timer::{Missed, Reason};
use timer_wheel::{Job, KeyedTimer, Shutdown, Timer, TimerHandle};

use crate::log::{Bench, HOUR, MS, SECOND};

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
fn one_shard_keeps_the_order_of_calls_on_all_threads() {
    let bench = sharded(1);
    on_threads(100, |number| {
        bench.schedule(SECOND, number);
    });
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), (0..100).collect::<Vec<_>>());
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

/// A limited timer, and how many of so many calls are admitted.
fn admitted(timer: &Timer, calls: usize) -> Vec<TimerHandle> {
    let call = |_| timer.schedule_after(HOUR, || ()).ok();
    (0..calls).filter_map(call).collect()
}

#[test]
fn limit_is_for_all_shards_together_whichever_thread_fills_them() {
    for (shards, limit) in [(1, 0), (1, 5), (4, 0), (4, 1), (4, 3), (8, 1_000)] {
        let bench = Bench::with(|builder| builder.shards(shards).limit(limit));
        let handles = admitted(&bench.timer, 2 * limit + 1);
        assert_eq!(handles.len(), limit, "one thread, {shards} shards");
        let others = on_threads(8, |_| admitted(&bench.timer, 1).len());
        assert_eq!(others, [0; 8]);
        assert!(handles.iter().all(TimerHandle::cancel));
        let per_thread = on_threads(9, |_| admitted(&bench.timer, limit / 8).len());
        assert_eq!(per_thread.iter().sum::<usize>(), limit / 8 * 8);
        assert_eq!(bench.timer.len(), limit / 8 * 8);
    }
}

#[test]
fn limit_holds_for_threads_that_fill_the_timer_at_once() {
    const LIMIT: usize = 1_000;
    let bench = Bench::with(|builder| builder.shards(4).limit(LIMIT));
    let admitted: usize = thread::scope(|scope| {
        let call = || admitted(&bench.timer, LIMIT).len();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!((admitted, bench.timer.len()), (LIMIT, LIMIT));
}

#[test]
fn job_over_the_limit_is_handed_back_and_admitted_once_another_has_left() {
    let bench = Bench::with(|builder| builder.limit(2));
    let beat = bench.timer.every(HOUR, Missed::Skip, || ()).unwrap();
    bench.timer.schedule_after(SECOND, || ()).unwrap();
    let refused = bench.timer.schedule_after(SECOND, bench.log.job(1)).unwrap_err();
    assert_eq!(refused.reason, Reason::Full);
    assert_eq!(refused.to_string(), "the timer holds as many jobs as its limit allows");
    assert_eq!(bench.timer.stats().scheduled, 2);
    bench.advance(SECOND);
    let job = refused.job;
    bench.timer.schedule_after(SECOND, job).unwrap();
    assert!(bench.timer.every(SECOND, Missed::Skip, || ()).is_err());
    assert!(beat.cancel());
    assert!(bench.timer.every(SECOND, Missed::Skip, || ()).is_ok());
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn key_at_the_limit_replaces_its_own_job_and_no_other_key_is_admitted() {
    for shards in [1, 4] {
        let bench = Bench::with(|builder| builder.shards(shards).limit(2));
        let keyed = KeyedTimer::new(bench.timer.clone());
        for key in 0..2 {
            assert!(!keyed.set_after(key, SECOND, bench.log.job(key)).unwrap());
        }
        for round in 0..10 {
            assert!(keyed.set_after(1, 2 * SECOND, bench.log.job(10 + round)).unwrap(), "replaced");
            let refused = keyed.set_after(2, MS, bench.log.job(9)).unwrap_err();
            assert_eq!((refused.reason, keyed.len(), bench.timer.len()), (Reason::Full, 2, 2));
        }
        bench.advance(SECOND);
        assert!(!keyed.set_after(2, SECOND, bench.log.job(2)).unwrap(), "there is room");
        assert_eq!(keyed.set_after(0, MS, || ()).unwrap_err().reason, Reason::Full, "its job has run");
        assert!(keyed.reschedule_after(&1, SECOND));
        bench.advance(SECOND);
        let mut ran = bench.log.read();
        ran.sort_unstable();
        assert_eq!((ran, keyed.len()), (vec![0, 2, 19], 0));
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
