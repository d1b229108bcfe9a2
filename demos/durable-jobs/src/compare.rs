//! The same load by polling and by the window, on PostgreSQL: lateness, statements, and processor time.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use comfy_table::{CellAlignment, Table, presets};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_postgres::{Client, NoTls};

use crate::args::{StoreArgs, span};
use crate::clock::Clock;
use crate::demo::{self, Worker, lock};
use crate::error::{Error, Result};
use crate::ledger;
use crate::output::print;
use crate::store::postgres::sql::SCAN;
use crate::store::postgres::{LONG, Postgres};
use crate::store::{End, Layout, Store};

/// The rows of one statement that polls.
const BATCH: usize = 100;

#[derive(Args, Debug)]
pub struct Wishes {
    /// Jobs a second
    #[arg(long, default_value_t = 500, value_parser = value_parser!(u64).range(1..=10_000))]
    rate: u64,
    /// How long each way runs
    #[arg(long, default_value = "20s", value_parser = |text: &str| span(text, 2_000))]
    over: Duration,
    /// Rows to delete after the first runs, while a transaction that could see them is open. Then all runs are repeated,
    /// with the transaction still open
    #[arg(long, default_value_t = 200_000, value_parser = value_parser!(u64).range(..=10_000_000))]
    graves: u64,
    /// How often the window's worker looks at the store again
    #[arg(long, default_value = "1m", value_parser = |text: &str| span(text, 100))]
    reload: Duration,
    /// Leaves polling out
    #[arg(long)]
    no_polling: bool,
}

/// What queues on PostgreSQL do instead of a window.
const POLL: &str = "UPDATE durable_job SET deadline = $2, attempts = attempts + 1 WHERE part = 0 AND id IN (
        SELECT id FROM durable_job WHERE part = 0 AND deadline <= $1
        ORDER BY deadline, id LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING id, attempts, payload";

/// The ways of taking jobs, by how often they poll.
const WAYS: [(&str, Option<&str>); 3] =
    [("window", None), ("poll each 100 ms", Some("100ms")), ("poll each second", Some("1s"))];

