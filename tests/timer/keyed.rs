//! Jobs with keys: at most one live job a key.

use std::thread;

use timer_wheel::timer::Reason;
use timer_wheel::{Clock, KeyedTimer, Shutdown};

use crate::log::{Bench, MS, SECOND};

fn keyed(bench: &Bench) -> KeyedTimer<String> {
    KeyedTimer::new(bench.timer.clone())
}

#[test]
fn key_is_free_while_its_job_runs() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let (inner, log) = (keyed.clone(), bench.log.clone());
    let job = move || {
        let again = log.job(2);
        log.write(u64::from(inner.contains("a")));
        let is_replaced = inner.set_after("a".into(), SECOND, again).unwrap();
        log.write(u64::from(is_replaced));
    };
    keyed.set_after("a".into(), SECOND, job).unwrap();
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [0, 0]);
    assert!(keyed.contains("a"), "the job that has run does not take its successor away");
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [0, 0, 2]);
}

#[test]
fn keys_are_given_up_with_the_jobs_of_a_shutdown() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    keyed.set_after("a".into(), SECOND, bench.log.job(1)).unwrap();
    keyed.set_after("b".into(), 2 * SECOND, bench.log.job(2)).unwrap();
    let mut unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    keyed.set_after("a".into(), SECOND, bench.log.job(3)).unwrap_err();
    assert!(keyed.contains("a"), "what is refused leaves the job of the key");
    unrun.remove(0).run();
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 1));
    drop(unrun);
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 0));
}

#[test]
fn dropping_the_keyed_timer_cancels_nothing() {
    let bench = Bench::new();
    keyed(&bench).set_after("a".into(), SECOND, bench.log.job(1)).unwrap();
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn job_of_a_key_is_renewed_or_set_in_one_call() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let beat = |number| keyed.reschedule_or_set_after("a".into(), 2 * SECOND, bench.log.job(number)).unwrap();
    assert!(!beat(1));
    for _ in 0..5 {
        bench.advance(SECOND);
        assert!(beat(2));
    }
    assert_eq!((bench.timer.stats().scheduled, bench.timer.stats().rescheduled), (1, 5), "nothing is set anew");
    bench.advance(2 * SECOND);
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 0), "the first job is the one that was kept");
    assert!(!beat(3), "it has run");
    let at = bench.clock.origin() + 20 * SECOND;
    assert!(keyed.reschedule_or_set_at("a".into(), at, bench.log.job(4)).unwrap());
    assert!(!keyed.reschedule_or_set_at("b".into(), at, bench.log.job(5)).unwrap());
    assert_eq!((keyed.deadline("a"), keyed.deadline("b")), (Some(at), Some(at)));
    bench.advance(20 * SECOND);
    let mut ran = bench.log.read();
    ran.sort_unstable();
    assert_eq!(ran, [1, 3, 5]);
}

#[test]
fn job_that_is_renewed_after_it_was_handed_out_is_replaced() {
    let (bench, jobs) = Bench::with_pool();
    let keyed = keyed(&bench);
    let beat = |number| keyed.reschedule_or_set_after("a".into(), SECOND, bench.log.job(number)).unwrap();
    assert!(!beat(1));
    bench.advance(SECOND);
    let handed_out = jobs.recv().unwrap();
    assert!(beat(2), "it is live");
    handed_out.run();
    assert_eq!((bench.log.len(), keyed.len()), (0, 1));
    bench.advance(SECOND);
    jobs.recv().unwrap().run();
    assert_eq!((bench.log.read(), keyed.len()), (vec![2], 0));
}

#[test]
fn renewal_that_is_refused_hands_the_job_back_and_keeps_that_of_the_key() {
    let bench = Bench::with(|builder| builder.limit(1));
    let keyed = keyed(&bench);
    let beat = |key: &str, number| keyed.reschedule_or_set_after(key.into(), SECOND, bench.log.job(number));
    assert_eq!(beat("a", 1).ok(), Some(false));
    assert_eq!(beat("a", 2).ok(), Some(true), "without room");
    let mut refused = beat("b", 3).unwrap_err();
    (refused.job)();
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    (beat("a", 4).unwrap_err().job)();
    assert_eq!((refused.reason, bench.log.read()), (Reason::Full, vec![3, 4]));
}

/// Two threads set the same few keys while the clock moves: each job that was not replaced runs.
#[test]
fn keys_set_by_two_threads_while_they_fire_keep_one_live_job_each() {
    let bench = Bench::new();
    let keyed = KeyedTimer::new(bench.timer.clone());
    let setters: Vec<_> = (0..2_u32)
        .map(|setter| {
            let (keyed, log) = (keyed.clone(), bench.log.clone());
            thread::spawn(move || {
                let mut replaced = 0;
                for n in 0..5_000 {
                    let delay = (n * 7 + setter) % 3 * MS;
                    replaced += u64::from(keyed.set_after(n % 5, delay, log.job(1)).unwrap());
                    assert!(keyed.len() <= 5);
                }
                replaced
            })
        })
        .collect();
    let clock = bench.clock.clone();
    for _ in 0..200 {
        clock.advance(MS);
        thread::yield_now();
    }
    let replaced: u64 = setters.into_iter().map(|setter| setter.join().unwrap()).sum();
    bench.advance(SECOND);
    assert_eq!(bench.log.len() as u64 + replaced, 10_000);
    assert!(keyed.is_empty() && bench.timer.is_empty());
}
