//! Jobs that fire at a given rate and note how late they are.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use timer_wheel::Timer;
use tokio::runtime::Runtime;

use super::Workload;
use super::btree::BTreeTimer;
use super::driver::{Client, Driver};
use crate::figure::{median, time};
use crate::workload::XorShift64Star;

/// The size is the number of firings a second.
pub(super) static LATENESS: Workload = Workload {
    name: "lateness",
    sizes: &[1_000, 10_000, 100_000],
    figures: &[time("lateness p50", &[]), time("lateness p99.9", &[]), median("jobs run early", "jobs", &[])],
    subjects: &[
        (<Timer as Driver>::NAME, measure::<Timer>),
        (<BTreeTimer>::NAME, measure::<BTreeTimer>),
        (<Arc<Runtime>>::NAME, measure::<Arc<Runtime>>),
    ],
};

/// Jobs are scheduled this long before the earliest of them is due, and spread over as long.
const AHEAD: Duration = Duration::from_millis(50);

/// A batch of jobs is scheduled this often.
const BATCH: Duration = Duration::from_millis(1);

/// Jobs that have not run by then are lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the jobs have noted.
struct Noted {
    lateness: Histogram<u64>,
    early: u64,
}

/// For two seconds, whatever the effort.
fn measure<D: Driver>(rate: u64, _: u64) -> Result<Vec<f64>, String> {
    let driver = D::start();
    let lateness = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds");
    let noted = Arc::new(Mutex::new(Noted { lateness, early: 0 }));
    let start = Instant::now();
    let total = rate * 2;
    schedule_all(driver.client(), total, rate, start, &noted);
    let end = Instant::now() + PATIENCE;
    while noted.lock().unwrap().lateness.len() < total {
        if Instant::now() > end {
            let ran = noted.lock().unwrap().lateness.len();
            return Err(format!("{}: {ran} of {total} jobs ran", D::NAME));
        }
        thread::sleep(BATCH);
    }
    drop(driver);
    let noted = noted.lock().unwrap();
    let quantile = |part: f64| noted.lateness.value_at_quantile(part) as f64;
    Ok(vec![quantile(0.5), quantile(0.999), noted.early as f64])
}

/// Schedules jobs in batches, each as many as the time that has passed asks for.
fn schedule_all<C: Client>(mut client: C, total: u64, rate: u64, start: Instant, noted: &Arc<Mutex<Noted>>) {
    let mut numbers = XorShift64Star::with_seed(rate);
    let mut scheduled = 0;
    while scheduled < total {
        let wanted = (start.elapsed().as_secs_f64() * rate as f64) as u64;
        while scheduled < wanted.min(total) {
            let delay = AHEAD + Duration::from_nanos(numbers.below(AHEAD.as_nanos() as u64));
            let deadline = Instant::now() + delay;
            let noted = Arc::clone(noted);
            client.schedule(delay, move || note(&noted, deadline));
            scheduled += 1;
        }
        thread::sleep(BATCH);
    }
}

fn note(noted: &Mutex<Noted>, deadline: Instant) {
    let now = Instant::now();
    let late = now.saturating_duration_since(deadline);
    let mut noted = noted.lock().unwrap();
    noted.early += u64::from(now < deadline);
    noted.lateness.saturating_record(late.as_nanos() as u64);
}
