//! Everything at once, and every job accounted for.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use timer_wheel::timer::Missed;
use timer_wheel::{Job, KeyedTimer, Shutdown, Timer, TimerHandle};

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
}

fn bump_if(is_so: bool, counter: &AtomicU64) {
    counter.fetch_add(is_so.into(), Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// A job that is accounted for.
fn job(ledger: &Arc<Ledger>, panics: bool) -> impl FnOnce() + Send + 'static {
    let ledger = Arc::clone(ledger);
    bump_if(true, &ledger.scheduled);
    move || {
        bump_if(true, &ledger.ran);
        if panics {
            bump_if(true, &ledger.panicked);
            panic::resume_unwind(Box::new(()));
        }
    }
}

fn produce(keyed: &KeyedTimer<u64>, ledger: &Arc<Ledger>, seed: u64, steps: u64) {
    let (timer, mut numbers) = (keyed.timer(), Rng(seed));
    let mut handles: Vec<TimerHandle> = Vec::new();
    let own = Arc::clone(ledger);
    let beat = timer
        .every(Duration::from_millis(1 + seed % 3), Missed::CatchUp, move || bump_if(true, &own.beats))
        .expect("the timer is not shut down");
    for _ in 0..steps {
        let delay = Duration::from_micros(numbers.below(20_000));
        let choice = numbers.below(12);
        let place = numbers.below(handles.len().max(1) as u64) as usize;
        match (choice, handles.get(place)) {
            (0..=5, _) => {
                let job = job(ledger, numbers.below(50) == 0);
                handles.push(timer.schedule_after(delay, job).expect("the timer is not shut down"));
            }
            (6..=7, Some(_)) => bump_if(handles.swap_remove(place).cancel(), &ledger.cancelled),
            (8, Some(handle)) => bump_if(handle.reschedule_after(delay), &ledger.rescheduled),
            // All producers set the same few keys.
            (9..=10, _) => {
                let is_replaced = keyed.set_after(numbers.below(5), delay, job(ledger, false));
                bump_if(is_replaced.is_ok_and(|is_replaced| is_replaced), &ledger.cancelled);
                assert!(keyed.len() <= 5);
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
    let timer = Timer::builder().shards(shards).start().expect("a thread can be started");
    let (keyed, ledger) = (KeyedTimer::new(timer.clone()), Arc::new(Ledger::default()));
    thread::scope(|scope| {
        for seed in 1..=PRODUCERS {
            let (keyed, ledger) = (&keyed, &ledger);
            scope.spawn(move || produce(keyed, ledger, seed, steps));
        }
    });
    let unrun = timer.shutdown(how).expect("this is no job");
    let ran_before = get(&ledger.ran);
    let returned = unrun.len() as u64;
    let stats = timer.stats();
    assert_eq!(
        get(&ledger.scheduled),
        ran_before + get(&ledger.cancelled) + returned,
        "each job ran, was cancelled or replaced, or was returned"
    );
    assert_eq!(stats.scheduled, get(&ledger.scheduled) + PRODUCERS);
    assert_eq!(stats.cancelled, get(&ledger.cancelled) + PRODUCERS);
    assert_eq!(stats.rescheduled, get(&ledger.rescheduled));
    assert_eq!(stats.fired, ran_before + get(&ledger.beats));
    assert_eq!(stats.panicked, get(&ledger.panicked));
    assert_eq!(stats.len as u64, returned);
    unrun.into_iter().for_each(Job::run);
    assert_eq!(get(&ledger.ran), ran_before + returned, "what was returned can be run");
    assert_eq!((timer.len(), keyed.len()), (0, 0));
    println!("{ledger:?}, {returned} returned; {:?} late at most", stats.lateness(1.0));
}

#[test]
fn soak_of_four_producers_accounts_for_every_job() {
    for shards in [1, 3, 8] {
        soak(30_000, shards, Shutdown::Drain);
        soak(30_000, shards, Shutdown::Discard);
    }
}

#[test]
#[ignore = "takes minutes"]
fn long_soak_of_four_producers_accounts_for_every_job() {
    for _ in 0..10 {
        soak(3_000_000, 4, Shutdown::Drain);
        soak(3_000_000, 4, Shutdown::Discard);
    }
}
