//! The same load by polling and by the window, on PostgreSQL: lateness, statements, and processor time.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use comfy_table::{CellAlignment, Table, presets};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::cli::{StoreArgs, milliseconds, print};
use crate::clock::Clock;
use crate::demo::{self, Worker, lock};
use crate::error::{Error, Result};
use crate::ledger;
use crate::store::postgres::Postgres;
use crate::store::{Layout, Reach, Store};

/// The rows of one statement that polls.
const BATCH: usize = 100;

/// What to compare.
#[derive(Args, Debug)]
pub struct Wishes {
    /// Jobs a second
    #[arg(long, default_value_t = 500, value_parser = value_parser!(u64).range(1..=10_000))]
    rate: u64,
    /// How long each way runs
    #[arg(long, default_value = "20s")]
    over: String,
    /// Rows that are deleted before, while a transaction that could see them is open. Then all run once more
    #[arg(long, default_value_t = 200_000, value_parser = value_parser!(u64).range(..=10_000_000))]
    graves: u64,
}

/// The ways of taking jobs, by the arguments of a worker.
const WAYS: [(&str, &[&str]); 3] =
    [("window", &[]), ("poll each 100 ms", &["--poll", "100ms"]), ("poll each second", &["--poll", "1s"])];

/// Runs each way on a database of its own that has no jobs, one partition for all.
pub async fn show(wishes: &Wishes, stores: &StoreArgs) -> Result<()> {
    let over_ms = milliseconds("--over", &wishes.over)?;
    let [name] = &stores.names[..] else {
        return Err(Error::Refused("compare wants one --store postgres://...".to_owned()));
    };
    if !name.starts_with("postgres") || !(2_000..=3_600_000).contains(&over_ms) {
        return Err(Error::Refused(format!("{name} for {}: it wants postgres://... and from 2s to 1h", wishes.over)));
    }
    let stores = StoreArgs { names: vec![name.clone()], partitions: 1, ..*stores };
    let shards = stores.open().await?;
    demo::check_empty(&shards).await?;
    let store =
        Postgres::open(name, Layout { partitions: 1, shard: 0, shards: 1 }, Reach { news: true, connections: 1 })
            .await?;
    let jobs = wishes.rate * over_ms / 1_000;
    print(&format!("{jobs} jobs over {} for each way, in one partition\n\n", wishes.over));
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header([
        "",
        "deleted rows",
        "p50",
        "p99",
        "max",
        "statements/s",
        "worker CPU",
        "server CPU",
    ]);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let bar = demo::bar("compare", jobs * if wishes.graves > 0 { 6 } else { 3 });
    for graves in [0, wishes.graves].into_iter().take(1 + usize::from(wishes.graves > 0)) {
        let _open = if graves > 0 { Some(store.bury(graves).await?) } else { None };
        for (way, arguments) in WAYS {
            let ledger = Arc::default();
            let worker = Worker::start(&stores, &ledger, arguments).await?;
            let (pid, server, began) = (worker.id(), store.server().await?, Instant::now());
            let (worker_began, server_began) = (processor(pid), server.and_then(processor_of_tree));
            let putting = tokio::spawn(demo::put(shards.clone(), jobs, over_ms, Arc::clone(&ledger)));
            demo::wait_for(&ledger, jobs, Duration::from_millis(over_ms) + demo::PATIENCE, &bar).await;
            let seconds = began.elapsed().as_secs_f64();
            let share = |began: Option<f64>, now: Option<f64>| match (began, now) {
                (Some(began), Some(now)) => format!("{:.1} %", (now - began) / seconds * 100.0),
                _ => "-".to_owned(),
            };
            let (worker_share, server_share) =
                (share(worker_began, processor(pid)), share(server_began, server.and_then(processor_of_tree)));
            putting.abort();
            let statements = worker.stop().await;
            let verdict = lock(&ledger).verdict();
            verdict?;
            let [p50, p99, max] = lock(&ledger).lateness().map(ledger::milliseconds);
            let rate = format!("{:.0}", statements as f64 / seconds);
            table.add_row([way.to_owned(), graves.to_string(), p50, p99, max, rate, worker_share, server_share]);
        }
    }
    bar.finish_and_clear();
    print(&format!("{}\n", table.trim_fmt()));
    Ok(())
}

/// Takes jobs by asking for them every so often, until the future ends.
pub async fn poll(store: &Postgres, every: Duration, lease: Duration, clock: &Clock, stop: impl Future) {
    let work = async {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            loop {
                let now = clock.now_ms();
                let until = now + lease.as_millis() as u64;
                let Ok(taken) = store.poll(0, now, until, BATCH).await else { break };
                let mut ends = Vec::new();
                for (id, attempt, payload) in &taken {
                    print(&format!("{id} {attempt} {} {}\n", clock.now_us(), String::from_utf8_lossy(payload)));
                    ends.push(((until, *id), None));
                }
                let settled = store.settle(0, &ends).await;
                if settled.is_err() || taken.len() < BATCH {
                    break;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        _ = stop => {}
    }
}

/// The processor time of a process in seconds, and that of its children that have ended.
fn processor(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, in parentheses, come the state and ten numbers; then the four times.
    let times = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    let ticks: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    Some(ticks as f64 / 100.0)
}

/// That of a server and all its processes, if it runs on this machine.
fn processor_of_tree(pid: u32) -> Option<f64> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|child| processor(child.parse().ok()?));
    Some(processor(pid)? + children.sum::<f64>())
}
