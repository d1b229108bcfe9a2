//! W17: producers that schedule and cancel as fast as they can, with one driver for all or one each.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use timer_wheel::Timer;
use tokio::runtime::Runtime;

use super::Workload;
use super::btree::BTreeTimer;
use super::driver::{Client, Driver, Each};
use crate::figure::{median, time};

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
        (<Timer as Driver>::NAME, run::<Timer>),
        ("a Timer each", run::<Each<Timer>>),
        (Tree::NAME, run::<Tree>),
        ("a Mutex<BTreeMap> each", run::<Each<Tree>>),
        (<BTreeTimer>::NAME, run::<BTreeTimer>),
        (<Arc<Runtime>>::NAME, run::<Arc<Runtime>>),
    ],
};

/// The least that producers can do: nobody looks at the map.
type Tree = BTreeTimer<false>;

/// The jobs that each producer has under way.
const WINDOW: usize = 10_000;

/// None of the jobs is due while it is measured.
const DELAY: Duration = Duration::from_secs(60);

/// Each producer makes so many pairs.
fn run<D: Driver>(producers: u64, pairs: u64) -> Result<Vec<f64>, String> {
    let driver = D::start();
    // One a producer: jobs of different threads must not meet in a count of references.
    let ran: Vec<_> = (0..producers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let start = Arc::new(Barrier::new(producers as usize + 1));
    let begin = |number: u64| {
        let (client, start) = (driver.client(), Arc::clone(&start));
        let ran = Arc::clone(&ran[number as usize]);
        thread::spawn(move || {
            start.wait();
            produce(client, pairs, &ran)
        })
    };
    let threads: Vec<_> = (0..producers).map(begin).collect();
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
        return Err(format!("{}: jobs ran that were cancelled", D::NAME));
    }
    let pairs = (pairs * producers) as f64;
    Ok(vec![pairs / elapsed.as_secs_f64(), cpu.as_nanos() as f64 / pairs])
}

/// Returns the number of jobs that could not be cancelled.
fn produce<C: Client>(mut client: C, pairs: u64, ran: &Arc<AtomicU64>) -> u64 {
    let mut under_way = VecDeque::with_capacity(WINDOW + 1);
    let mut refused = 0;
    for _ in 0..pairs {
        let ran = Arc::clone(ran);
        let handle = client.schedule(DELAY, move || _ = ran.fetch_add(1, Ordering::Relaxed));
        under_way.push_back(handle);
        if under_way.len() > WINDOW {
            let oldest = under_way.pop_front().expect("one was pushed");
            refused += u64::from(client.cancel(oldest) == Some(false));
        }
    }
    for handle in under_way {
        refused += u64::from(client.cancel(handle) == Some(false));
    }
    refused
}
