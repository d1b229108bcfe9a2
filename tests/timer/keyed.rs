//! Jobs with keys: at most one live job a key.

use std::thread;

use timer_wheel::{KeyedTimer, Shutdown};

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
