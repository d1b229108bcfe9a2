//! `compare`: measures timer queues side by side and holds the wheel to its goals.
//!
//! The subjects take turns within one process, round by round, on the same inputs, so that a noisy
//! machine disturbs them alike; what counts is the ratio of the medians. Every answer is checked: a
//! subject that answers wrongly is an error, not a figure.

mod answer;
mod child;
mod cli;
mod experiment;
mod figure;
mod goals;
mod heap;
mod ledger;
mod plan;
mod report;
mod subject;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use timer_wheel_bench::results::Sheet;

use answer::WrongAnswer;
use cli::Options;
use ledger::Ledger;

fn main() -> ExitCode {
    match compare(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Output(error)) => fail(&format!("cannot write the results: {error}")),
        Err(Failure::Answer(wrong)) => fail(&wrong.to_string()),
        Err(Failure::Target(message)) => fail(&message),
    }
}

/// Why there are no results.
enum Failure {
    Answer(WrongAnswer),
    Output(io::Error),
    /// There is nowhere to put them.
    Target(String),
}

impl From<WrongAnswer> for Failure {
    fn from(wrong: WrongAnswer) -> Self {
        Self::Answer(wrong)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn compare(options: &Options) -> Result<(), Failure> {
    let rounds = options.rounds(options.sizes()[0]);
    let mut sheet = Sheet::open(options.json.as_deref(), rounds).map_err(Failure::Target)?;
    let mut out = io::stdout();
    let mut ledger = Ledger::new();
    let subjects = options.subjects();
    let agenda = plan::agenda(options);
    let progress = plan::progress_bar(&agenda, options);
    for (plan, n) in agenda {
        let measured = plan.run(n, options, &progress)?;
        if !options.is_child {
            progress.suspend(|| report::print_tables(&mut out, n, &subjects, &measured))?;
        }
        ledger.extend(measured);
    }
    progress.finish_and_clear();
    ledger.copy_to(&mut sheet);
    if options.is_child {
        return Ok(sheet.write("")?);
    }
    let verdict = report::print_goals(&mut out, &ledger)?;
    out.flush()?;
    Ok(sheet.write(&verdict)?)
}

fn fail(message: &str) -> ExitCode {
    // Nothing is left to be done if even this cannot be written.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::FAILURE
}
