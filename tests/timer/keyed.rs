//! Jobs with keys: at most one live job a key.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::thread;

use timer_wheel::timer::Reason;
use timer_wheel::{Clock, Job, KeyedTimer, Shutdown};

use crate::log::{Bench, HOUR, MS, SECOND};

fn keyed(bench: &Bench) -> KeyedTimer<String> {
    KeyedTimer::new(bench.timer.clone())
}

#[test]
fn set_replaces_the_job_of_the_key_and_of_no_other() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    assert!(!keyed.set_after("a".into(), SECOND, bench.log.job(1)).unwrap());
    assert!(!keyed.set_after("b".into(), SECOND, bench.log.job(2)).unwrap());
    assert!(keyed.set_after("a".into(), 2 * SECOND, bench.log.job(3)).unwrap());
    assert_eq!((keyed.len(), bench.timer.len()), (2, 2));
    bench.advance(HOUR);
    assert_eq!(bench.log.read(), [2, 3]);
    assert!(keyed.is_empty() && bench.timer.is_empty());
}

#[test]
fn remove_prevents_the_run_and_contains_tells() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let at = bench.clock.origin() + SECOND;
    keyed.set_at("a".into(), at, bench.log.job(1)).unwrap();
    assert!(keyed.contains("a") && !keyed.contains("b") && !keyed.is_empty());
    assert!(!keyed.remove("b"));
    assert!(keyed.remove("a"));
    assert!(!keyed.remove("a") && !keyed.contains("a") && keyed.is_empty());
    bench.advance(HOUR);
    assert_eq!(bench.log.len(), 0);
}

#[test]
fn refreshed_job_runs_at_the_new_time() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    keyed.set_after("a".into(), 10 * SECOND, bench.log.job(1)).unwrap();
    for _ in 0..10 {
        bench.advance(9 * SECOND);
        assert!(keyed.reschedule_after("a", 10 * SECOND));
    }
    assert_eq!(bench.log.len(), 0);
    let soon = bench.clock.origin() + 91 * SECOND;
    assert!(keyed.reschedule_at("a", soon));
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [1]);
    assert!(!keyed.reschedule_after("a", SECOND));
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
fn closure_that_uses_the_keys_when_it_is_dropped_does_not_hang() {
    struct Nosy(KeyedTimer<String>, crate::log::Log);
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.1.write(self.0.len() as u64);
        }
    }
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let nosy = |keyed: &KeyedTimer<String>| {
        let nosy = Nosy(keyed.clone(), bench.log.clone());
        move || drop(nosy)
    };
    keyed.set_after("a".into(), SECOND, nosy(&keyed)).unwrap();
    keyed.set_after("a".into(), SECOND, nosy(&keyed)).unwrap();
    assert_eq!(bench.log.read(), [1]);
    keyed.remove("a");
    assert_eq!(bench.log.read(), [1, 0]);
    bench.timer.shutdown(Shutdown::Discard).unwrap();
    let refused = keyed.set_after("a".into(), SECOND, nosy(&keyed)).unwrap_err();
    assert_eq!((refused.reason(), bench.log.len()), (Reason::ShutDown, 2));
    drop(refused.into_job());
    assert_eq!(bench.log.read(), [1, 0, 0]);
}

#[test]
fn keys_are_given_up_with_the_jobs_of_a_shutdown() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    keyed.set_after("a".into(), SECOND, bench.log.job(1)).unwrap();
    keyed.set_after("b".into(), 2 * SECOND, bench.log.job(2)).unwrap();
    let mut unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    unrun.remove(0).run();
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 1));
    drop(unrun);
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 0));
}

#[test]
fn set_that_is_refused_leaves_the_job_of_the_key() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let job = |number| bench.log.job(number);
    keyed.set_after("a".into(), SECOND, job(1)).unwrap();
    let unrun = bench.timer.shutdown(Shutdown::Drain).unwrap();
    keyed.set_after("a".into(), SECOND, job(2)).unwrap_err();
    assert!(keyed.contains("a"));
    unrun.into_iter().for_each(Job::run);
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

#[test]
fn keys_and_deadlines_are_those_of_live_jobs() {
    let bench = Bench::new();
    let keyed = keyed(&bench);
    let origin = bench.clock.origin();
    for (key, delay) in [("a", 1), ("b", 2), ("c", 3)] {
        keyed.set_after(key.into(), delay * SECOND, || ()).unwrap();
    }
    assert!(keyed.reschedule_after("c", HOUR));
    keyed.remove("b");
    let mut keys = keyed.keys();
    keys.sort();
    assert_eq!(keys, ["a", "c"]);
    assert_eq!(keyed.deadline("a"), Some(origin + SECOND));
    assert_eq!((keyed.deadline("b"), keyed.deadline("c")), (None, Some(origin + HOUR)));
    bench.advance(SECOND);
    assert_eq!((keyed.keys(), keyed.deadline("a")), (vec!["c".to_owned()], None));
}

#[test]
fn clear_cancels_what_waits_and_frees_every_key() {
    struct Nosy(KeyedTimer<String>, crate::log::Log);
    impl Drop for Nosy {
        fn drop(&mut self) {
            self.1.write(self.0.len() as u64);
        }
    }
    let bench = Bench::new();
    let keyed = keyed(&bench);
    for number in 0..3 {
        let nosy = Nosy(keyed.clone(), bench.log.clone());
        let job = move || drop(nosy);
        keyed.set_after(number.to_string(), SECOND, job).unwrap();
    }
    assert_eq!(keyed.clear(), 3);
    assert_eq!(bench.log.read(), [0, 0, 0], "dropped with no lock held");
    assert_eq!((keyed.clear(), keyed.len(), bench.timer.len()), (0, 0, 0));
    bench.advance(SECOND);
    assert_eq!(bench.timer.stats().fired, 0);
}

/// A key that looks at the jobs when it is dropped.
struct NosyKey {
    name: &'static str,
    keyed: OnceLock<KeyedTimer<Self>>,
}

impl NosyKey {
    fn new(name: &'static str, keyed: &KeyedTimer<Self>) -> Self {
        let keyed = OnceLock::from(keyed.clone());
        Self { name, keyed }
    }
}

impl Clone for NosyKey {
    fn clone(&self) -> Self {
        Self::new(self.name, self.keyed.get().unwrap())
    }
}

impl PartialEq for NosyKey {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NosyKey {}

impl Hash for NosyKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Drop for NosyKey {
    fn drop(&mut self) {
        self.keyed.take().unwrap().len();
    }
}

#[test]
fn key_that_uses_the_keys_when_it_is_dropped_does_not_hang() {
    let bench = Bench::new();
    let keyed = KeyedTimer::new(bench.timer.clone());
    let key = |name| NosyKey::new(name, &keyed);
    let job = |number| bench.log.job(number);
    for number in 0..2 {
        keyed.set_after(key("replaced"), SECOND, job(number)).unwrap();
    }
    keyed.set_after(key("removed"), SECOND, job(2)).unwrap();
    assert!(keyed.remove(&key("removed")));
    bench.advance(SECOND);
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 0));
    keyed.set_after(key("cleared"), SECOND, job(3)).unwrap();
    assert_eq!((keyed.keys().len(), keyed.clear()), (1, 1));
    keyed.set_after(key("last"), SECOND, job(4)).unwrap();
    drop(bench.timer.shutdown(Shutdown::Discard).unwrap());
    assert!(keyed.is_empty());
    keyed.set_after(key("refused"), SECOND, job(5)).unwrap_err();
}
