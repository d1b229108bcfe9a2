//! What a timer tells: when it starts and stops, and of late and panicking jobs.
//!
//! A test binary of its own, as what listens to all threads does so for the whole process.

#![cfg(feature = "tracing")]

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
        metadata.target() == "timer_wheel"
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
fn start_stop_lateness_and_panics_are_told() {
    let listener = Listener::default();
    tracing::subscriber::set_global_default(listener.clone()).unwrap();
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
    listener.1.store(true, Ordering::Relaxed);
    listener_that_panics_loses_no_job();
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
