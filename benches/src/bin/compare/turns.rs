//! Subjects that take turns.

use std::hint::black_box;
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow, ensure};
use timer_wheel_bench::answer::{self, Parts};
use timer_wheel_bench::experiments::{Kind, Outcome};
use timer_wheel_bench::figure::Figure;
use timer_wheel_bench::results::{Row, Spread};
use timer_wheel_bench::subject::Subject;
use timer_wheel_bench::workload::XorShift64Star;

use crate::Options;

/// Measures every subject in every round.
pub(crate) fn compare(options: &Options, kind: Kind, n: usize) -> Result<Vec<Row>> {
    let subjects = options.subjects();
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    let told = if kind.wants_fresh_process() { in_a_child } else { measure };
    let mut known = Parts::default();
    let mut rows = take_turns(options.rounds(n), n as u64, kind.figures(), &names, |turn| {
        let subject = subjects[turn];
        let wrong = |fault| anyhow!("wrong answer from {}: {fault}", subject.name);
        let (parts, samples) = told(kind, n, subject).map_err(wrong)?.unwrap_or_default();
        answer::agree(&mut known, &parts).map_err(wrong)?;
        // It is a fault to lack a figure without a reason, or to have both.
        let expected = kind.figures().iter().filter(|figure| !figure.is_beyond(subject.lacks)).count();
        ensure!(samples.len() == expected, "{} lacks a figure of {kind:?}, or a reason to lack one", subject.name);
        Ok(samples)
    })?;
    rows.retain(|row| kind.figures().iter().any(|it| it.name == row.figure && options.wants(it.workload())));
    Ok(rows)
}

fn measure(kind: Kind, n: usize, subject: &Subject) -> Outcome {
    // Lets the allocator put together what the last subject left in pieces. A queue of a million small boxes leaves as
    // many free chunks behind, and glibc merges them when next asked for a large block: the next subject would pay for
    // that.
    drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
    (subject.measure)(kind, n)
}

/// Measures a subject in a process of its own: what other subjects have left of the memory does not show in it.
fn in_a_child(kind: Kind, n: usize, subject: &Subject) -> Outcome {
    let run = || -> Result<Outcome> {
        let output = Command::new(std::env::current_exe()?)
            .args(["--child", "--n", &n.to_string()])
            .args(["--workloads", kind.workloads()[0]])
            .args(["--subjects", subject.name])
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    run().unwrap_or_else(|error| Err(format!("its process: {error}")))
}

/// Measures the one workload and subject that the options name, on their first size.
pub(crate) fn be_child(options: &Options) -> Result<()> {
    let kind = Kind::ALL.iter().find(|kind| options.wants(kind.workloads()[0])).expect("its parent names one");
    let told = measure(*kind, options.n[0], options.subjects()[0]);
    println!("{}", serde_json::to_string(&told)?);
    Ok(())
}

/// Measures every subject once a round: `measure` gets the number of one and gives the figures that it has. Each round
/// has an order of its own, so that no subject always runs in the wake of the same other. O(rounds x subjects)
/// measurements.
pub(crate) fn take_turns(
    rounds: u32,
    n: u64,
    figures: &[Figure],
    subjects: &[&str],
    mut measure: impl FnMut(usize) -> Result<Vec<f64>>,
) -> Result<Vec<Row>> {
    let mut samples = vec![vec![Vec::new(); subjects.len()]; figures.len()];
    let mut random = XorShift64Star::new();
    for _ in 0..rounds {
        for turn in random.permutation(subjects.len() as u32) {
            for (of_figure, value) in samples.iter_mut().zip(measure(turn as usize)?) {
                of_figure[turn as usize].push(value);
            }
        }
    }
    let rows = figures.iter().zip(samples).map(|(figure, of_subjects)| {
        let measured = subjects.iter().zip(of_subjects).filter(|(_, samples)| !samples.is_empty());
        figure.row(n, measured.map(|(name, samples)| ((*name).to_owned(), Spread::of(samples))).collect())
    });
    Ok(rows.filter(|row| !row.subjects.is_empty()).collect())
}
