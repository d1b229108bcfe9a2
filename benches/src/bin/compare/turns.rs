//! Subjects that take turns.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, Stdio};

use timer_wheel_bench::answer::{self, Parts};
use timer_wheel_bench::experiments::{Kind, Samples};
use timer_wheel_bench::figure::Figure;
use timer_wheel_bench::results::{Row, Spread};
use timer_wheel_bench::subject::Subject;
use timer_wheel_bench::workload::XorShift64Star;

use crate::Options;

/// What a child prints: figures by name with what was measured, and the answer.
type Told = (Vec<(String, f64)>, Option<Parts>);

/// Measures every subject in every round.
pub(crate) fn compare(options: &Options, kind: Kind, n: usize) -> Result<Vec<Row>, String> {
    let subjects = options.subjects();
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name).collect();
    let told = if kind.wants_fresh_process() { in_a_child } else { measure };
    let mut known = Parts::default();
    let mut rows = take_turns(options.rounds(n), n as u64, kind.figures(), &names, |turn| {
        let subject = subjects[turn];
        let wrong = |fault| format!("wrong answer from {}: {fault}", subject.name);
        let (samples, parts) = told(kind, n, subject).map_err(wrong)?;
        if let Some(parts) = parts {
            answer::agree(&mut known, &parts).map_err(wrong)?;
        }
        Ok(samples)
    })?;
    for (figure, row) in rows.iter().map(|row| (kind.figure(&row.figure), row)) {
        // It is a fault to lack a figure without a reason, or to have both.
        let is_wrong = |it: &&&Subject| row.value(it.name).is_some() == figure.is_beyond(it.lacks);
        if let Some(subject) = subjects.iter().find(is_wrong) {
            return Err(format!("{} has no figure {}, or a reason to lack it too", subject.name, figure.name));
        }
    }
    rows.retain(|row| options.wants(kind.figure(&row.figure).workload()));
    Ok(rows)
}

fn measure(kind: Kind, n: usize, subject: &Subject) -> Result<Told, String> {
    tidy_heap();
    let mut samples = Samples::new();
    let parts = (subject.measure)(kind, n, &mut samples)?;
    let samples = samples.into_iter().map(|(name, value)| (name.to_owned(), value));
    Ok((samples.collect(), parts))
}

/// Lets the allocator put together what the last subject left in pieces.
///
/// A queue of a million small boxes leaves as many free chunks behind, and glibc merges them when next asked for a large
/// block: the next subject would pay for that.
fn tidy_heap() {
    drop(black_box(Vec::<u8>::with_capacity(1 << 20)));
}

/// Measures a subject in a process of its own: what other subjects have left of the memory does not show in it.
fn in_a_child(kind: Kind, n: usize, subject: &Subject) -> Result<Told, String> {
    let failed = |error: &dyn ToString| format!("its process: {}", error.to_string());
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let output = Command::new(program)
        .args(["--child", "--n", &n.to_string()])
        .args(["--workloads", kind.workloads()[0]])
        .args(["--subjects", subject.name])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// Measures the one workload and subject that the options name, on their first size.
pub(crate) fn be_child(options: &Options) -> Result<(), String> {
    let kind = Kind::ALL.iter().find(|kind| options.wants(kind.workloads()[0]));
    let kind = kind.ok_or("no workload")?;
    let told = measure(*kind, options.n[0], options.subjects()[0])?;
    let told = serde_json::to_string(&told).map_err(|error| error.to_string())?;
    println!("{told}");
    Ok(())
}

/// Measures every subject once a round: `measure` gets the number of one and gives figures by name. Each round has an
/// order of its own, so that no subject always runs in the wake of the same other. O(rounds x subjects) measurements.
pub(crate) fn take_turns(
    rounds: u32,
    n: u64,
    figures: &[Figure],
    subjects: &[&str],
    mut measure: impl FnMut(usize) -> Result<Vec<(String, f64)>, String>,
) -> Result<Vec<Row>, String> {
    // By figure and by subject.
    let mut samples: BTreeMap<usize, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    let mut random = XorShift64Star::new();
    for _ in 0..rounds {
        for turn in random.permutation(subjects.len() as u32) {
            let turn = turn as usize;
            for (name, value) in measure(turn)? {
                let figure = figures.iter().position(|figure| figure.name == name);
                let figure = figure.ok_or_else(|| format!("an unknown figure: {name}"))?;
                samples.entry(figure).or_default().entry(turn).or_default().push(value);
            }
        }
    }
    let rows = samples.into_iter().map(|(figure, of_subjects)| {
        let spreads = of_subjects.into_iter().map(|(turn, samples)| (subjects[turn].to_owned(), Spread::of(samples)));
        figures[figure].row(n, spreads.collect())
    });
    Ok(rows.collect())
}
