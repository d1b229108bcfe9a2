//! Jobs that fire at a given rate and note how late they are.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use hdrhistogram::Histogram;
use timer_wheel_bench::workload::XorShift64Star;

use crate::cli::Options;
use crate::driver::{Client, Driver};

/// Jobs are scheduled this long before the earliest of them is due, and spread over as long.
const AHEAD: Duration = Duration::from_millis(50);

/// A batch of jobs is scheduled this often.
const BATCH: Duration = Duration::from_millis(1);

/// Jobs that have not run by then are lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run has shown.
pub(crate) struct Lateness {
    histogram: Histogram<u64>,
    pub(crate) early: u64,
    /// The part of one core that all threads together took.
    pub(crate) cpu: f64,
}

impl Lateness {
    pub(crate) fn quantile_ns(&self, part: f64) -> u64 {
        self.histogram.value_at_quantile(part)
    }
}

pub(crate) fn measure<D: Driver>(options: &Options, rate: u64) -> Result<Lateness, String> {
    let driver = D::start();
    let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("sound bounds");
    let noted = Arc::new(Mutex::new(Lateness { histogram, early: 0, cpu: 0.0 }));
    let (cpu, start) = (ProcessTime::now(), Instant::now());
    let total = rate * options.seconds;
    schedule_all(driver.client(0), total, rate, start, &noted);
    let end = Instant::now() + PATIENCE;
    while noted.lock().unwrap().histogram.len() < total {
        if Instant::now() > end {
            let ran = noted.lock().unwrap().histogram.len();
            return Err(format!("{}: {ran} of {total} jobs ran", D::NAME));
        }
        thread::sleep(BATCH);
    }
    let cpu = cpu.elapsed().as_secs_f64() / start.elapsed().as_secs_f64();
    driver.stop();
    let mut noted = noted.lock().unwrap();
    let histogram = std::mem::replace(&mut noted.histogram, Histogram::new(1).expect("sound"));
    Ok(Lateness { histogram, early: noted.early, cpu })
}

/// Schedules jobs in batches, each as many as the time that has passed asks for.
fn schedule_all<C: Client>(mut client: C, total: u64, rate: u64, start: Instant, noted: &Arc<Mutex<Lateness>>) {
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

fn note(noted: &Mutex<Lateness>, deadline: Instant) {
    let now = Instant::now();
    let late = now.saturating_duration_since(deadline);
    let mut noted = noted.lock().unwrap();
    noted.early += u64::from(now < deadline);
    noted.histogram.saturating_record(late.as_nanos() as u64);
}
