//! Everything at once, and every job accounted for.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use timer_wheel::timer::{Missed, Sleep};
use timer_wheel::{Job, Shutdown, Timer, TimerHandle};

use crate::rng::Rng;

const PRODUCERS: u64 = 4;

/// What producers and jobs count.
#[derive(Debug, Default)]
struct Ledger {
    scheduled: AtomicU64,
    ran: AtomicU64,
    cancelled: AtomicU64,
    panicked: AtomicU64,
    rescheduled: AtomicU64,
    beats: AtomicU64,
    /// Second runs of a job.
    doubled: AtomicU64,
}

fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn schedule(timer: &Timer, ledger: &Arc<Ledger>, numbers: &mut Rng) -> TimerHandle {
    let delay = Duration::from_micros(numbers.below(20_000));
    let panics = numbers.below(50) == 0;
    let own = Arc::clone(ledger);
    let runs = AtomicU64::new(0);
    let job = move || {
        if runs.fetch_add(1, Ordering::Relaxed) > 0 {
            bump(&own.doubled);
        }
        bump(&own.ran);
        if panics {
            bump(&own.panicked);
            panic::resume_unwind(Box::new(()));
        }
    };
    let handle = timer.schedule_after(delay, job).expect("the timer is not shut down");
    bump(&ledger.scheduled);
    handle
}

fn produce(timer: &Timer, ledger: &Arc<Ledger>, seed: u64, steps: u64) {
    let mut numbers = Rng(seed);
    let mut handles: Vec<TimerHandle> = Vec::new();
    let own = Arc::clone(ledger);
    let beat = timer
        .every(Duration::from_millis(1 + seed % 3), Missed::CatchUp, move || bump(&own.beats))
        .expect("the timer is not shut down");
    for _ in 0..steps {
        match numbers.below(10) {
            0..=5 => handles.push(schedule(timer, ledger, &mut numbers)),
            6 | 7 if !handles.is_empty() => {
                let place = numbers.below(handles.len() as u64) as usize;
                if handles.swap_remove(place).cancel() {
                    bump(&ledger.cancelled);
                }
            }
            8 if !handles.is_empty() => {
                let place = numbers.below(handles.len() as u64) as usize;
                let delay = Duration::from_micros(numbers.below(20_000));
                if handles[place].reschedule_after(delay) {
                    bump(&ledger.rescheduled);
                }
            }
            _ => thread::yield_now(),
        }
        if handles.len() > 1_000 {
            handles.drain(..500);
        }
    }
    assert!(beat.cancel());
}

fn soak(steps: u64, shards: usize, how: Shutdown) {
    let builder = Timer::builder().shards(shards);
    let timer = builder.start().expect("a thread can be started");
    let ledger = Arc::new(Ledger::default());
    thread::scope(|scope| {
        for seed in 1..=PRODUCERS {
            let (timer, ledger) = (&timer, &ledger);
            scope.spawn(move || produce(timer, ledger, seed, steps));
        }
    });
    let unrun = timer.shutdown(how).expect("this is no job");
    let ran_before = get(&ledger.ran);
    let returned = unrun.len() as u64;
    let stats = timer.stats();
    assert_eq!(
        get(&ledger.scheduled),
        ran_before + get(&ledger.cancelled) + returned,
        "each job ran, was cancelled, or was returned"
    );
    assert_eq!(stats.scheduled, get(&ledger.scheduled) + PRODUCERS);
    assert_eq!(stats.cancelled, get(&ledger.cancelled) + PRODUCERS);
    assert_eq!(stats.rescheduled, get(&ledger.rescheduled));
    assert_eq!(stats.fired, ran_before + get(&ledger.beats));
    assert_eq!(stats.panicked, get(&ledger.panicked));
    assert_eq!(stats.len as u64, returned);
    unrun.into_iter().for_each(Job::run);
    assert_eq!(get(&ledger.ran), ran_before + returned, "what was returned can be run");
    assert_eq!(get(&ledger.doubled), 0);
    assert_eq!(timer.len(), 0);
    println!("{ledger:?}, {returned} returned; {:?} late at most", stats.lateness(1.0));
}

#[test]
fn soak_of_four_producers_accounts_for_every_job() {
    for shards in [1, 3, 8] {
        soak(30_000, shards, Shutdown::Drain);
        soak(30_000, shards, Shutdown::Discard);
    }
}

/// A sleep, and the deadline that the last call gave it.
struct Nap {
    sleep: Sleep,
    deadline: Instant,
}

impl Nap {
    fn until(timer: &Timer, deadline: Instant) -> Self {
        Self { sleep: timer.sleep_until(deadline), deadline }
    }

    fn look(&mut self) {
        let answer = Pin::new(&mut self.sleep).poll(&mut Context::from_waker(Waker::noop()));
        assert!(answer.is_pending() || Instant::now() >= self.deadline, "it is early");
    }
}

/// Begins, moves, polls and drops sleeps, and waits for those that are left: for ever, if one is not woken.
fn nap(timer: &Timer, seed: u64, steps: u64) {
    let mut numbers = Rng(seed);
    let mut naps: Vec<Nap> = Vec::new();
    for _ in 0..steps {
        let deadline = Instant::now() + Duration::from_micros(numbers.below(20_000));
        let choice = numbers.below(10);
        let place = numbers.below(naps.len().max(1) as u64) as usize;
        match (choice, naps.get_mut(place)) {
            (0..=1, _) | (_, None) => naps.push(Nap::until(timer, deadline)),
            (2..=7, Some(nap)) => {
                nap.sleep.reset(deadline);
                nap.deadline = deadline;
            }
            (8, Some(nap)) => nap.look(),
            (_, Some(_)) => drop(naps.swap_remove(place)),
        }
        if let Some(last) = naps.last_mut().filter(|_| choice < 2) {
            last.look();
        }
    }
    for Nap { sleep, deadline } in naps {
        pollster::block_on(sleep).expect("the timer is not shut down");
        assert!(Instant::now() >= deadline, "it is early");
    }
}

fn soak_sleeps(steps: u64, shards: usize) {
    let timer = Timer::builder().shards(shards).start().expect("a thread can be started");
    thread::scope(|scope| {
        for seed in 1..=PRODUCERS {
            let timer = &timer;
            scope.spawn(move || nap(timer, seed, steps));
        }
    });
    assert_eq!(timer.len(), 0, "a sleep that is over or dropped has no place");
    let stats = timer.stats();
    assert_eq!(stats.scheduled, stats.fired + stats.cancelled);
    assert!(stats.fired > PRODUCERS && stats.cancelled > PRODUCERS);
}

#[test]
fn soak_of_four_producers_wakes_every_sleep_after_its_last_reset() {
    for shards in [1, 3, 8] {
        soak_sleeps(30_000, shards);
    }
}

#[test]
#[ignore = "takes minutes"]
fn long_soak_of_four_producers_accounts_for_every_job() {
    for _ in 0..10 {
        soak(3_000_000, 4, Shutdown::Drain);
        soak(3_000_000, 4, Shutdown::Discard);
        soak_sleeps(3_000_000, 4);
    }
}
