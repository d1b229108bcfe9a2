//! What is the user's may use the timer whenever it is called, as it is never called under a lock.

use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use timer_wheel::timer::{Missed, Reason};
use timer_wheel::{Clock, Job, KeyedTimer, ManualClock, Shutdown, Timer};

use crate::log::{Bench, HOUR, Hooked, Log, MS, SECOND};

/// Takes both locks of the timer that it was given.
#[derive(Clone, Default)]
struct Nosy(Arc<Mutex<Option<KeyedTimer<u32>>>>);

impl Nosy {
    fn look(&self) {
        // A copy, so that no lock of its own is held meanwhile.
        let keyed = self.0.lock().unwrap().clone();
        _ = keyed.map(|keyed| (keyed.len(), keyed.timer().len()));
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        self.look();
    }
}

#[test]
fn clock_hook_and_payload_that_use_the_timer_do_not_hang() {
    for has_executor in [false, true] {
        let (clock, nosy) = (ManualClock::new(), Nosy::default());
        let (hook, asked) = (nosy.clone(), nosy.clone());
        let nosy_clock = Hooked(clock.clone(), move |_| asked.look());
        let mut builder = Timer::builder().clock(nosy_clock).on_panic(move |_| hook.look());
        if has_executor {
            builder = builder.executor(Job::run);
        }
        let timer = builder.start().unwrap();
        let keyed = KeyedTimer::new(timer.clone());
        *nosy.0.lock().unwrap() = Some(keyed.clone());
        let handle = timer.schedule_after(SECOND, || ()).unwrap();
        let soon = clock.origin() + SECOND;
        assert!(handle.reschedule_after(2 * SECOND) && handle.reschedule_at(soon));
        assert_eq!(handle.deadline(), Some(soon));
        let beat = timer.every(SECOND, Missed::Skip, || ()).unwrap();
        let payload = nosy.clone();
        timer.schedule_at(soon, move || resume_unwind(Box::new(payload))).unwrap();
        keyed.set_after(1, MS, || ()).unwrap();
        keyed.set_at(2, soon, || ()).unwrap();
        assert!(keyed.reschedule_after(&1, SECOND) && keyed.reschedule_at(&1, soon));
        assert_eq!(keyed.deadline(&1), Some(soon));
        clock.advance(SECOND);
        timer.settle().unwrap();
        assert_eq!((timer.len(), timer.stats().panicked), (1, 1));
        assert!(timer.expiration_delay() <= Some(SECOND));
        assert!(beat.is_live());
        timer.schedule_after(Duration::MAX, || ()).unwrap();
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(unrun[0].deadline(), Some(soon + SECOND));
        unrun.into_iter().for_each(Job::run);
        // Else it would hold the timer whose clock it is, for ever.
        let given = nosy.0.lock().unwrap().take();
        drop(given);
    }
}

/// Writes how many jobs there are when it is dropped, with a key and in all, and uses the timer.
struct NosyDrop(KeyedTimer<u32>, Log);

impl Drop for NosyDrop {
    fn drop(&mut self) {
        let Self(keyed, log) = self;
        log.write((10 * keyed.len() + keyed.timer().len()) as u64);
        _ = keyed.timer().schedule_after(HOUR, || ()).map(|handle| handle.cancel());
    }
}

/// On every way out of the timer.
#[test]
fn closure_that_uses_the_timer_when_it_is_dropped_does_not_hang() {
    let is_dropping = Arc::new(AtomicBool::new(false));
    let gives_up = Arc::clone(&is_dropping);
    let executor = move |job: Job| {
        if !gives_up.load(Ordering::Relaxed) {
            job.run();
        }
    };
    let bench = Bench::with(|builder| builder.executor(executor));
    let keyed = KeyedTimer::new(bench.timer.clone());
    let nosy = || {
        let nosy = NosyDrop(keyed.clone(), bench.log.clone());
        move || _ = &nosy
    };
    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.advance(MS);
    let beat = bench.timer.every(MS, Missed::Skip, nosy()).unwrap();
    bench.advance(MS);
    assert!(beat.cancel());
    is_dropping.store(true, Ordering::Relaxed);
    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.advance(MS);
    assert_eq!(bench.log.read(), [1, 0, 0], "one-shot within its run, else gone");

    keyed.set_after(7, SECOND, nosy()).unwrap();
    keyed.set_after(7, SECOND, nosy()).unwrap();
    assert_eq!(bench.log.read().split_off(3), [11], "replaced");
    assert!(keyed.remove(&7));
    (0..3).for_each(|key| _ = keyed.set_after(key, SECOND, nosy()).unwrap());
    assert_eq!(keyed.clear(), 3);
    assert_eq!(bench.log.read().split_off(4), [0; 4], "removed, and cleared");
    assert_eq!((keyed.clear(), keyed.len(), bench.timer.len()), (0, 0, 0));

    bench.timer.schedule_after(MS, nosy()).unwrap();
    bench.timer.every(MS, Missed::Skip, nosy()).unwrap();
    drop(bench.timer.shutdown(Shutdown::Discard).unwrap());
    drop(bench.timer.schedule_after(MS, nosy()).unwrap_err());
    assert_eq!(bench.log.read().split_off(8), [1, 0, 0]);
    let refused = keyed.set_after(7, SECOND, nosy()).unwrap_err();
    assert_eq!((refused.reason, bench.log.len()), (Reason::ShutDown, 11));
    drop(refused.job);
    assert_eq!(bench.log.len(), 12);
}

/// A key that looks at the jobs when it is dropped.
#[derive(Clone)]
struct NosyKey {
    name: &'static str,
    keyed: KeyedTimer<Self>,
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
        self.keyed.len();
    }
}

#[test]
fn key_that_uses_the_keys_when_it_is_dropped_does_not_hang() {
    let bench = Bench::new();
    let keyed = KeyedTimer::new(bench.timer.clone());
    let key = |name| NosyKey { name, keyed: keyed.clone() };
    let set = |name, number| keyed.set_after(key(name), SECOND, bench.log.job(number));
    assert_eq!([set("replaced", 0).ok(), set("replaced", 1).ok()], [Some(false), Some(true)]);
    set("removed", 2).unwrap();
    assert!(keyed.remove(&key("removed")));
    bench.advance(SECOND);
    assert_eq!((bench.log.read(), keyed.len()), (vec![1], 0));
    set("cleared", 3).unwrap();
    assert_eq!((keyed.len(), keyed.clear()), (1, 1));
    set("last", 4).unwrap();
    drop(bench.timer.shutdown(Shutdown::Discard).unwrap());
    assert!(keyed.is_empty());
    set("refused", 5).unwrap_err();
}
