//! The command line.

use std::io::{self, Read};
use std::panic;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, value_parser};
use comfy_table::{CellAlignment, Table, presets};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::args::{StoreArgs, span};
use crate::clock::Clock;
use crate::compare;
use crate::demo::{self, Wishes, lock};
use crate::error::{Error, Result};
use crate::output::print;
use crate::program;
use crate::store::postgres::{Postgres, STATEMENTS};
use crate::store::{MAX_NUMBER, MAX_PAYLOAD, Shards};
use crate::worker::{self, Deliver, Delivery, Settings};

/// How many jobs `put --copies` inserts at a time.
const CHUNK: u64 = 10_000;

/// How many of the jobs that have failed `status` shows.
const SHOWN: usize = 10;

/// The most bytes of payload that it inserts at a time.
const CHUNK_BYTES: usize = 4 << 20;

/// Delayed jobs in a store, run by as many workers as there are.
///
/// Exits with 0 when all is well, with 1 when there is no such job, no answer, or a broken promise, with 2 if the input is
/// at fault, with 130 when interrupted.
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    stores: StoreArgs,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Creates the tables of PostgreSQL, which needs the right to; all other commands only read and write rows
    Migrate,
    /// Inserts a job, and prints its id
    Put(PutArgs),
    /// Removes a job
    Cancel { id: u64 },
    /// Runs a failed job again, or all of them, and prints how many
    Retry { id: Option<u64> },
    /// Runs jobs when they are due
    Worker(WorkerArgs),
    /// For --exec: runs a program until the worker dies
    #[command(hide = true)]
    Keep {
        worker: u32,
        #[arg(num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<String>,
    },
    /// Prints how many jobs each partition has and how many have failed, when the first is due, and who looks after it
    Status,
    /// Runs two workers and kills one, and tells how late jobs were and how many were lost
    Demo(Wishes),
    /// Runs a load on an empty PostgreSQL by polling and by the window, and tells how late jobs were and what it took
    Compare(compare::Wishes),
}

#[derive(Args, Debug)]
struct PutArgs {
    /// At most 64 KiB; - reads it from standard input
    payload: String,
    /// When it is due from now on, such as 10s or 3days
    #[arg(long = "in", value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    delay: Duration,
    /// When it is due, such as 2030-01-31T12:00:00Z
    #[arg(long, conflicts_with = "delay", value_parser = humantime::parse_rfc3339_weak)]
    at: Option<SystemTime>,
    /// Its id: a job is refused while another with this id waits [default: a random one]
    #[arg(long)]
    id: Option<u64>,
    /// For trials: how many to insert, with ids that rise
    #[arg(long, default_value_t = 1, conflicts_with = "id", value_parser = value_parser!(u64).range(1..=1 << 40))]
    copies: u64,
    /// For trials: the time over which the copies are due, evenly
    #[arg(long, default_value = "0s", value_parser = humantime::parse_duration)]
    over: Duration,
}

#[derive(Args, Debug)]
struct WorkerArgs {
    /// A program to run for each job, with its payload on standard input, and JOB_ID and JOB_ATTEMPT in the environment. If
    /// it fails, it is run again later [default: print a line for each job: id, attempt, microseconds since 1970, and the payload,
    /// with escapes such as \n and \xff for all but printable ASCII]
    #[arg(long, num_args = 1.., value_name = "PROGRAM", allow_hyphen_values = true)]
    exec: Vec<String>,
    /// How long a job may take. When a worker has died, others run its jobs once this time has passed since it claimed them
    #[arg(long, default_value = "30s", value_parser = |text: &str| span(text, 100))]
    lease: Duration,
    /// How long a worker that has died keeps its partitions
    #[arg(long, default_value = "3s", value_parser = |text: &str| span(text, 100))]
    tenure: Duration,
    /// How often to recheck the store from a minute ago on, for jobs that were inserted without a notification
    #[arg(long, default_value = "1m", value_parser = |text: &str| span(text, 100))]
    reload: Duration,
    /// How often to recheck all of it, for such jobs that were inserted with a deadline long past
    #[arg(long, default_value = "1h", value_parser = |text: &str| span(text, 100))]
    sweep: Duration,
    /// Rows in the window of each partition
    #[arg(long, default_value_t = 10_000, value_parser = value_parser!(u32).range(4..))]
    capacity: u32,
    /// Jobs under way at a time [default: 8 with --exec, else 2000]
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// After how many attempts a job is put among those that have failed
    #[arg(long, default_value_t = 25, value_parser = value_parser!(u32).range(1..))]
    attempts: u32,
    /// For tests: say "ready" on standard output, and stop when standard input ends
    #[arg(long, hide = true)]
    lifeline: bool,
    /// For comparison: how often to ask for jobs, in place of a window
    #[arg(long, hide = true, value_parser = |text: &str| span(text, 100))]
    poll: Option<Duration>,
}

