//! Replays a cache access trace through a cache whose entries expire by the timer wheel, and through the
//! same cache on other queues; shows that all of them expired the same keys at the same times in the
//! same order, and what each cost.
//!
//! The trace, real or made up after a real cluster's figures, is decoded into memory first. Then every queue
//! replays it on a cache of its own, in several passes. [`replay`] describes the passes, [`audit`] *early*, *late* and
//! the digest, `replay::script` the time in the queue, `replay::contender` the longest advance, [`trace`] the traces. With
//! `--watch` nothing is compared: [`mod@watch`] shows the wheel turning instead.
//!
//! # How to read the figures
//!
//! - **ns a request** is the time of the whole replay, divided by the requests. The cache stores no values and its
//!   keys are numbers, so a real cache takes longer, and the queue's part of it is smaller.
//! - **ns a queue call** is an average over all calls of the queue, also those of advances that find nothing due.
//! - **A pause** is one call to advance.
//! - The digest depends on the trace and the rules alone, not on the queue, its geometry or the machine.

mod args;
mod audit;
mod cache;
mod figure;
mod interrupt;
mod json;
mod output;
mod progress;
mod replay;
mod report;
mod setup;
mod summary;
mod trace;
mod watch;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};
use timer_wheel_bench::queue::{InLane, Indexed, Queue};
use timer_wheel_bench::{BTreeQueue, TextbookWheel};

use args::{Args, DEFAULT_REQUESTS, GeometryName, QueueName, name_of};
use progress::Progress;
use replay::Contender;
use setup::Setup;
use trace::{KeyId, Trace};

fn main() -> ExitCode {
    interrupt::listen();
    let args = Args::parse();
    let run = match args.geometry() {
        GeometryName::Millis => run::<Millis>,
        GeometryName::Caffeine => run::<Caffeine>,
        GeometryName::Micros => run::<Micros>,
        GeometryName::Compact => run::<Compact>,
    };
    let status = run(&args).unwrap_or_else(|error| {
        output::say(&format!("replay: {error:#}"));
        let kind = error.downcast_ref().map(io::Error::kind);
        if kind == Some(io::ErrorKind::Interrupted) { interrupt::EXIT_STATUS } else { 2 }
    });
    ExitCode::from(status)
}

/// Does what the arguments ask for, in a geometry. Returns the exit status.
fn run<G: Geometry + 'static>(args: &Args) -> Result<u8> {
    if args.watch {
        watch::check_terminal()?;
        watch::run::<G>(args, &obtain(args, Progress::Shown)?)?;
        return Ok(0);
    }
    let contenders: Vec<Contender> = args.queues().into_iter().map(contender::<G>).collect();
    compare(args, &contenders)
}

/// Compares and reports. Returns the exit status: 1 if a queue is wrong.
fn compare(args: &Args, contenders: &[Contender]) -> Result<u8> {
    let json_file = args.json.as_deref().filter(|file| *file != Path::new("-"));
    let json_on_stdout = args.json.is_some() && json_file.is_none();
    let is_talkative = !args.quiet && !json_on_stdout;
    json_file.map_or(Ok(()), output::check)?;
    let report = args.report();
    fs::create_dir_all(&report).with_context(|| output::cannot_write(&report))?;
    let page_file = report.join("report.html");
    output::check(&page_file)?;

    let progress = if args.quiet { Progress::Hidden } else { Progress::Shown };
    let trace = obtain(args, progress)?;
    let setup = Setup::new(args, &trace);
    if is_talkative {
        output::print(&format!("{}\n", summary::lines(&setup.facts())))?;
    }
    let comparison = replay::compare(&trace, args.policy(), contenders, setup.rounds, progress)?;
    let json = json::document(&setup, &comparison);
    // The results are printed before anything else can fail.
    if is_talkative {
        output::print(&summary::result(&comparison))?;
    }
    if json_on_stdout {
        output::print(&json)?;
    }
    let page = report::page(&setup, &comparison);
    interrupt::check()?;
    output::write(&page_file, &page)?;
    json_file.map_or(Ok(()), |file| output::write(file, &json))?;
    if is_talkative {
        output::print(&summary::lines(&[("report", page_file.display().to_string())]))?;
    }
    Ok(u8::from(!comparison.is_clean()))
}

fn obtain(args: &Args, progress: Progress) -> Result<Trace> {
    if let Some(path) = &args.trace {
        return trace::load(path, args.requests, progress);
    }
    trace::generate(args.profile, args.requests.unwrap_or(DEFAULT_REQUESTS), args.seed, progress)
}

fn contender<G: Geometry + 'static>(queue: QueueName) -> Contender {
    let name = name_of(&queue);
    match queue {
        QueueName::Wheel => Contender::new(name, Wheel::<KeyId, G>::with_geometry),
        QueueName::Index => Contender::new(name, <Indexed<G> as Queue<KeyId>>::new),
        QueueName::Lane => Contender::new(name, InLane::<KeyId, G>::new),
        QueueName::Btree => Contender::new(name, BTreeQueue::<KeyId>::new),
        QueueName::Textbook => Contender::new(name, TextbookWheel::<KeyId, G>::new),
    }
}
