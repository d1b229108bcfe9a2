//! A measurement in a process of its own: what other subjects have left of the memory does not show in it.

use std::process::{Command, Stdio};

use clap::ValueEnum;
use timer_wheel_bench::results::Results;

use crate::answer::WrongAnswer;
use crate::figure::{Figure, Sample, Unit, Workload};

/// Measures a subject once, as this program would by itself.
pub(crate) fn measure(
    workload: Workload,
    n: usize,
    subject: &'static str,
) -> Result<Vec<Sample>, WrongAnswer> {
    let failed = |error: String| WrongAnswer::new(subject, format!("its process: {error}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["--child", "--rounds", "1", "--json", "/dev/stdout"])
        .args(["--n", &n.to_string(), "--workloads", workload.name()])
        .args(["--subjects", subject])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let results: Results =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let samples = results.figures.into_iter().map(|measured| {
        let (workload, name) = measured.figure.split_once(' ')?;
        let figure = Figure {
            workload: Workload::from_str(workload, false).ok()?,
            // As long as the program runs there are a few dozen.
            name: name.to_owned().leak(),
            unit: Unit::named(&measured.unit)?,
            counts: measured.counts,
        };
        Some(figure.sample(measured.median))
    });
    let samples: Option<Vec<Sample>> = samples.collect();
    samples.ok_or_else(|| failed("it says what is not understood".to_owned()))
}
