//! Workers as processes, which are killed without a warning.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_jobs::args::StoreArgs;
use durable_jobs::clock::Clock;
use durable_jobs::demo::{Worker, lock};
use durable_jobs::ledger::Ledger;
use durable_jobs::store::Shards;
use tokio::time::{Instant, sleep};

use crate::trial::{insist, left};

/// How many kills there are. A longer trial is a matter of the environment.
fn rounds() -> u64 {
    std::env::var("KILLS").map_or(6, |kills| kills.parse().unwrap())
}

/// Kills one of two workers again and again, and does something else to the store now and then.
pub(crate) async fn of_workers(names: &[String], mut also: impl AsyncFnMut()) {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let stores = StoreArgs::new(names, 4);
    let program = Path::new(env!("CARGO_BIN_EXE_durable-jobs"));
    let quick = ["--lease", "1s", "--tenure", "500ms", "--capacity", "32"];
    let start = async || insist(async || Worker::start(program, &stores, &ledger, &quick).await).await;
    let mut workers = vec![start().await, start().await];
    let shards = insist(async || stores.open().await).await;
    for step in 0..rounds() {
        put(&shards, &ledger, step, 1_500).await;
        sleep(Duration::from_millis(rand::random_range(100..500))).await;
        workers.remove(0).kill().await;
        if step % 3 == 1 {
            also().await;
        }
        workers.push(start().await);
    }
    all_are_done(&shards, &ledger).await;
    for worker in workers {
        worker.kill().await;
    }
}

/// Lets two workers run two hundred jobs a second, kills one of them twice a minute, and does something to the store now and
/// then: the other's memory stays flat. The lateness is printed, because it depends on what else the machine does.
pub(crate) async fn soak(names: &[String], mut also: impl AsyncFnMut()) {
    let minutes: u64 = std::env::var("SOAK_MINUTES").map_or(60, |minutes| minutes.parse().unwrap());
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let stores = StoreArgs::new(names, 4);
    let program = Path::new(env!("CARGO_BIN_EXE_durable-jobs"));
    let quick = ["--lease", "2s", "--tenure", "1s"];
    let start = async || insist(async || Worker::start(program, &stores, &ledger, &quick).await).await;
    let (survivor, mut victim) = (start().await, start().await);
    let shards = insist(async || stores.open().await).await;
    let (mut steps, mut seen) = (0.., Vec::new());
    for kill in 0..2 * minutes {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end {
            put(&shards, &ledger, steps.next().unwrap(), 3_000).await;
            sleep(Duration::from_millis(500)).await;
        }
        victim.kill().await;
        if kill % 10 == 5 {
            also().await;
        }
        victim = start().await;
        seen.push((memory_kib(survivor.id()), lock(&ledger).lateness()[1]));
    }
    all_are_done(&shards, &ledger).await;
    let (warm, last) = (seen[seen.len() / 4], seen[seen.len() - 1]);
    eprintln!("memory in KiB and p99 of the lateness in us, after a quarter {warm:?}, at the end {last:?}");
    assert!(last.0 <= warm.0 + warm.0 / 4, "{seen:?}");
    survivor.kill().await;
    victim.kill().await;
}

/// Puts the hundred jobs of a step, which are due within so long.
async fn put(shards: &Shards, ledger: &Mutex<Ledger>, step: u64, over_ms: u64) {
    let now = Clock::default().now_ms();
    let jobs: Vec<_> = (0..100).map(|nth| (step * 100 + nth, now + rand::random_range(0..over_ms), vec![])).collect();
    jobs.iter().for_each(|job| lock(ledger).put(job.0, job.1));
    insist(async || {
        let put = shards.put(jobs.clone()).await;
        jobs.iter().filter(|_| put.is_err()).for_each(|job| lock(ledger).put_again(job.0));
        put
    })
    .await;
}

/// Waits until no job is lost or left, and checks that none was early or claimed twice.
async fn all_are_done(shards: &Shards, ledger: &Mutex<Ledger>) {
    insist(async || {
        let left = left(shards).await;
        let lost = lock(ledger).lost();
        if lost + left == 0 { Ok(()) } else { Err(format!("{lost} are lost, {left} are left")) }
    })
    .await;
    eprintln!("{}", lock(ledger).verdict().unwrap());
}

/// What a process has in memory.
fn memory_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}