pub fn main() -> ExitCode {
    let say = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        // A damaged file makes redb panic, of which the store says one line.
        if !panic.location().is_some_and(|at| at.file().contains("/redb-")) {
            say(panic);
        }
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            // Clap adds usage and tips in further paragraphs.
            let text = error.to_string();
            let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
            eprintln!("durable-jobs: {}", first.join(" ").trim_start_matches("error: "));
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ran = runtime.map_err(|error| Error::Broken(error.to_string())).and_then(|runtime| {
        let ran = runtime.block_on(run(cli));
        runtime.shutdown_background();
        ran
    });
    match ran {
        Ok(status) => status,
        Err(error) => {
            eprintln!("durable-jobs: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

async fn run(Cli { action, stores }: Cli) -> Result<ExitCode> {
    let done = match action {
        Action::Keep { worker, program } => return Ok(program::keep(worker, &program).await),
        Action::Migrate => stores.make().await.map(drop),
        Action::Put(args) => put(&stores, args).await,
        Action::Cancel { id } => match id <= MAX_NUMBER && stores.open().await?.cancel(id).await? {
            true => Ok(()),
            false => Err(Error::Broken("no such job".to_owned())),
        },
        Action::Retry { id } => {
            let back = stores.open().await?.retry(id, Clock::default().now_ms()).await?;
            print(&format!("{back}\n"))
        }
        Action::Worker(args) => work(&stores, args).await,
        Action::Status => status(&stores.open().await?).await,
        Action::Demo(wishes) => unless_interrupted(demo::show(&wishes, &stores)).await,
        Action::Compare(wishes) => unless_interrupted(compare::show(&wishes, &stores)).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}

async fn unless_interrupted(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::select! {
        biased;
        () = interrupt() => Err(Error::Interrupted),
        done = work => done,
    }
}

async fn put(stores: &StoreArgs, args: PutArgs) -> Result<()> {
    let refuse = |problem: &str| Err(Error::Refused(problem.to_owned()));
    let mut payload = args.payload.into_bytes();
    if payload == b"-" {
        payload.clear();
        io::stdin().take(MAX_PAYLOAD as u64 + 1).read_to_end(&mut payload).map_err(Error::refused)?;
    }
    if payload.len() > MAX_PAYLOAD {
        return refuse("the payload has more than 65536 bytes");
    }
    let Ok(first) = args.at.unwrap_or_else(SystemTime::now).duration_since(UNIX_EPOCH) else {
        return refuse("--at is before 1970");
    };
    let (first, over) = (first.as_millis() + args.delay.as_millis(), args.over.as_millis());
    let first_id = args.id.unwrap_or_else(|| rand::random_range(0..=MAX_NUMBER - args.copies));
    if first + over > MAX_NUMBER.into() || first_id > MAX_NUMBER {
        return refuse("an id or a deadline is beyond 9223372036854775807");
    }
    let shards = stores.open().await?;
    let chunk = CHUNK.min((CHUNK_BYTES / payload.len().max(1)) as u64).max(1);
    let bar = demo::bar("putting", args.copies);
    for from in (0..args.copies).step_by(chunk as usize) {
        let to = args.copies.min(from + chunk);
        let deadline = |nth: u64| (first + over * u128::from(nth) / u128::from(args.copies)) as u64;
        let jobs = (from..to).map(|nth| (first_id + nth, deadline(nth), payload.clone())).collect();
        if shards.put(jobs).await? < to - from {
            return refuse("a job with this id is waiting already");
        }
        bar.inc(to - from);
    }
    bar.finish_and_clear();
    if args.copies == 1 { print(&format!("{first_id}\n")) } else { Ok(()) }
}

async fn work(stores: &StoreArgs, args: WorkerArgs) -> Result<()> {
    let clock = Clock::default();
    let settings = Settings {
        owner: rand::random_range(0..=MAX_NUMBER),
        lease: args.lease,
        tenure: args.tenure,
        reload: args.reload,
        sweep: args.sweep,
        capacity: args.capacity as usize,
        at_once: args.at_once.unwrap_or(if args.exec.is_empty() { 2_000 } else { 8 }) as usize,
        attempts: args.attempts,
        clock: clock.clone(),
    };
    let shards = stores.open().await?;
    // The first line that could not be written. It ends the worker, as no other could be.
    let (fault, failed) = (Arc::new(Mutex::new(None)), CancellationToken::new());
    let (first, stopping) = (Arc::clone(&fault), failed.clone());
    let deliver: Deliver = match args.exec.is_empty() {
        true => Arc::new(move |job: Delivery| {
            // Escaped, so that a payload is no line of its own.
            let (now, payload) = (clock.now_us(), job.payload.escape_ascii());
            let printed = print(&format!("{} {} {now} {payload}\n", job.id, job.attempt));
            if let Err(error) = &printed {
                lock(&first).get_or_insert(error.clone());
                stopping.cancel();
            }
            std::future::ready(printed.map_err(|error| error.to_string())).boxed()
        }),
        false => Arc::new(move |job: Delivery| program::execute(args.exec.clone(), job).boxed()),
    };
    let stop = async {
        let (mut stdin, mut nowhere) = (tokio::io::stdin(), tokio::io::sink());
        tokio::select! {
            () = interrupt() => {}
            () = failed.cancelled() => {}
            _ = tokio::io::copy(&mut stdin, &mut nowhere), if args.lifeline => {}
        }
    };
    if args.lifeline {
        print("ready\n")?;
    }
    if let Some(every) = args.poll {
        let store = Postgres::open(&stores.names[0], shards.stores[0].0, &stores.options(false)).await?;
        compare::poll(&store, every, settings.lease, &settings.clock, stop).await;
    } else {
        worker::run(&shards, settings, deliver, stop).await?;
    }
    if let Some(error) = lock(&fault).take() {
        return Err(error);
    }
    if args.lifeline {
        print(&format!("statements {}\n", STATEMENTS.load(Ordering::Relaxed)))?;
    }
    Ok(())
}

async fn status(shards: &Shards) -> Result<()> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["partition", "store", "jobs", "failed", "first due", "worker"]);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let (now, mut all, mut all_failed, mut rows) = (Clock::default().now_ms(), 0, 0, Vec::new());
    let mut errors = String::new();
    for (layout, store) in &shards.stores {
        let leases = store.leases().await?;
        for part in layout.parts() {
            let ((jobs, failed), first) = (store.count(part).await?, store.scan(part, None, 1).await?);
            for job in store.failed(part, SHOWN).await?.into_iter().take(SHOWN.saturating_sub(errors.lines().count())) {
                errors += &format!("job {}, attempt {}: {}\n", job.id, job.attempts, job.error.escape_default());
            }
            let first = first.first().map(|row| (i128::from(row.0) - i128::from(now)) as f64 / 1e3);
            let first = first.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:+.3} s"));
            let lease = leases.iter().find(|lease| lease.key == u64::from(part) && lease.until > now);
            let worker = lease.map_or_else(|| "-".to_owned(), |lease| format!("{:x}", lease.owner));
            all += jobs;
            all_failed += failed;
            let [number, shard] = [part, layout.shard + 1].map(|number| number.to_string());
            rows.push((part, [number, shard, jobs.to_string(), failed.to_string(), first, worker]));
        }
    }
    rows.sort_unstable();
    table.add_rows(rows.into_iter().map(|row| row.1));
    print(&format!("{}\n{errors}{all} jobs, {all_failed} failed\n", table.trim_fmt()))
}

/// Ready at an interrupt, or at a request to terminate.
async fn interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
