//! The protocol between callers and timer thread, in every interleaving that `loom` finds.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --lib timer::model`
//!
//! A wake-up that is lost leaves everybody asleep, which `loom` reports as a deadlock; so each
//! model ends by waiting for something. The reference counts are those of `std`, as a closure
//! of unknown type cannot be put into an `Arc` of `loom`'s.

mod claims;
mod shutdown;
mod waking;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering};
use std::time::Duration;

use loom::sync::{Condvar, Mutex};

use super::Timer;
use crate::clock::ManualClock;

const SECOND: Duration = Duration::from_secs(1);

/// Threads are preempted at most so often in an interleaving.
const PREEMPTIONS: usize = 4;

/// Explores every interleaving.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    let explored = Count::default();
    let count = explored.clone();
    builder.check(move || {
        count.bump();
        f();
    });
    let explored = explored.get();
    std::println!("{explored} interleavings");
    assert!(explored > 20, "only {explored} interleavings");
}

/// How often something has happened; counting decides nothing, so `loom` need not know.
#[derive(Clone, Default)]
struct Count(Arc<StdAtomicUsize>);

impl Count {
    fn bump(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn job(&self) -> impl FnOnce() + Send + 'static {
        let count = self.clone();
        move || count.bump()
    }
}

/// Something to wait for.
#[derive(Clone)]
struct Bell(Arc<(Mutex<usize>, Condvar)>);

impl Bell {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(0), Condvar::new())))
    }

    fn ring(&self) {
        *self.0.0.lock().unwrap() += 1;
        self.0.1.notify_all();
    }

    fn wait(&self, times: usize) {
        let mut rung = self.0.0.lock().unwrap();
        while *rung < times {
            rung = self.0.1.wait(rung).unwrap();
        }
    }

    fn job(&self) -> impl FnOnce() + Send + 'static {
        let bell = self.clone();
        move || bell.ring()
    }
}

fn timer() -> (Timer, ManualClock) {
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).start().unwrap();
    (timer, clock)
}
