//! Jobs with keys: at most one live job a key.

use timer_wheel::timer::Reason;
use timer_wheel::{KeyedTimer, Shutdown};

use crate::log::{Bench, SECOND};

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
