//! The protocol between callers and timer thread, in every interleaving that `loom` finds.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --lib timer::model`
//!
//! A wake-up that is lost leaves everybody asleep, which `loom` reports as a deadlock; so each
//! model ends by waiting for something. The reference counts are those of `std`, as a closure
//! of unknown type cannot be put into an `Arc` of `loom`'s.

use std::boxed::Box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering};
use std::time::Duration;
use std::vec::Vec;

use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::{Job, KeyedTimer, Missed, Reason, Shutdown, Timer};
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

#[test]
fn job_scheduled_while_the_thread_falls_asleep_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(1);
    });
}

#[test]
fn jobs_scheduled_by_two_threads_run() {
    model(|| {
        let (timer, clock) = timer();
        let bell = Bell::new();
        clock.advance(SECOND);
        let other = {
            let (timer, bell) = (timer.clone(), bell.clone());
            thread::spawn(move || {
                timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
            })
        };
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(2);
        other.join().unwrap();
    });
}

#[test]
fn clock_that_moves_while_the_thread_falls_asleep_wakes_it() {
    model(|| {
        let (timer, clock) = timer();
        let bell = Bell::new();
        timer.schedule_after(SECOND, bell.job()).unwrap();
        clock.advance(SECOND);
        bell.wait(1);
    });
}

#[test]
fn job_brought_forward_while_the_thread_falls_asleep_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let handle = timer.schedule_after(SECOND, bell.job()).unwrap();
        assert!(handle.reschedule_after(Duration::ZERO));
        bell.wait(1);
    });
}

#[test]
fn job_brought_forward_once_it_is_filed_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let handle = timer.schedule_after(SECOND, bell.job()).unwrap();
        timer.settle().unwrap();
        assert!(handle.reschedule_after(Duration::ZERO));
        bell.wait(1);
    });
}

#[test]
fn cancel_is_true_exactly_when_the_job_does_not_run() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let is_cancelled = handle.cancel();
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert!(unrun.is_empty(), "it was due");
        assert_eq!(ran.get(), usize::from(!is_cancelled));
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn one_of_two_cancels_wins_or_the_job_runs() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let other = {
            let handle = handle.clone();
            thread::spawn(move || handle.cancel())
        };
        let cancelled = usize::from(handle.cancel()) + usize::from(other.join().unwrap());
        timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(ran.get() + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn job_that_is_cancelled_fired_and_shut_down_ends_in_one_way() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let other = thread::spawn(move || handle.cancel());
        let unrun = timer.shutdown(Shutdown::Discard).unwrap();
        let cancelled = usize::from(other.join().unwrap());
        let before = ran.get();
        unrun.into_iter().for_each(Job::run);
        let returned = ran.get() - before;
        assert_eq!((before + returned) + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn job_scheduled_during_a_shutdown_is_refused_or_returned_or_runs() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        model(move || {
            let (timer, _clock) = timer();
            let ran = Count::default();
            let other = {
                let (timer, ran) = (timer.clone(), ran.clone());
                thread::spawn(
                    move || match timer.schedule_after(Duration::ZERO, ran.job()) {
                        Ok(_) => false,
                        Err(refused) => refused.reason() == Reason::ShutDown,
                    },
                )
            };
            let returned = timer.shutdown(how).unwrap().len();
            let refused = usize::from(other.join().unwrap());
            assert_eq!(ran.get() + returned + refused, 1, "{how:?}");
            assert!(how == Shutdown::Discard || returned == 0, "it was due");
        });
    }
}

#[test]
fn reschedule_is_true_only_if_the_job_does_not_run_at_its_old_time() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        let is_put_off = handle.reschedule_after(SECOND);
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(ran.get(), usize::from(!is_put_off));
        assert_eq!(unrun.len(), usize::from(is_put_off));
    });
}

#[test]
fn job_in_a_pool_is_cancelled_or_runs() {
    model(|| {
        let clock = ManualClock::new();
        let queue: Arc<Mutex<Vec<Job>>> = Arc::new(Mutex::new(Vec::new()));
        let bell = Bell::new();
        let executor = {
            let (queue, bell) = (Arc::clone(&queue), bell.clone());
            move |job| {
                queue.lock().unwrap().push(job);
                bell.ring();
            }
        };
        let timer = Timer::builder()
            .clock(clock)
            .executor(executor)
            .start()
            .unwrap();
        let ran = Count::default();
        let handle = timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        bell.wait(1);
        let other = thread::spawn(move || handle.cancel());
        let job = queue.lock().unwrap().pop().unwrap();
        job.run();
        let cancelled = usize::from(other.join().unwrap());
        assert_eq!(ran.get() + cancelled, 1);
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn periodic_job_does_not_run_after_it_was_cancelled() {
    model(|| {
        let (timer, clock) = timer();
        let ran = Count::default();
        let bell = Bell::new();
        let handle = {
            let (ran, bell) = (ran.clone(), bell.clone());
            let job = move || {
                ran.bump();
                bell.ring();
            };
            timer.every_with(SECOND, Missed::CatchUp, job).unwrap()
        };
        clock.advance(SECOND);
        bell.wait(1);
        assert!(handle.cancel(), "it would have run again");
        clock.advance(SECOND);
        assert!(timer.shutdown(Shutdown::Drain).unwrap().is_empty());
        assert_eq!((ran.get(), timer.len()), (1, 0));
    });
}

#[test]
fn settle_returns_once_what_is_due_has_run() {
    model(|| {
        let (timer, _clock) = timer();
        let ran = Count::default();
        timer.schedule_after(Duration::ZERO, ran.job()).unwrap();
        timer.settle().unwrap();
        assert_eq!(ran.get(), 1);
    });
}

#[test]
fn last_timer_dropped_inside_a_job_ends_the_thread() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        let inner = timer.clone();
        let ring = bell.clone();
        let job = move || {
            drop(inner);
            ring.ring();
        };
        timer.schedule_after(Duration::ZERO, job).unwrap();
        drop(timer);
        bell.wait(1);
    });
}

#[test]
fn two_shutdowns_at_once_return_each_job_once() {
    model(|| {
        let (timer, _clock) = timer();
        timer.schedule_after(SECOND, || ()).unwrap();
        let other = {
            let timer = timer.clone();
            thread::spawn(move || timer.shutdown(Shutdown::Discard).unwrap().len())
        };
        let returned = timer.shutdown(Shutdown::Drain).unwrap().len();
        assert_eq!(returned + other.join().unwrap(), 1);
    });
}

#[test]
fn job_replaced_under_its_key_while_it_fires_runs_or_is_replaced() {
    model(|| {
        let (timer, _clock) = timer();
        let keyed = KeyedTimer::new(timer);
        let (old, new) = (Count::default(), Count::default());
        keyed.set_after('k', Duration::ZERO, old.job()).unwrap();
        let is_replaced = keyed.set_after('k', Duration::ZERO, new.job()).unwrap();
        keyed.timer().shutdown(Shutdown::Drain).unwrap();
        assert_eq!(old.get(), usize::from(!is_replaced));
        assert_eq!((new.get(), keyed.len()), (1, 0));
    });
}

#[test]
fn panicking_job_leaves_the_thread_running() {
    model(|| {
        let (timer, _clock) = timer();
        let bell = Bell::new();
        // Without the message that a panic prints.
        let panics: Box<dyn FnOnce() + Send> = Box::new(|| std::panic::resume_unwind(Box::new(1)));
        timer.schedule_after(Duration::ZERO, panics).unwrap();
        timer.schedule_after(Duration::ZERO, bell.job()).unwrap();
        bell.wait(1);
    });
}
