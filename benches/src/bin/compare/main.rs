//! `compare`: measures timer queues side by side and holds the wheel to its goals.
//!
//! The subjects take turns within one process, round by round, on the same inputs, so that a noisy
//! machine disturbs them alike; what counts is the ratio of the medians. Every answer is checked: a
//! subject that answers wrongly is an error, not a figure.

mod answer;
mod cli;
mod experiment;
mod figure;
mod goals;
mod heap;
mod ledger;
mod report;
mod subject;
mod svg;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use answer::WrongAnswer;
use cli::Options;
use ledger::Ledger;

fn main() -> ExitCode {
    let options = Options::parse();
    let json = match options.open_json() {
        Ok(json) => json,
        Err(refusal) => refusal.exit(),
    };
    let svg = match options.open_svg() {
        Ok(svg) => svg,
        Err(refusal) => refusal.exit(),
    };
    match compare(&options, json, svg) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever was reading has read enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Output(error)) => fail(&format!("cannot write the results: {error}")),
        Err(Failure::Answer(wrong)) => fail(&wrong.to_string()),
    }
}

/// Why there are no results.
enum Failure {
    Answer(WrongAnswer),
    Output(io::Error),
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

fn compare(options: &Options, json: Option<File>, svg: Option<&Path>) -> Result<(), Failure> {
    let mut out = io::stdout();
    let mut ledger = Ledger::new();
    let subjects = options.subjects();
    let agenda = experiment::agenda(options);
    let progress = experiment::progress_bar(&agenda, options);
    for (plan, n) in agenda {
        let measured = plan.run(n, options, &progress)?;
        progress.suspend(|| report::print_tables(&mut out, n, &subjects, &measured))?;
        ledger.extend(measured);
    }
    progress.finish_and_clear();
    report::print_goals(&mut out, &ledger)?;
    out.flush()?;
    if let Some(file) = json {
        report::write_json(file, &ledger)?;
    }
    if let Some(directory) = svg {
        svg::write(directory, &ledger)?;
    }
    Ok(())
}

fn fail(message: &str) -> ExitCode {
    // Nothing is left to be done if even this cannot be written.
    let _ = writeln!(io::stderr(), "error: {message}");
    ExitCode::FAILURE
}
