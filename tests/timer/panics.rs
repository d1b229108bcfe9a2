//! A job that panics harms nobody. Nor do callers at their worst: keys that panic, closures that panic when they are dropped,
//! timers that end with their thread.

use std::any::Any;
use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use timer_wheel::timer::Missed;
use timer_wheel::{Job, KeyedTimer};

use crate::fuse::{Bomb, Fuse};
use crate::log::{Bench, MS, SECOND};

/// Panics without a message on the terminal.
fn panic_quietly(payload: impl Any + Send) -> ! {
    panic::resume_unwind(Box::new(payload))
}

#[test]
fn panic_is_counted_and_reported_and_the_others_run() {
    let (sender, reports) = mpsc::channel();
    let hook = move |payload: &(dyn Any + Send)| {
        sender.send(payload.downcast_ref::<u32>().copied()).unwrap();
    };
    let bench = Bench::with(|builder| builder.on_panic(hook));
    bench.schedule(MS, 1);
    bench.timer.schedule_after(MS, || panic_quietly(42_u32)).unwrap();
    bench.schedule(MS, 2);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1, 2]);
    assert_eq!(reports.try_iter().collect::<Vec<_>>(), [Some(42)]);
    let stats = bench.timer.stats();
    assert_eq!((stats.panicked, stats.fired, stats.len), (1, 3, 0));
}

#[test]
fn panicking_periodic_job_keeps_its_period_and_its_state() {
    let bench = Bench::new();
    let log = bench.log.clone();
    let mut runs = 0;
    let job = move || {
        runs += 1;
        log.write(runs);
        panic_quietly(());
    };
    bench.timer.every(SECOND, Missed::Skip, job).unwrap();
    (0..3).for_each(|_| bench.advance(SECOND));
    assert_eq!(bench.log.read(), [1, 2, 3]);
    assert_eq!(bench.timer.stats().panicked, 3);
}

#[test]
fn hook_that_panics_and_payload_that_panics_when_dropped_are_survived() {
    for bench in [Bench::with(|builder| builder.on_panic(|_| panic_quietly(()))), Bench::new()] {
        bench.timer.schedule_after(MS, || panic_quietly(Bomb(Fuse::new(0..1)))).unwrap();
        bench.schedule(2 * MS, 1);
        bench.advance(SECOND);
        assert_eq!(bench.log.read(), [1]);
    }
}

/// A closure that panics when `cancel` drops it panics in the caller.
#[test]
fn closure_that_panics_when_dropped_by_cancel_leaves_the_timer_in_order() {
    let bench = Bench::new();
    let bomb = Bomb(Fuse::new(0..1));
    let handle = bench.timer.schedule_after(MS, move || drop(bomb)).unwrap();
    panic::catch_unwind(AssertUnwindSafe(|| handle.cancel())).unwrap_err();
    assert_eq!(bench.timer.len(), 0);
    bench.schedule(MS, 1);
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1]);
}

#[test]
fn executor_that_panics_loses_its_job_and_no_other() {
    let fails = AtomicBool::new(true);
    let executor = move |job: Job| match fails.swap(false, Ordering::Relaxed) {
        true => panic_quietly(()),
        false => job.run(),
    };
    let bench = Bench::with(|builder| builder.executor(executor));
    bench.schedule(MS, 1);
    bench.schedule(2 * MS, 2);
    bench.advance(SECOND);
    assert_eq!(bench.log.read(), [2]);
    let stats = bench.timer.stats();
    assert_eq!((stats.panicked, stats.abandoned, stats.len), (1, 1, 0));
}

/// A key whose every method may panic.
struct Key(u64, Fuse);

impl Clone for Key {
    fn clone(&self) -> Self {
        self.1.ask();
        Self(self.0, self.1.clone())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.1.ask();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.ask();
        self.0.hash(state);
    }
}

