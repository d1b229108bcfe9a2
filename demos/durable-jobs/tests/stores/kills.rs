//! Workers as processes, which are killed without a warning.

use std::collections::{HashMap, HashSet};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_jobs::clock::Clock;
use durable_jobs::ledger::Ledger;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::trial::PATIENCE;

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_durable-jobs"));
    command.kill_on_drop(true);
    command
}

#[derive(Clone, Default)]
struct Seen {
    ledger: Arc<Mutex<Ledger>>,
    /// The attempts of each job that were seen, and when.
    attempts: Arc<Mutex<HashMap<u64, Vec<u32>>>>,
}

struct Worker {
    child: Child,
    reading: JoinHandle<()>,
}

impl Worker {
    async fn start(names: &[String], seen: &Seen) -> Self {
        let mut command = program();
        command.args([
            "worker",
            "--lifeline",
            "--partitions",
            "4",
            "--lease",
            "1s",
            "--tenure",
            "500ms",
            "--capacity",
            "32",
        ]);
        names.iter().for_each(|name| _ = command.args(["--store", name]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = seen.clone();
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let numbers: Vec<u64> = line.split(' ').take(3).filter_map(|number| number.parse().ok()).collect();
                if let [id, attempt, at_us] = numbers[..] {
                    seen.ledger.lock().unwrap().ran(id, at_us);
                    seen.attempts.lock().unwrap().entry(id).or_default().push(attempt as u32);
                }
            }
        });
        Self { child, reading }
    }

    async fn kill(mut self) {
        self.child.kill().await.unwrap();
        self.reading.await.unwrap();
    }
}

pub(crate) async fn of_workers(names: &[String]) {
    of_workers_and(names, async || {}).await;
}

/// Kills one of two workers again and again, and does something else to the store now and then.
pub(crate) async fn of_workers_and(names: &[String], mut also: impl AsyncFnMut()) {
    let seen = Seen::default();
    let mut workers = vec![Worker::start(names, &seen).await, Worker::start(names, &seen).await];
    let shards = crate::shards(names).await;
    let mut put_again = HashSet::new();
    for step in 0..6_u64 {
        let now = Clock::default().now_ms();
        let jobs: Vec<_> = (0..100).map(|nth| (step * 100 + nth, now + rand::random_range(0..1_500), vec![])).collect();
        jobs.iter().for_each(|job| seen.ledger.lock().unwrap().put(job.0, job.1));
        let end = Instant::now() + PATIENCE;
        while let Err(error) = shards.put(jobs.clone()).await {
            assert!(Instant::now() < end, "{error}");
            // They may have been there, and been done, and begin anew.
            put_again.insert(step);
            sleep(Duration::from_millis(20)).await;
        }
        sleep(Duration::from_millis(rand::random_range(100..500))).await;
        workers.remove(0).kill().await;
        if step % 3 == 1 {
            also().await;
        }
        workers.push(Worker::start(names, &seen).await);
    }
    let end = Instant::now() + PATIENCE;
    let left = async || {
        let mut left = seen.ledger.lock().unwrap().lost();
        for (_, store) in shards.all() {
            left += store.count().await.map_or(1, |counts| counts.iter().map(|count| count.jobs).sum());
        }
        left
    };
    while left().await > 0 {
        assert!(Instant::now() < end, "{} are left", left().await);
        sleep(Duration::from_millis(50)).await;
    }
    let verdict = seen.ledger.lock().unwrap().verdict();
    eprintln!("{}", verdict.unwrap());
    for (id, mut attempts) in seen.attempts.lock().unwrap().drain() {
        attempts.sort_unstable();
        assert!(
            put_again.contains(&(id / 100)) || attempts.windows(2).all(|pair| pair[0] < pair[1]),
            "two workers had one lease of {id}: {attempts:?}"
        );
    }
    for worker in workers {
        worker.kill().await;
    }
}