/// Runs each way on a database of its own that has no jobs, one partition for all.
pub async fn show(wishes: &Wishes, stores: &StoreArgs) -> Result<()> {
    let [name] = &stores.names[..] else {
        return Err(Error::Refused("compare wants one --store postgres://...".to_owned()));
    };
    if !name.starts_with("postgres") {
        return Err(Error::Refused(format!("{name}: it wants postgres://...")));
    }
    let stores = StoreArgs { names: vec![name.clone()], partitions: 1, ..stores.clone() };
    let shards = stores.make().await?;
    demo::check_empty(&shards).await?;
    let layout = Layout { partitions: 1, shard: 0, shards: 1 };
    let store = Postgres::open(name, layout, &stores.options(false)).await?;
    let program = std::env::current_exe().map_err(Error::refused)?;
    let jobs = wishes.rate * wishes.over.as_secs();
    let [over, reload] = [wishes.over, wishes.reload].map(|time| humantime::format_duration(time).to_string());
    print(&format!(
        "{jobs} jobs over {over} for each way, in one partition; the window is rechecked each {reload}\n\n"
    ))?;
    let reload = reload.replace(' ', "");
    let ways = if wishes.no_polling { &WAYS[..1] } else { &WAYS };
    let mut table = Table::new();
    let heads =
        ["", "deleted rows", "p50", "p99", "max", "statements/s", "worker CPU", "server CPU", "floor", "first row"];
    table.load_preset(presets::NOTHING).set_header(heads);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let bar = demo::bar("compare", jobs * ways.len() as u64 * if wishes.graves > 0 { 2 } else { 1 });
    for graves in [0, wishes.graves].into_iter().take(1 + usize::from(wishes.graves > 0)) {
        let _open = if graves > 0 { Some(bury(&store, name, graves).await?) } else { None };
        for (way, poll) in ways {
            let ledger = Arc::default();
            let arguments = poll.map_or(["--reload", &reload], |every| ["--poll", every]);
            let worker = Worker::start(&program, &stores, &ledger, &arguments).await?;
            let (pid, server, began) = (worker.id(), server(&store).await?, Instant::now());
            let (worker_began, server_began) = (processor(pid), server.and_then(processor_of_tree));
            let putting = tokio::spawn(demo::put(shards.clone(), jobs, wishes.over, Arc::clone(&ledger)));
            demo::wait_for(&ledger, jobs, wishes.over + demo::PATIENCE, &bar).await;
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
            let floor = store.leases().await?.iter().find(|lease| lease.key == 0).map_or(0, |lease| lease.floor);
            let [from_floor, from_first] = match poll {
                None => [buffers(&store, floor).await?, buffers(&store, 0).await?].map(|buffers| buffers.to_string()),
                Some(_) => ["-", "-"].map(str::to_owned),
            };
            let [way, graves] = [(*way).to_owned(), graves.to_string()];
            table.add_row([way, graves, p50, p99, max, rate, worker_share, server_share, from_floor, from_first]);
        }
    }
    bar.finish_and_clear();
    print(&format!("{}\n\nfloor, first row: the buffers that a scan visits from there at the end\n", table.trim_fmt()))
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
                let Ok(taken) = store.run(POLL, &[&(now as i64), &(until as i64), &(BATCH as i64)]).await else {
                    break;
                };
                let mut ends = Vec::new();
                for job in &taken {
                    let (id, attempt) = (job.get::<_, i64>(0), job.get::<_, i32>(1));
                    if print(&format!("{id} {attempt} {} demo\n", clock.now_us())).is_ok() {
                        ends.push(((until, id as u64), End::Done));
                    }
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

/// Inserts and deletes rows that were due first, while a transaction that could see them is open until the client is dropped.
async fn bury(store: &Postgres, url: &str, rows: u64) -> Result<Client> {
    let insert = "INSERT INTO durable_job SELECT 0, id, 1, 0, '' FROM generate_series(0, $1::bigint - 1) AS id";
    store.within(LONG, insert, &[&(rows as i64)]).await?;
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(Error::store)?;
    tokio::spawn(connection);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM durable_job LIMIT 1";
    client.batch_execute(begin).await.map_err(Error::store)?;
    store.within(LONG, "DELETE FROM durable_job WHERE part = 0 AND deadline = 1", &[]).await?;
    Ok(client)
}

/// The buffers that a scan of a hundred rows from a deadline on visits, as the server plans it.
pub async fn buffers(store: &Postgres, deadline: u64) -> Result<u64> {
    let scan = [("$1", "0"), ("$2", &deadline.to_string()), ("$3", "0"), ("$4", "100")];
    let scan = scan.iter().fold(SCAN.to_owned(), |sql, (name, value)| sql.replace(name, value));
    let explained = store.within(LONG, &format!("EXPLAIN (ANALYZE, BUFFERS) {scan}"), &[]).await?;
    let lines = explained.iter().map(|line| line.get::<_, String>(0));
    // The first line that has them counts those of the whole plan.
    let line = lines.into_iter().find_map(|line| line.trim().strip_prefix("Buffers: shared ").map(str::to_owned));
    let counts = line.unwrap_or_default();
    let counts = counts.split([' ', ',']).filter_map(|word| word.strip_prefix("hit=").or(word.strip_prefix("read=")));
    Ok(counts.filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// The process of the server, if it runs on this machine.
async fn server(store: &Postgres) -> Result<Option<u32>> {
    let record = store.run("SELECT pg_backend_pid()", &[]).await?;
    let status = fs::read_to_string(format!("/proc/{}/status", record[0].get::<_, i32>(0))).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t")?.parse().ok());
    Ok(parent.filter(|_| status.starts_with("Name:\tpostgres")))
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
