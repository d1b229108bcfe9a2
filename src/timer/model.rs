//! The protocol between callers and timer thread, in every interleaving that `loom` finds.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --lib timer::model`
//!
//! After a lost wake-up all threads sleep, which `loom` reports as a deadlock. So each model ends by waiting for
//! something. The reference counts are those of `std`, because the `Arc` of `loom` cannot hold a closure of unknown
//! type.

mod awaiting;
mod claims;
mod limit;
mod shards;
mod shutdown;
mod turns;
mod waking;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use std::vec::Vec;

use loom::sync::{Condvar, Mutex};
use loom::thread::{self, JoinHandle};

use super::{Builder, Job, Reason, Sleep, Timer};
use crate::clock::ManualClock;

const SECOND: Duration = Duration::from_secs(1);

/// The most preemptions in an interleaving, unless `LOOM_MAX_PREEMPTIONS` sets another number.
const PREEMPTIONS: usize = 4;

/// Explores every interleaving.
fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
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

/// How often something has happened. No model depends on the order of counting, so `loom` need not know of it.
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

struct Ring(Bell);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }
}

fn poll(sleep: &mut Sleep, bell: &Bell) -> Poll<Result<(), Reason>> {
    let waker = Waker::from(Arc::new(Ring(bell.clone())));
    Pin::new(sleep).poll(&mut Context::from_waker(&waker))
}

/// Polls with a bell of its own each time, until it is ready.
fn wait_for(sleep: &mut Sleep) -> Result<(), Reason> {
    loop {
        let bell = Bell::new();
        match poll(sleep, &bell) {
            Poll::Ready(result) => return result,
            Poll::Pending => bell.wait(1),
        }
    }
}

/// Jobs that have been handed to an executor, to be run by a test.
#[derive(Clone)]
struct Pool {
    jobs: Arc<Mutex<Vec<Job>>>,
    bell: Bell,
}

impl Pool {
    /// Waits until `jobs` jobs have come, and returns the last.
    fn wait(&self, jobs: usize) -> Job {
        self.bell.wait(jobs);
        self.jobs.lock().unwrap().pop().unwrap()
    }
}

/// A timer of one shard whose jobs a pool is to run.
fn pool() -> (Timer, ManualClock, Pool) {
    pool_with(|builder| builder.shards(1))
}

fn pool_with(configure: impl FnOnce(Builder) -> Builder) -> (Timer, ManualClock, Pool) {
    let (jobs, bell) = (Arc::new(Mutex::new(Vec::new())), Bell::new());
    let pool = Pool { jobs, bell };
    let executor = {
        let pool = pool.clone();
        move |job| {
            pool.jobs.lock().unwrap().push(job);
            pool.bell.ring();
        }
    };
    let (timer, clock) = built(|builder| configure(builder).executor(executor));
    (timer, clock, pool)
}

/// A timer of one shard.
fn timer() -> (Timer, ManualClock) {
    sharded_timer(1)
}

fn sharded_timer(shards: usize) -> (Timer, ManualClock) {
    built(|builder| builder.shards(shards))
}

fn built(configure: impl FnOnce(Builder) -> Builder) -> (Timer, ManualClock) {
    let clock = ManualClock::new();
    let builder = configure(Timer::builder().clock(clock.clone()));
    (builder.start().unwrap(), clock)
}

/// Calls `act` with a copy of a timer or of a handle on another thread, which has the other shard if there are two.
fn elsewhere<C: Clone + Send + 'static, T: Send + 'static>(
    what: &C,
    act: impl FnOnce(C) -> T + Send + 'static,
) -> JoinHandle<T> {
    let what = what.clone();
    thread::spawn(move || act(what))
}
