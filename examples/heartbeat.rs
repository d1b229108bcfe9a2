//! A heartbeat at a fixed rate, on the system's clock, with jobs on a thread of their own.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features timer`

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use timer_wheel::timer::Missed;
use timer_wheel::{Job, Shutdown, Timer};

const PERIOD: Duration = Duration::from_millis(5);
const BEATS: u32 = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A pool of one thread. Jobs that may block should not run on the timer thread.
    let (queue, jobs) = mpsc::channel::<Job>();
    let pool = thread::spawn(move || jobs.into_iter().for_each(Job::run));
    let timer = Timer::builder()
        .name("heartbeat")
        .executor(move |job| queue.send(job).expect("the pool runs"))
        .on_panic(|_| eprintln!("a beat has failed"))
        .start()?;

    let (beat, beats) = mpsc::channel();
    let failures = Arc::new(AtomicU32::new(0));
    let failed = Arc::clone(&failures);
    let start = Instant::now();
    let mut count = 0;
    // Every beat counts here; `every` would skip those that are missed on a busy machine.
    let heart = timer.every(PERIOD, Missed::CatchUp, move || {
        count += 1;
        if count == 3 {
            failed.fetch_add(1, Ordering::Relaxed);
            // Quieter than a panic, and the same otherwise. The series goes on.
            std::panic::resume_unwind(Box::new("this beat fails"));
        }
        // Nobody listens any more once the last one was counted.
        let _ = beat.send((count, start.elapsed()));
    })?;

    let felt: Vec<(u32, Duration)> = beats.iter().take(BEATS as usize - 1).collect();
    assert!(heart.cancel(), "it would have gone on for ever");

    assert!(felt.iter().all(|(count, _)| *count != 3), "the third failed");
    assert_eq!(felt.last().map(|(count, _)| *count), Some(BEATS));
    // A fixed rate: however late a beat was, the ones after it are not the later for it. And none
    // is early.
    for (count, at) in &felt {
        assert!(*at >= PERIOD * *count, "beat {count} came after {at:?}");
    }
    let statistics = timer.stats();
    assert_eq!((statistics.panicked, failures.load(Ordering::Relaxed)), (1, 1));
    println!("{BEATS} beats in {:?}, late by {:?} at most", start.elapsed(), statistics.lateness(1.0));

    assert!(timer.shutdown(Shutdown::Drain)?.is_empty(), "it was cancelled");
    drop(timer);
    pool.join().expect("the pool ends with the executor");
    Ok(())
}
