//! W17: producers that schedule and cancel as fast as they can, with one driver for all or one each. *Lateness*: jobs
//! that fire at a given rate and note how late they are.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use hdrhistogram::Histogram;
use timer_wheel::Timer;

use super::Workload;
use super::driver::{BTreeTimer, Driver, Tokio};
use crate::figure::{median, time};
use crate::workload::XorShift64Star;

const WITH_CONDVAR: &str = "Mutex<BTreeMap> + Condvar";
const SLEEP: &str = "tokio::time::sleep";

/// The size is the number of producers.
pub(super) static W17: Workload = Workload {
    name: "W17",
    sizes: &[1, 2, 4, 8],
    figures: &[
        median("W17 pairs a second", "pairs", &[]),
        // Of all threads together, what is done for a pair later on included.
        time("W17 CPU time of a pair", &[]),
    ],
    subjects: &[
        ("Timer", pairs::<Timer, false>),
        ("a Timer each", pairs::<Timer, true>),
        // The least that producers can do: nobody looks at the map.
        ("Mutex<BTreeMap>", pairs::<BTreeTimer<false>, false>),
        ("a Mutex<BTreeMap> each", pairs::<BTreeTimer<false>, true>),
        (WITH_CONDVAR, pairs::<BTreeTimer, false>),
        (SLEEP, pairs::<Tokio, false>),
    ],
};

/// The size is the number of firings a second.
pub(super) static LATENESS: Workload = Workload {
    name: "lateness",
    sizes: &[1_000, 10_000, 100_000],
    figures: &[time("lateness p50", &[]), time("lateness p99.9", &[]), median("jobs run early", "jobs", &[])],
    subjects: &[("Timer", lateness::<Timer>), (WITH_CONDVAR, lateness::<BTreeTimer>), (SLEEP, lateness::<Tokio>)],
};

/// The jobs that each producer has under way.
const WINDOW: usize = 10_000;

/// None of the jobs is due while it is measured.
const DELAY: Duration = Duration::from_secs(60);

/// Each producer makes so many pairs, on the one driver or on one of its own.
fn pairs<D: Driver, const EACH: bool>(producers: u64, pairs: u64) -> Result<Vec<f64>, String> {
    let driver = D::start();
    // One a producer: jobs of different threads must not meet in a count of references.
    let ran: Vec<_> = (0..producers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let start = Arc::new(Barrier::new(producers as usize + 1));
    let begin = |ran: &Arc<AtomicU64>| {
        let own = if EACH { D::start() } else { driver.share() };
        let (start, ran) = (Arc::clone(&start), Arc::clone(ran));
        thread::spawn(move || {
            start.wait();
            produce(&own, pairs, &ran)
        })
    };
    let threads: Vec<_> = ran.iter().map(begin).collect();
    // Before they begin: this thread may be the last to get a core.
    let (cpu, clock) = (ProcessTime::now(), Instant::now());
    start.wait();
    let mut refused = 0;
    for thread in threads {
        refused += thread.join().map_err(|_| "a producer has panicked")?;
    }
    let elapsed = clock.elapsed();
    drop(driver);
    let cpu = cpu.elapsed();
    if refused > 0 || ran.iter().any(|ran| ran.load(Ordering::Relaxed) > 0) {
        return Err("jobs ran that were cancelled".to_owned());
    }
    let pairs = (pairs * producers) as f64;
    Ok(vec![pairs / elapsed.as_secs_f64(), cpu.as_nanos() as f64 / pairs])
}

/// Returns the number of jobs that could not be cancelled.
fn produce(driver: &impl Driver, pairs: u64, ran: &Arc<AtomicU64>) -> u64 {
    let mut under_way = VecDeque::with_capacity(WINDOW + 1);
    let mut refused = 0;
    for _ in 0..pairs {
        let ran = Arc::clone(ran);
        let handle = driver.schedule(DELAY, move || _ = ran.fetch_add(1, Ordering::Relaxed));
        under_way.push_back(handle);
        if under_way.len() > WINDOW {
            let oldest = under_way.pop_front().expect("one was pushed");
            refused += u64::from(driver.cancel(oldest) == Some(false));
        }
    }
    for handle in under_way {
        refused += u64::from(driver.cancel(handle) == Some(false));
    }
    refused
}

/// Jobs are scheduled this long before the earliest of them is due, and spread over as long.
const AHEAD: Duration = Duration::from_millis(50);

/// A batch of jobs is scheduled this often.
const BATCH: Duration = Duration::from_millis(1);

/// Jobs that have not run by then are lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the jobs have noted: how late they were, and how many were early.
type Noted = Mutex<(Histogram<u64>, u64)>;

/// For two seconds, whatever the effort.
fn lateness<D: Driver>(rate: u64, _: u64) -> Result<Vec<f64>, String> {
    let driver = D::start();
    let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds");
    let noted = Arc::new(Mutex::new((histogram, 0)));
    let total = rate * 2;
    schedule_all(&driver, total, rate, &noted);
    let end = Instant::now() + PATIENCE;
    while noted.lock().unwrap().0.len() < total {
        if Instant::now() > end {
            return Err(format!("{} of {total} jobs ran", noted.lock().unwrap().0.len()));
        }
        thread::sleep(BATCH);
    }
    drop(driver);
    let (lateness, early) = &*noted.lock().unwrap();
    let quantile = |part: f64| lateness.value_at_quantile(part) as f64;
    Ok(vec![quantile(0.5), quantile(0.999), *early as f64])
}

/// Schedules jobs in batches, each as many as the time that has passed asks for.
fn schedule_all(driver: &impl Driver, total: u64, rate: u64, noted: &Arc<Noted>) {
    let (start, mut numbers) = (Instant::now(), XorShift64Star::with_seed(rate));
    let mut scheduled = 0;
    while scheduled < total {
        let wanted = (start.elapsed().as_secs_f64() * rate as f64) as u64;
        while scheduled < wanted.min(total) {
            let delay = AHEAD + Duration::from_nanos(numbers.below(AHEAD.as_nanos() as u64));
            let deadline = Instant::now() + delay;
            let noted = Arc::clone(noted);
            driver.schedule(delay, move || {
                let now = Instant::now();
                let (lateness, early) = &mut *noted.lock().unwrap();
                lateness.saturating_record(now.saturating_duration_since(deadline).as_nanos() as u64);
                *early += u64::from(now < deadline);
            });
            scheduled += 1;
        }
        thread::sleep(BATCH);
    }
}
