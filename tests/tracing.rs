//! What a timer tells: when it starts and stops, and of late and panicking jobs. What a TTL set tells of its proposals.
//!
//! A test binary of its own, as what listens to all threads does so for the whole process.

#![cfg(feature = "tracing")]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use timer_wheel::ttl::{Context, Entry, Role, TtlQueue, TtlSet};
use timer_wheel::{Job, ManualClock, Shutdown, Timer};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes events down, one line each, and looks at the timer that it was given, as no lock of that is held.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>, Arc<AtomicBool>, Arc<Mutex<Option<Timer>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("timer_wheel")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
        assert!(self.2.lock().unwrap().as_ref().is_none_or(|timer| timer.len() < 9));
        if self.1.load(Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("nobody reads this any more"));
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// A timer that tells of jobs which are more than a second late.
fn timer() -> (Timer, ManualClock) {
    let clock = ManualClock::new();
    let builder = Timer::builder().late_after(Duration::from_secs(1));
    (builder.clock(clock.clone()).start().unwrap(), clock)
}

#[test]
fn work_and_failures_are_told() {
    let listener = Listener::default();
    tracing::subscriber::set_global_default(listener.clone()).unwrap();
    start_stop_lateness_and_panics_are_told(&listener);
    listener.0.lock().unwrap().clear();
    proposals_roles_and_snapshots_are_told(&listener);
    listener.1.store(true, Ordering::Relaxed);
    listener_that_panics_loses_no_job();
    listener_that_panics_loses_no_entry();
}

fn start_stop_lateness_and_panics_are_told(listener: &Listener) {
    let (timer, clock) = timer();
    *listener.2.lock().unwrap() = Some(timer.clone());
    let panics = || std::panic::resume_unwind(Box::new("out of order"));
    timer.schedule_after(Duration::from_secs(9), panics).unwrap();
    timer.schedule_after(Duration::from_secs(7), || ()).unwrap();
    timer.schedule_after(Duration::from_secs(60), || ()).unwrap();
    clock.advance(Duration::from_secs(10));
    timer.settle().unwrap();
    timer.shutdown(Shutdown::Drain).unwrap().clear();
    let told = listener.0.lock().unwrap().clone();
    assert_eq!(
        told,
        [
            "DEBUG message=timer started",
            "WARN message=job is late lateness=3s threshold=1s",
            "ERROR message=job panicked reason=\"out of order\"",
            "DEBUG message=timer stopped unrun=1",
        ]
    );
    *listener.2.lock().unwrap() = None;
}

const MS: u64 = 1_000_000;

fn proposals_roles_and_snapshots_are_told(listener: &Listener) {
    let mut set = TtlSet::<u32>::new(0);
    for index in 1..=2 {
        set.init(7, index, index, Context::default()).unwrap();
    }
    set.role_change(Role::Leader, 0);
    let refused = set.poll(MS).next().unwrap();
    set.failed(refused.handle, refused.index, MS);
    assert_eq!(set.poll(MS).count(), 0, "which tells nothing");
    assert_eq!(set.poll(1_001 * MS).map(|it| it.index).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(set.poll(11_001 * MS).count(), 0);
    set.role_change(Role::Follower, 11_001 * MS);
    set.restore(Vec::new(), 11_001 * MS, 0).unwrap();
    let told = listener.0.lock().unwrap().clone();
    assert_eq!(
        told,
        [
            "DEBUG message=role changed role=Leader requeued=0 len=2",
            "DEBUG message=expiries proposed expired=1 retried=0 len=2 pending=1",
            "WARN message=proposal refused index=1 attempt=1",
            "DEBUG message=expiries proposed expired=1 retried=1 len=2 pending=2",
            "WARN message=proposal timed out index=1 attempt=2",
            "WARN message=proposal timed out index=2 attempt=1",
            "DEBUG message=role changed role=Follower requeued=2 len=2",
            "DEBUG message=snapshot restored entries=0",
        ]
    );
}

fn listener_that_panics_loses_no_entry() {
    let mut set = TtlSet::<u32>::new(0);
    set.init(7, 1, 1, Context::default()).unwrap();
    set.init(7, 2, 9, Context::default()).unwrap();
    let panics = |call: &mut dyn FnMut()| assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    panics(&mut || set.role_change(Role::Leader, 0));
    panics(&mut || _ = set.poll(MS).next());
    let refused = set.iter().next().map(|it| (it.handle, it.entry.index)).unwrap();
    panics(&mut || _ = set.failed(refused.0, refused.1, MS));
    set.check_invariants();
    assert_eq!((set.len(), set.retrying_len(), set.stats().failed), (2, 1, 1));
    panics(&mut || assert_eq!(set.poll(900 * MS).count(), 1));
    // A retry is yielded, then a timeout is told, whose panic drops the poll: what it proposed is not told.
    panics(&mut || _ = set.poll(20_000 * MS).count());
    set.check_invariants();
    assert_eq!((set.len(), set.stats().retried, set.stats().timed_out), (2, 1, 1));
    let mut queue = TtlQueue::<u32>::new(0);
    panics(&mut || _ = queue.restore([Entry::new(7, 1, 5)], 0, 0));
    queue.check_invariants();
    assert_eq!(queue.len(), 1);
}

fn listener_that_panics_loses_no_job() {
    let (timer, clock) = timer();
    let runs = Arc::new(AtomicUsize::new(0));
    for seconds in [1, 2, 100] {
        let runs = Arc::clone(&runs);
        let job = move || _ = runs.fetch_add(1, Ordering::Relaxed);
        timer.schedule_after(Duration::from_secs(seconds), job).unwrap();
    }
    let panics = || std::panic::resume_unwind(Box::new("out of order"));
    timer.schedule_after(Duration::from_secs(3), panics).unwrap();
    clock.advance(Duration::from_secs(10));
    timer.settle().unwrap();
    let unrun = timer.shutdown(Shutdown::Drain).unwrap();
    assert_eq!((runs.load(Ordering::Relaxed), unrun.len()), (2, 1));
    assert_eq!(timer.stats().late, 3);
    unrun.into_iter().for_each(Job::run);
    assert_eq!((runs.load(Ordering::Relaxed), timer.len()), (3, 0));
}
