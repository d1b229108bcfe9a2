//! What came of each mutant: kept in a file, and summed up.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::mutant::{Area, Mutant};
use crate::prepare::Reach;
use crate::suite::Verdict;

/// A line of the file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) area: Area,
    pub(crate) reach: Reach,
    pub(crate) verdict: Option<Verdict>,
    /// Whether the slow tests were left out.
    pub(crate) is_brief: bool,
    diff: String,
}

impl Outcome {
    pub(crate) fn new(
        mutant: &Mutant,
        reach: Reach,
        verdict: Option<Verdict>,
        is_brief: bool,
    ) -> Self {
        Self {
            name: mutant.name.clone(),
            area: mutant.area(),
            reach,
            verdict,
            is_brief,
            diff: mutant.diff.clone(),
        }
    }

    pub(crate) fn survived(&self) -> bool {
        self.verdict == Some(Verdict::Survived)
    }
}

/// All of them, by the mutants' diffs, and the file that takes more.
pub(crate) struct Outcomes {
    by_diff: HashMap<String, Outcome>,
    file: File,
}

impl Outcomes {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut by_diff = HashMap::new();
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let outcome: Outcome =
                serde_json::from_str(line).context("a broken line of outcomes")?;
            by_diff.insert(outcome.diff.clone(), outcome);
        }
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { by_diff, file })
    }

    pub(crate) fn get(&self, mutant: &Mutant) -> Option<&Outcome> {
        self.by_diff.get(&mutant.diff)
    }

    pub(crate) fn add(&mut self, outcome: Outcome) -> Result<()> {
        writeln!(self.file, "{}", serde_json::to_string(&outcome)?)?;
        self.by_diff.insert(outcome.diff.clone(), outcome);
        Ok(())
    }

    /// The figures for each area, and the survivors.
    pub(crate) fn report(&self, mutants: &[Mutant]) -> String {
        let mut sums: BTreeMap<Area, Sum> = BTreeMap::new();
        let mut survivors = String::new();
        for mutant in mutants {
            let outcome = self.get(mutant);
            sums.entry(mutant.area()).or_default().add(outcome);
            if let Some(outcome) = outcome.filter(|outcome| outcome.survived()) {
                let brief = if outcome.is_brief {
                    " (of the quick tests)"
                } else {
                    ""
                };
                _ = writeln!(survivors, "{}{brief}", outcome.name);
            }
        }
        let mut text = "| area | mutants | do not compile | viable | caught | of them by the clock | survive | not run |\n".to_owned();
        text += "|---|---|---|---|---|---|---|---|\n";
        for (area, sum) in &sums {
            let viable = sum.listed - sum.unviable;
            let share = 100.0 * sum.caught as f64 / (viable - sum.missing).max(1) as f64;
            _ = writeln!(
                text,
                "| {area:?} | {} | {} | {viable} | {} ({share:.1} %) | {} | {} | {} |",
                sum.listed, sum.unviable, sum.caught, sum.endless, sum.survived, sum.missing
            );
        }
        format!("{text}\nSurvivors:\n{survivors}")
    }
}

#[derive(Default)]
struct Sum {
    listed: usize,
    unviable: usize,
    caught: usize,
    endless: usize,
    survived: usize,
    missing: usize,
}

impl Sum {
    fn add(&mut self, outcome: Option<&Outcome>) {
        self.listed += 1;
        let Some(outcome) = outcome else {
            self.missing += 1;
            return;
        };
        match &outcome.verdict {
            None if outcome.reach == Reach::Unviable => self.unviable += 1,
            None => self.missing += 1,
            Some(Verdict::Survived) => self.survived += 1,
            Some(Verdict::Caught(_)) => self.caught += 1,
            Some(Verdict::Endless(_)) => {
                self.caught += 1;
                self.endless += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::Genre;

    #[test]
    fn report_counts_each_mutant_once_and_by_its_last_outcome() {
        let source = "fn f() { a + b - c * d / e }";
        let operators = ["+", "-", "*", "/", "d", "e"];
        let mutants: Vec<Mutant> = operators
            .iter()
            .map(|word| Mutant::of(source, Genre::BinaryOperator, word, "%"))
            .collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut outcomes = Outcomes::open(file.path()).unwrap();
        let caught = || Some(Verdict::Caught("a::b".to_owned()));
        let endless = || Some(Verdict::Endless("a::c".to_owned()));
        let found = [
            (0, Reach::Switch, Some(Verdict::Survived)),
            (0, Reach::Switch, caught()),
            (1, Reach::Rebuild, endless()),
            (2, Reach::Switch, Some(Verdict::Survived)),
            (3, Reach::Unviable, None),
            (4, Reach::Rebuild, None),
        ];
        for (nth, reach, verdict) in found {
            let outcome = Outcome::new(&mutants[nth], reach, verdict, nth == 2);
            outcomes.add(outcome).unwrap();
        }
        let read_again = Outcomes::open(file.path()).unwrap();
        let report = read_again.report(&mutants);
        assert_eq!(report, outcomes.report(&mutants));
        assert!(
            report.contains("| Drivers | 6 | 1 | 5 | 2 (66.7 %) | 1 | 1 | 2 |"),
            "{report}"
        );
        assert!(
            report.ends_with("Survivors:\nreplace * with % (of the quick tests)\n"),
            "{report}"
        );
    }
}
