//! Workers as processes, which are killed without a warning.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_jobs::args::StoreArgs;
use durable_jobs::clock::Clock;
use durable_jobs::demo::{Worker, lock};
use durable_jobs::ledger::Ledger;
use tokio::time::sleep;

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
    let shards = stores.open().await.unwrap();
    for step in 0..rounds() {
        let now = Clock::default().now_ms();
        let jobs: Vec<_> = (0..100).map(|nth| (step * 100 + nth, now + rand::random_range(0..1_500), vec![])).collect();
        jobs.iter().for_each(|job| lock(&ledger).put(job.0, job.1));
        insist(async || {
            let put = shards.put(jobs.clone()).await;
            jobs.iter().filter(|_| put.is_err()).for_each(|job| lock(&ledger).put_again(job.0));
            put
        })
        .await;
        sleep(Duration::from_millis(rand::random_range(100..500))).await;
        workers.remove(0).kill().await;
        if step % 3 == 1 {
            also().await;
        }
        workers.push(start().await);
    }
    insist(async || {
        let left = left(&shards).await;
        let lost = lock(&ledger).lost();
        if lost + left == 0 { Ok(()) } else { Err(format!("{lost} are lost, {left} are left")) }
    })
    .await;
    eprintln!("{}", lock(&ledger).verdict().unwrap());
    for worker in workers {
        worker.kill().await;
    }
}