/// Once, or each time from then on: a panic while another one unwinds would end the process.
#[test]
fn key_that_panics_anywhere_harms_neither_other_keys_nor_the_timer() {
    for times in [1, u32::MAX] {
        for spared in 0.. {
            let bench = Bench::new();
            let (keyed, fuse) = (KeyedTimer::new(bench.timer.clone()), Fuse::default());
            let key = |name| Key(name, fuse.clone());
            let set = |name, number| keyed.set_after(key(name), SECOND, bench.log.job(number));
            let other = if times == 1 { fuse.clone() } else { Fuse::default() };
            keyed.set_after(Key(9, other), SECOND, bench.log.job(9)).unwrap();
            set(1, 0).unwrap();
            fuse.set(spared..spared.saturating_add(times));
            let attempt = |f: &dyn Fn()| _ = catch_unwind(AssertUnwindSafe(f));
            attempt(&|| _ = set(1, 1));
            attempt(&|| _ = set(2, 2));
            attempt(&|| _ = set(1, 3));
            attempt(&|| _ = keyed.reschedule_or_set_after(key(1), SECOND, bench.log.job(4)));
            attempt(&|| _ = keyed.reschedule_after(&key(2), SECOND));
            attempt(&|| _ = keyed.contains(&key(2)));
            attempt(&|| _ = keyed.remove(&key(2)));
            bench.advance(SECOND);
            let is_burnt = fuse.asked() > spared;
            fuse.set(0..0);

            let mut ran = bench.log.read();
            assert!(ran.contains(&9), "another key's job ran, {spared} calls in");
            ran.sort_unstable();
            ran.dedup();
            assert_eq!(ran.len(), bench.log.len(), "and none ran twice, {spared} calls in");
            assert_eq!((keyed.clear(), keyed.len(), bench.timer.len()), (0, 0, 0), "{spared} calls in");
            set(1, 5).unwrap();
            assert!(keyed.contains(&key(1)));
            bench.advance(SECOND);
            let stats = bench.timer.stats();
            assert_eq!(bench.log.read().last(), Some(&5));
            assert_eq!(stats.scheduled, stats.fired + stats.cancelled + stats.abandoned, "{stats:?}");
            if !is_burnt {
                assert!(spared > 20, "{spared} calls");
                break;
            }
        }
    }
}

/// The last call of a key is that of the refused job, which looks whether the key is to be given up.
#[test]
fn job_that_is_refused_comes_back_although_its_key_panics() {
    let bench = Bench::with(|builder| builder.shards(1).limit(1));
    let keyed = KeyedTimer::new(bench.timer.clone());
    keyed.set_after(Key(9, Fuse::default()), SECOND, || ()).unwrap();
    let set = |spared| {
        let fuse = Fuse::new(spared..u32::MAX);
        let refused =
            catch_unwind(AssertUnwindSafe(|| keyed.set_after(Key(1, fuse.clone()), SECOND, bench.log.job(1))));
        let is_back = refused.is_ok_and(|refused| refused.map_err(|mut refused| (refused.job)()).is_err());
        (is_back, fuse.asked())
    };
    let (is_back, calls) = set(1_000);
    assert!(is_back && calls > 2);
    assert_eq!((set(calls - 1), bench.log.len()), ((true, calls), 2));
}

#[test]
fn closure_that_panics_when_the_last_timer_is_dropped_keeps_no_other_from_being_dropped() {
    let bench = Bench::new();
    let alive = Arc::new(());
    let fuse = Fuse::new(1..2);
    for _ in 0..4 {
        let waits = (Arc::clone(&alive), Bomb(fuse.clone()));
        bench.timer.schedule_after(SECOND, move || drop(waits)).unwrap();
    }
    drop(bench);
    assert_eq!((fuse.asked(), Arc::strong_count(&alive)), (4, 1));
}

#[test]
#[cfg_attr(windows, ignore = "no thread can end there while another drops its thread-local variables")]
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
