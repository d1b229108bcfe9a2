//! Two workers as processes, jobs for a minute, and one worker that is killed.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Args, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::args::{StoreArgs, span};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::output::print;
use crate::store::{MAX_NUMBER, Shards, shown};

const BEAT: Duration = Duration::from_millis(50);

const LONGEST_MS: u64 = 10_000;

/// How long after the last deadline jobs may come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long the workers' claims last, so that those of the one that is killed are over soon.
const LEASE: [&str; 2] = ["--lease", "5s"];

#[derive(Args, Debug)]
pub struct Wishes {
    /// How many jobs
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    pub jobs: u64,
    /// The time over which they are due
    #[arg(long, default_value = "60s", value_parser = |text: &str| span(text, 2_000))]
    pub over: Duration,
}

/// Shows it, on standard output, and a progress bar on standard error if that is a terminal. Dropped or failed, it leaves no
/// process and no file. It fails if a job was lost or early.
pub async fn show(wishes: &Wishes, stores: &StoreArgs) -> Result<()> {
    let directory = tempfile::tempdir().map_err(Error::refused)?;
    let mut names = stores.names.clone();
    if names.is_empty() {
        names.push(directory.path().join("jobs.redb").display().to_string());
    }
    let stores = StoreArgs { names, ..stores.clone() };
    drop(stores.make().await?);
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let began = Instant::now();
    let tell = |bar: &ProgressBar, what: String| {
        bar.suspend(|| print(&format!("{:8.2} s  {what}\n", began.elapsed().as_secs_f64())))
    };

    // The first worker opens the file, if it is one, and serves it to the others. It is the one that is killed.
    let program = std::env::current_exe().map_err(Error::refused)?;
    let victim = Worker::start(&program, &stores, &ledger, &LEASE).await?;
    let survivor = Worker::start(&program, &stores, &ledger, &LEASE).await?;
    let shards = stores.open().await?;
    check_empty(&shards).await?;
    let bar = bar("jobs", wishes.jobs);
    tell(
        &bar,
        format!(
            "two workers share {} partitions in {}",
            shards.partitions(),
            stores.names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
        ),
    )?;
    tell(&bar, format!("{} jobs are due over {}", wishes.jobs, humantime::format_duration(wishes.over)))?;
    let putting = tokio::spawn(put(shards.clone(), wishes.jobs, wishes.over, Arc::clone(&ledger)));
    wait_for(&ledger, wishes.jobs, wishes.over / 2, &bar).await;
    victim.kill().await;
    tell(&bar, "one worker is killed; the other takes its partitions when the leases end".to_owned())?;
    let all = wait_for(&ledger, wishes.jobs, wishes.over / 2 + PATIENCE, &bar).await;
    tell(&bar, if all { "all jobs were run" } else { "not all jobs were run in time" }.to_owned())?;
    putting.abort();
    survivor.stop().await;
    bar.finish_and_clear();
    let verdict = lock(&ledger).verdict()?;
    print(&format!("\n{verdict}\n"))
}

