//! What a program has measured, as it writes it down and as the tables of the documents are made from it: a
//! file a program, `benches/results/compare.jsonl` and so on. Its first line says of what run, each other is a [`Row`].

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// All that one run of a program has measured, and where.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub command: String,
    /// The commit it was built from, as `git describe` names it.
    pub version: String,
    /// The processor, how many cores of it were given, and the compiler.
    pub machine: String,
    /// The day, `2026-11-22`.
    pub date: String,
    pub rounds: u32,
    /// What came of the goals, if the program has any.
    pub verdict: String,
    /// In the order in which they were measured.
    #[serde(skip)]
    pub rows: Vec<Row>,
}

/// A figure of all subjects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured: `W1a schedule`.
    pub figure: String,
    /// The size: mostly the number of timers.
    pub n: u64,
    /// What the numbers count: `ns`, `bytes`.
    pub unit: String,
    /// Which of the samples is to be quoted.
    pub counts: Counts,
    /// Those that have the figure, in the order of the program.
    pub subjects: Vec<(String, Spread)>,
}

/// Which sample stands for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counts {
    Median,
    /// The least: of a single call, which something else may have made longer and nothing shorter.
    Min,
}

/// The least, the middle and the greatest of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub min: f64,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    pub max: f64,
}

impl Row {
    /// What is quoted of a subject, if it has the figure. O(subjects).
    pub fn value(&self, subject: &str) -> Option<f64> {
        let found = self.subjects.iter().find(|(name, _)| name == subject);
        found.map(|(_, spread)| self.counts.of(*spread))
    }

    /// Whether its figure has this name, or a longer one that begins so. O(1).
    pub fn is_named(&self, name: &str) -> bool {
        let rest = self.figure.strip_prefix(name);
        rest.is_some_and(|rest| name.is_empty() || rest.is_empty() || rest.starts_with(' '))
    }
}

impl Counts {
    pub fn of(self, spread: Spread) -> f64 {
        match self {
            Self::Median => spread.median,
            Self::Min => spread.min,
        }
    }
}

impl Spread {
    /// That of some samples. O(n log n).
    #[track_caller]
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        assert!(!sorted.is_empty(), "a figure has a sample");
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        Self { min: sorted[0], median: f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]), max: sorted[last] }
    }
}

impl Results {
    /// Those of this run, as yet without a row.
    pub fn new(rounds: u32) -> Self {
        let date = said("date", &["-u", "+%F"]);
        Self { command: command(), version: version(), machine: machine(), date, rounds, ..Self::default() }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let mut results: Self = serde_json::from_str(lines.next().unwrap_or_default())?;
        results.rows = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(results)
    }

    /// What a file has.
    pub fn to_text(&self) -> String {
        let rows = self.rows.iter().map(serde_json::to_string);
        let lines = std::iter::once(serde_json::to_string(self)).chain(rows).collect::<Result<Vec<_>, _>>();
        lines.expect("it is plain data").join("\n") + "\n"
    }
}

/// The command line, without the folder of the program, and where the results go, which says nothing of them.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(flag) = words.iter().position(|word| word == "--json") {
        words.drain(flag..words.len().min(flag + 2));
    }
    words[0] = words[0].rsplit('/').next().unwrap_or_default().to_owned();
    words.join(" ")
}

/// The commit, and whether the programs differ from it.
pub fn version() -> String {
    let here = ["-C", env!("CARGO_MANIFEST_DIR")];
    let commit = said("git", &[&here[..], &["describe", "--always"]].concat());
    let code = ["status", "--porcelain", "--", ":/*.rs", ":/Cargo.lock"];
    match said("git", &[&here[..], &code].concat()).is_empty() || commit == "unknown" {
        true => commit,
        false => commit + "-dirty",
    }
}

/// The processor, how many cores of it were given, and the compiler.
pub fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    let compiler = said("rustc", &["--version"]);
    let compiler = compiler.split(" (").next().unwrap_or_default();
    format!("{model}, {cores} core{plural}, {compiler}")
}

/// What a program prints, or that nobody knows.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let said = output.ok().filter(|output| output.status.success());
    said.map_or_else(|| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_results_are_read_again() {
        let path = std::env::temp_dir().join(format!("results-{}.jsonl", std::process::id()));
        let subjects = vec![("heap".to_owned(), Spread::of([5.0, 6.0]))];
        let row = Row { figure: "W1a".to_owned(), n: 10, unit: "ns".to_owned(), counts: Counts::Min, subjects };
        for rows in [vec![], vec![row.clone(), row]] {
            fs::write(&path, Results { rows, ..Results::new(3) }.to_text()).unwrap();
        }
        let results = Results::read(&path).unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!((results.rounds, results.rows.len(), results.rows[1].value("heap")), (3, 2, Some(5.0)));
    }

    #[test]
    fn spread_names_the_middle_of_its_samples() {
        assert_eq!(Spread::of([4.0, 1.0, 2.0]), Spread { min: 1.0, median: 2.0, max: 4.0 });
        assert_eq!(Spread::of([3.0, 1.0]).median, 2.0);
    }
}
