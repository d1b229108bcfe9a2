//! The subjects taking turns at an experiment.

use std::hint::black_box;
use std::process::{Command, Stdio};

use indicatif::{ProgressBar, ProgressStyle};
use timer_wheel_bench::answer::{self, Parts};
use timer_wheel_bench::experiments::{Kind, Samples};
use timer_wheel_bench::figure::FIGURES;
use timer_wheel_bench::results::Measured;
use timer_wheel_bench::subject::Subject;
use timer_wheel_bench::turns::take_turns;

use crate::Options;

/// What a child prints: figures by name with what was measured, and the answer.
type Told = (Vec<(String, f64)>, Option<Parts>);

pub(crate) struct Turns<'a> {
    options: &'a Options,
    subjects: &'a [&'static Subject],
    progress: ProgressBar,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(options: &'a Options, subjects: &'a [&'static Subject], agenda: &[(Kind, usize)]) -> Self {
        let rounds: u32 = agenda.iter().map(|&(_, n)| options.rounds(n)).sum();
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let turns = u64::from(rounds) * subjects.len() as u64;
        Self { options, subjects, progress: ProgressBar::new(turns).with_style(style) }
    }

    /// Runs `work` with the progress bar out of its way.
    pub(crate) fn pause<R>(&self, work: impl FnOnce() -> R) -> R {
        self.progress.suspend(work)
    }

    /// Measures every subject in every round.
    pub(crate) fn take(&mut self, kind: Kind, n: usize) -> Result<Vec<Measured>, String> {
        self.progress.set_message(format!("{kind:?} at {n}"));
        let mut known = Parts::default();
        let names: Vec<&str> = self.subjects.iter().map(|subject| subject.name).collect();
        let told = if kind.wants_fresh_process() { in_a_child } else { measure };
        let mut measured = take_turns(self.options.rounds(n), n as u64, FIGURES, &names, |turn| {
            let subject = self.subjects[turn];
            let wrong = |fault| format!("wrong answer from {}: {fault}", subject.name);
            let (samples, parts) = told(kind, n, subject).map_err(wrong)?;
            if let Some(parts) = parts {
                answer::agree(&mut known, &parts).map_err(wrong)?;
            }
            self.progress.inc(1);
            Ok::<_, String>(samples)
        })?;
        check_complete(self.subjects, &measured)?;
        measured.retain(|it| self.options.wants(it.figure.split(' ').next().unwrap_or_default()));
        Ok(measured)
    }
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

/// Refuses a subject that lacks a figure which another one has, and does not say why.
fn check_complete(subjects: &[&Subject], measured: &[Measured]) -> Result<(), String> {
    let is_measured = |figure: &str| measured.iter().any(|it| it.figure == figure);
    for figure in FIGURES.iter().filter(|figure| is_measured(figure.name)) {
        for subject in subjects {
            let has_it = measured.iter().any(|it| it.figure == figure.name && it.subject == subject.name);
            if has_it == figure.reason_to_lack(subject.lacks).is_some() {
                return Err(format!("{} has no figure {}, or a reason to lack it too", subject.name, figure.name));
            }
        }
    }
    Ok(())
}