pub fn lock<T>(it: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A progress bar on standard error, if that is a terminal.
pub fn bar(name: &'static str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:10} [{bar:40}] {pos}/{len}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    ProgressBar::new(length).with_style(style).with_message(name)
}

/// Refuses stores that have jobs already, which the workers would run.
pub(crate) async fn check_empty(shards: &Shards) -> Result<()> {
    for (layout, store) in &shards.stores {
        for part in layout.parts() {
            if !store.scan(part, None, 1).await?.is_empty() {
                return Err(Error::Refused("there are jobs in the store, and they would be run".to_owned()));
            }
        }
    }
    Ok(())
}

/// Waits until so many jobs were run, or for so long. Answers whether they were.
pub(crate) async fn wait_for(ledger: &Mutex<Ledger>, jobs: u64, patience: Duration, bar: &ProgressBar) -> bool {
    let (end, before) = (Instant::now() + patience, bar.position() - lock(ledger).run());
    loop {
        let run = lock(ledger).run();
        bar.set_position(before + run);
        if run >= jobs || Instant::now() >= end {
            return run >= jobs;
        }
        sleep(BEAT).await;
    }
}

/// Puts jobs at a steady rate, with delays of up to ten seconds, the last of them due at the end.
pub(crate) async fn put(shards: Shards, jobs: u64, over: Duration, ledger: Arc<Mutex<Ledger>>) {
    let over_ms = over.as_millis() as u64;
    let clock = Clock::default();
    let (began, began_ms) = (Instant::now(), clock.now_ms());
    let base = rand::random_range(0..=MAX_NUMBER - jobs);
    let mut put = 0;
    while put < jobs {
        let beat = began.elapsed().as_millis() as u64;
        let wanted = (u128::from(jobs) * u128::from(beat + 1) / u128::from(over_ms)).min(jobs.into()) as u64;
        let job = |nth| {
            let latest = (beat + LONGEST_MS).min(over_ms).max(beat);
            (base + nth, began_ms + rand::random_range(beat..=latest), b"demo".to_vec())
        };
        let batch: Vec<_> = (put..wanted).map(job).collect();
        batch.iter().for_each(|(id, deadline, _)| lock(&ledger).put(*id, *deadline));
        for chunk in batch.chunks(1_000) {
            // A job that is there already stays as it is, so it can be put again if nobody knows whether it is.
            while shards.put(chunk.to_vec()).await.is_err() {
                chunk.iter().for_each(|job| lock(&ledger).put_again(job.0));
                sleep(BEAT).await;
            }
        }
        put = wanted;
        sleep(BEAT).await;
    }
}

/// A worker as a process, and what it prints.
pub struct Worker {
    child: Child,
    /// Answers the statements that it has sent, if it says so at its end.
    reading: JoinHandle<u64>,
}

impl Worker {
    /// Starts a worker by this program, and waits until it has opened the stores.
    pub async fn start(
        program: &Path,
        stores: &StoreArgs,
        ledger: &Arc<Mutex<Ledger>>,
        arguments: &[&str],
    ) -> Result<Self> {
        let broken = |error: &dyn std::fmt::Display| Error::Broken(format!("no worker: {error}"));
        let mut command = Command::new(program);
        command.args(["worker", "--lifeline", "--partitions", &stores.partitions.to_string()]);
        command.args(["--patience", &humantime::format_duration(stores.patience).to_string().replace(' ', "")]);
        command.args(stores.no_news.then_some("--no-news")).args(stores.no_prepare.then_some("--no-prepare"));
        stores.names.iter().for_each(|name| _ = command.args(["--store", name]));
        command.args(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| broken(&error))?;
        let stdout = child.stdout.take().ok_or_else(|| broken(&"no standard output"))?;
        let mut lines = BufReader::new(stdout).lines();
        match lines.next_line().await {
            Ok(Some(line)) if line == "ready" => {}
            _ => return Err(Error::Refused("a worker did not start, for the reason above".to_owned())),
        }
        let ledger = Arc::clone(ledger);
        let reading = tokio::spawn(async move {
            let mut statements = 0;
            while let Ok(Some(line)) = lines.next_line().await {
                lock(&ledger).ran_line(&line);
                statements = line.strip_prefix("statements ").and_then(|it| it.parse().ok()).unwrap_or(statements);
            }
            statements
        });
        Ok(Self { child, reading })
    }

    /// Kills it, and reads what it had printed.
    pub async fn kill(mut self) {
        let _ = self.child.kill().await;
        let _ = self.reading.await;
    }

    pub fn id(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    /// Lets it end its jobs. Answers the statements that it has sent.
    pub async fn stop(mut self) -> u64 {
        drop(self.child.stdin.take());
        let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        self.reading.await.unwrap_or(0)
    }
}
