//! Replays a cache access trace through a cache whose entries expire by the timer wheel, and through the
//! same cache on other queues, and shows that all of them expired the same keys at the same times in the
//! same order, and what each cost.
//!
//! # How it runs
//!
//! The trace, real or made up after a real cluster's figures, is decoded into memory first; then every
//! queue replays it on a cache of its own, in several passes. Which passes and how each figure comes
//! about is told where it is measured: [`replay`] for the passes, [`audit`] for *early*, *late* and the
//! digest, `replay::script` for the time in the queue and `replay::pauses` for the longest advance.
//! The traces are described in [`trace`], and the synthetic one in `trace::synthetic`.
//!
//! With `--watch` nothing is compared: [`mod@watch`] shows the wheel turning instead.
//!
//! # How to read the figures
//!
//! - **ns a request** is the whole replay, shared out: reading the request, the cache's table and the
//!   queue. The cache stores no values and its keys are numbers already, so a real cache takes longer, and
//!   the queue's part of it is smaller.
//! - **ns in the queue** is an average over all calls of the queue, advances among them; an advance that
//!   finds nothing due is a call as well.
//! - **A pause** is one call to advance. With a budget an advance may take several calls, which are made
//!   right after each other, since a cache must not answer from an entry whose time is up; each is a
//!   pause of its own.
//! - The digests depend on the trace and the rules alone, not on the queue, its geometry, its budget or
//!   the machine.

mod args;
mod audit;
mod cache;
mod failure;
mod figure;
mod interrupt;
mod json;
mod machine;
mod observer;
mod output;
mod progress;
mod queue;
mod replay;
mod report;
mod setup;
mod table;
mod trace;
mod watch;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use args::{Args, GeometryName, QueueName, name_of};
use failure::Failure;
use progress::Progress;
use queue::{BTree, BudgetedWheel, Index, PlainWheel, Textbook};
use replay::{Comparison, Contender, Named};
use setup::Setup;
use trace::{BadLines, Trace, profile};

fn main() -> ExitCode {
    interrupt::listen();
    let args = Args::parse();
    let status = if args.watch {
        watch(&args).map(|()| 0)
    } else {
        run(&args).map(|comparison| comparison.exit_status())
    };
    let status = match status {
        Ok(status) => status,
        Err(failure) => {
            output::say(&format!("replay: {failure}"));
            failure.exit_status()
        }
    };
    ExitCode::from(status)
}

/// Shows the wheel at work instead of measuring it.
fn watch(args: &Args) -> Result<(), Failure> {
    watch::check_terminal()?;
    let trace = obtain(args, Progress::Shown)?;
    for skipped in &trace.skipped.first {
        output::say(&format!("replay: {skipped}"));
    }
    let watch = match args.geometry() {
        GeometryName::Millis => watch::run::<Millis>,
        GeometryName::Caffeine => watch::run::<Caffeine>,
        GeometryName::Micros => watch::run::<Micros>,
        GeometryName::Compact => watch::run::<Compact>,
    };
    watch(args, &trace, setup::policy(args))
}

/// Compares and reports, as the arguments ask for.
fn run(args: &Args) -> Result<Comparison, Failure> {
    let json_file = args.json.as_deref().filter(|file| *file != Path::new("-"));
    let json_on_stdout = args.json.is_some() && json_file.is_none();
    let is_talkative = !args.quiet && !json_on_stdout;
    let page_file = args.report.join("report.html");
    output::check_folder(&args.report)?;
    if args.report.exists() {
        output::check_file(&page_file)?;
    }
    json_file.map_or(Ok(()), output::check_file)?;

    let progress = if args.quiet {
        Progress::Hidden
    } else {
        Progress::Shown
    };
    let trace = obtain(args, progress)?;
    for skipped in &trace.skipped.first {
        output::say(&format!("replay: {skipped}"));
    }
    let setup = Setup::new(args, &trace);
    if is_talkative {
        output::print(&format!("{}\n", table::facts(&setup.facts())))?;
    }

    let policy = setup::policy(args);
    let comparison = replay::compare(&trace, policy, &contenders(args), setup.rounds, progress)?;
    let json = json::document(&setup, &comparison);
    // What has been measured is said before anything else can fail.
    if is_talkative {
        output::print(&table::result(&comparison))?;
    }
    if json_on_stdout {
        output::print(&json)?;
    }
    let page = report::page(&setup, &comparison);
    publish(
        args,
        [
            Some((page_file.as_path(), page)),
            json_file.map(|file| (file, json)),
        ],
    )?;
    if is_talkative {
        output::print(&table::line("report", &page_file.display().to_string()))?;
    }
    Ok(comparison)
}

/// Writes files, all of them or none if there is an interrupt.
fn publish<'a>(
    args: &Args,
    files: impl IntoIterator<Item = Option<(&'a Path, String)>>,
) -> Result<(), Failure> {
    fs::create_dir_all(&args.report).map_err(|error| Failure::writing(&args.report, &error))?;
    let drafts = files
        .into_iter()
        .flatten()
        .map(|(file, text)| output::draft(file, text))
        .collect::<Result<Vec<_>, _>>()?;
    interrupt::check()?;
    drafts.into_iter().try_for_each(output::Draft::publish)
}

/// Reads the trace, or makes one up.
fn obtain(args: &Args, progress: Progress) -> Result<Trace, Failure> {
    match &args.trace {
        Some(path) => {
            let bad_lines = if args.skip_bad_lines {
                BadLines::Skip
            } else {
                BadLines::Refuse
            };
            trace::load(path, args.format, args.request_limit(), bad_lines, progress)
        }
        None => {
            let profile =
                profile::named(&args.profile).expect("clap lets known profiles pass only");
            trace::generate(profile, args.synthetic_requests(), args.seed, progress)
        }
    }
}

/// The queues that the arguments name.
fn contenders(args: &Args) -> Vec<Box<dyn Contender>> {
    let contender = match args.geometry() {
        GeometryName::Millis => contender::<Millis>,
        GeometryName::Caffeine => contender::<Caffeine>,
        GeometryName::Micros => contender::<Micros>,
        GeometryName::Compact => contender::<Compact>,
    };
    args.queues()
        .into_iter()
        .map(|queue| contender(queue, args))
        .collect()
}

/// A queue, in a geometry if it has one.
fn contender<G: Geometry + 'static>(queue: QueueName, args: &Args) -> Box<dyn Contender> {
    let name = name_of(&queue);
    match (queue, args.budget) {
        (QueueName::Wheel, None) => Box::new(Named::new(name, PlainWheel::<G>::new)),
        (QueueName::Wheel, Some(budget)) => Box::new(Named::new(name, move |now_ns| {
            BudgetedWheel::<G>::new(now_ns, budget)
        })),
        (QueueName::Index, budget) => Box::new(Named::new(name, move |now_ns| {
            Index::<G>::new(now_ns, budget)
        })),
        (QueueName::Btree, _) => Box::new(Named::new(name, BTree::new)),
        (QueueName::Textbook, _) => Box::new(Named::new(name, Textbook::<G>::new)),
    }
}
