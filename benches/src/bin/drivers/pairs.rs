//! Producers that schedule and cancel as fast as they can.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::cli::Options;
use crate::driver::{Client, Driver};

/// What producers do.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) producers: u64,
    /// Of each producer.
    pub(crate) pairs: u64,
    /// How many jobs each has under way.
    pub(crate) window: u64,
    /// None of the jobs is due while it is measured.
    pub(crate) delay: Duration,
}

/// What a round has shown.
#[derive(Clone, Copy)]
pub(crate) struct Pairs {
    pub(crate) a_second: f64,
    /// Of all threads together, what is done for a pair later on included.
    pub(crate) cpu_ns: f64,
}

pub(crate) fn measure<D: Driver>(options: &Options, window: u64) -> Result<Pairs, String> {
    run::<D>(&Load { producers: options.producers, pairs: options.pairs, window, delay: Duration::from_secs(30) })
}

pub(crate) fn run<D: Driver>(load: &Load) -> Result<Pairs, String> {
    let driver = D::start();
    // One a producer: jobs of different threads must not meet in a count of references.
    let ran: Vec<_> = (0..load.producers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let start = Arc::new(Barrier::new(load.producers as usize + 1));
    let producers: Vec<_> = (0..load.producers)
        .map(|number| {
            let client = driver.client(number);
            let (start, load) = (Arc::clone(&start), *load);
            let ran = Arc::clone(&ran[number as usize]);
            thread::spawn(move || {
                start.wait();
                produce(client, &load, &ran)
            })
        })
        .collect();
    let cpu = ProcessTime::now();
    start.wait();
    let clock = Instant::now();
    let mut refused = 0;
    for producer in producers {
        refused += producer.join().map_err(|_| "a producer has panicked")?;
    }
    let elapsed = clock.elapsed();
    driver.stop();
    let cpu = cpu.elapsed();
    if refused > 0 || ran.iter().any(|ran| ran.load(Ordering::Relaxed) > 0) {
        return Err(format!("{}: jobs ran that were cancelled", D::NAME));
    }
    let pairs = (load.pairs * load.producers) as f64;
    Ok(Pairs { a_second: pairs / elapsed.as_secs_f64(), cpu_ns: cpu.as_nanos() as f64 / pairs })
}

/// Returns the number of jobs that could not be cancelled.
fn produce<C: Client>(mut client: C, load: &Load, ran: &Arc<AtomicU64>) -> u64 {
    let mut under_way = VecDeque::with_capacity(load.window as usize + 1);
    let mut refused = 0;
    for _ in 0..load.pairs {
        let ran = Arc::clone(ran);
        let handle = client.schedule(load.delay, move || _ = ran.fetch_add(1, Ordering::Relaxed));
        under_way.push_back(handle);
        if under_way.len() as u64 > load.window {
            let oldest = under_way.pop_front().expect("one was pushed");
            refused += u64::from(client.cancel(oldest) == Some(false));
        }
    }
    for handle in under_way {
        refused += u64::from(client.cancel(handle) == Some(false));
    }
    refused
}
