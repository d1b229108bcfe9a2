//! Callers at their worst: keys that panic, closures that panic when they are dropped, timers that end with their
//! thread.

use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use timer_wheel::KeyedTimer;

use crate::log::{Bench, MS, SECOND};

/// Panics once, when it has been asked so many times; never at 0. One that is broken panics from then on each time.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicU32>, bool);

impl Fuse {
    fn burn(&self) {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if left == Ok(1) || (left.is_err() && self.1) {
            resume_unwind(Box::new("as told"));
        }
    }
}

/// A key whose every method may panic.
struct Key(u64, Fuse);

impl Clone for Key {
    fn clone(&self) -> Self {
        self.1.burn();
        Self(self.0, self.1.clone())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.1.burn();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.burn();
        self.0.hash(state);
    }
}

#[test]
fn key_that_panics_anywhere_harms_neither_other_keys_nor_the_timer() {
    for spared in 1.. {
        let bench = Bench::new();
        let keyed = KeyedTimer::new(bench.timer.clone());
        let fuse = Fuse::default();
        let key = |name| Key(name, fuse.clone());
        let set = |name, number| keyed.set_after(key(name), SECOND, bench.log.job(number));
        set(9, 9).unwrap();
        fuse.0.store(spared, Ordering::SeqCst);
        let attempt = |f: &dyn Fn()| _ = catch_unwind(AssertUnwindSafe(f));
        attempt(&|| _ = set(1, 1));
        attempt(&|| _ = set(2, 2));
        attempt(&|| _ = set(1, 3));
        attempt(&|| _ = keyed.reschedule_after(&key(2), SECOND));
        attempt(&|| _ = keyed.contains(&key(2)));
        attempt(&|| _ = keyed.remove(&key(2)));
        bench.advance(SECOND);
        let is_spent = fuse.0.swap(0, Ordering::SeqCst) == 0;

        let mut ran = bench.log.read();
        assert!(ran.contains(&9), "another key's job ran, {spared} calls in");
        ran.sort_unstable();
        ran.dedup();
        assert_eq!(ran.len(), bench.log.len(), "and none ran twice, {spared} calls in");
        assert_eq!((keyed.clear(), keyed.len(), bench.timer.len()), (0, 0, 0), "{spared} calls in");
        set(1, 4).unwrap();
        assert!(keyed.contains(&key(1)));
        bench.advance(SECOND);
        let stats = bench.timer.stats();
        assert_eq!(bench.log.read().last(), Some(&4));
        assert_eq!(stats.scheduled, stats.fired + stats.cancelled + stats.abandoned, "{stats:?}");
        if !is_spent {
            assert!(spared > 20, "{spared} calls");
            return;
        }
    }
}

/// A panic of a key while another one unwinds would end the process.
#[test]
fn key_that_keeps_panicking_harms_neither_other_keys_nor_the_timer() {
    for spared in 1..40 {
        let bench = Bench::new();
        let keyed = KeyedTimer::new(bench.timer.clone());
        let fuse = |count| Fuse(Arc::new(AtomicU32::new(count)), true);
        let (broken, sound) = (fuse(u32::MAX), fuse(u32::MAX));
        let set = |name, fuse: &Fuse, number| {
            catch_unwind(AssertUnwindSafe(|| keyed.set_after(Key(name, fuse.clone()), SECOND, bench.log.job(number))))
        };
        set(9, &sound, 9).unwrap().unwrap();
        set(1, &broken, 1).unwrap().unwrap();
        broken.0.store(spared, Ordering::SeqCst);
        let attempts = [set(1, &broken, 2), set(2, &broken, 3), set(1, &broken, 4)].map(|attempt| attempt.is_ok());
        let renewed = catch_unwind(AssertUnwindSafe(|| {
            keyed.reschedule_or_set_after(Key(1, broken.clone()), SECOND, bench.log.job(5))
        }));
        bench.advance(SECOND);
        let mut ran = bench.log.read();
        ran.sort_unstable();
        assert!(ran.contains(&9), "another key's job ran, {spared} calls in");
        ran.dedup();
        assert_eq!(ran.len(), bench.log.len(), "and none ran twice, {spared} calls in");
        assert!(spared < 30 || (renewed.is_ok() && attempts == [true; 3]), "{spared} calls");
        assert_eq!(bench.timer.len(), 0);
        let stats = bench.timer.stats();
        assert_eq!(stats.scheduled, stats.fired + stats.cancelled + stats.abandoned, "{stats:?}");
    }
}

/// The last call of a key is that of the refused job, which looks whether the key is to be given up.
#[test]
fn job_that_is_refused_comes_back_although_its_key_panics() {
    let bench = Bench::with(|builder| builder.shards(1).limit(1));
    let keyed = KeyedTimer::new(bench.timer.clone());
    keyed.set_after(Key(9, Fuse::default()), SECOND, || ()).unwrap();
    let set = |calls| {
        let fuse = Fuse(Arc::new(AtomicU32::new(calls)), true);
        let refused =
            catch_unwind(AssertUnwindSafe(|| keyed.set_after(Key(1, fuse.clone()), SECOND, bench.log.job(1))));
        let is_back = refused.is_ok_and(|refused| refused.map_err(|mut refused| (refused.job)()).is_err());
        (is_back, calls - fuse.0.load(Ordering::SeqCst))
    };
    let (is_back, calls) = set(1_000);
    assert!(is_back && calls > 2);
    assert_eq!((set(calls), bench.log.len()), ((true, calls), 2));
}

struct Bomb(Fuse);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.burn();
    }
}

#[test]
fn closure_that_panics_when_the_last_timer_is_dropped_keeps_no_other_from_being_dropped() {
    let bench = Bench::new();
    let alive = Arc::new(());
    let fuse = Fuse(Arc::new(AtomicU32::new(2)), false);
    for _ in 0..4 {
        let waits = (Arc::clone(&alive), Bomb(fuse.clone()));
        bench.timer.schedule_after(SECOND, move || drop(waits)).unwrap();
    }
    drop(bench);
    assert_eq!((fuse.0.load(Ordering::SeqCst), Arc::strong_count(&alive)), (0, 1));
}

#[test]
fn timer_that_ends_with_its_thread_discards_what_waits() {
    thread_local! {
        static OWN: OnceCell<Bench> = const { OnceCell::new() };
    }
    let alive = Arc::new(());
    let waits = Arc::clone(&alive);
    let log = thread::spawn(|| {
        OWN.with(|own| {
            let bench = own.get_or_init(Bench::new);
            bench.schedule(MS, 1);
            bench.timer.schedule_after(SECOND, move || drop(waits)).unwrap();
            // Looks at a thread-local variable of the library, which is made after this one and goes before it.
            bench.advance(MS);
            bench.log.clone()
        })
    });
    assert_eq!((log.join().unwrap().read(), Arc::strong_count(&alive)), (vec![1], 1));
}
