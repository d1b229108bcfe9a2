//! What a program has measured, as it writes it down and as the tables and drawings of the documents are
//! made from it: a file a program, `benches/results/compare.json` and so on.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::Spread;

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
    /// The figures, in the order in which they were measured.
    #[serde(with = "lines")]
    pub figures: Vec<Measured>,
}

/// One figure of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was measured: `W1a schedule`.
    pub figure: String,
    pub n: u64,
    pub subject: String,
    /// What the numbers count: `ns`, `bytes`.
    pub unit: String,
    /// Which of the samples is to be quoted.
    pub counts: Counts,
    pub spread: Spread,
}

/// A line of the file: a figure of all subjects, each with the least, the middle and the greatest sample.
#[derive(Serialize, Deserialize)]
struct Line {
    figure: String,
    n: u64,
    unit: String,
    counts: Counts,
    subjects: Vec<(String, f64, f64, f64)>,
}

/// Which sample stands for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counts {
    Median,
    /// The least: of a single call, which something else may have made longer and nothing shorter.
    Min,
}

impl Measured {
    pub fn value(&self) -> f64 {
        self.counts.of(self.spread)
    }

    /// Whether its figure has this name, or a longer one that begins so. O(1).
    pub fn is_named(&self, name: &str) -> bool {
        is_named(&self.figure, name)
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

/// A results file to be: tried before the work, written after it.
#[derive(Debug)]
pub struct Sheet {
    path: Option<PathBuf>,
    results: Results,
}

impl Sheet {
    /// Opens the file, if one was asked for, and leaves what it holds until there are results.
    pub fn open(path: Option<&Path>, rounds: u32) -> Result<Self, String> {
        if let Some(path) = path {
            let opened = File::options().create(true).append(true).open(path);
            opened.map_err(|error| format!("cannot write '{}': {error}", path.display()))?;
        }
        Ok(Self {
            path: path.map(Path::to_owned),
            results: Results {
                command: command(),
                version: version(),
                machine: machine(),
                date: said("date", &["-u", "+%F"]),
                rounds,
                ..Results::default()
            },
        })
    }

    pub fn extend(&mut self, figures: impl IntoIterator<Item = Measured>) {
        self.results.figures.extend(figures);
    }

    pub fn figures(&self) -> &[Measured] {
        &self.results.figures
    }

    /// Writes the file, if one was asked for, with what came of the goals.
    pub fn write(mut self, verdict: &str) -> Result<(), String> {
        let Some(path) = self.path else { return Ok(()) };
        self.results.verdict = verdict.to_owned();
        fs::write(path, self.results.to_json()).map_err(|error| format!("cannot write the results: {error}"))
    }
}

impl Results {
    /// Reads a file that a [`Sheet`] has written.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// A line for each figure, so that a difference of two files can be read.
    fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("it is plain data");
        let (head, _) = json.split_once("\"figures\": ").expect("the last field");
        let lines = lines::of(&self.figures).into_iter();
        let lines: Vec<String> = lines.map(|line| serde_json::to_string(&line).expect("it is plain data")).collect();
        format!("{head}\"figures\": [\n    {}\n  ]\n}}\n", lines.join(",\n    "))
    }
}

mod lines {
    //! The figures as lines, and back.

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Line, Measured, Spread};

    /// Figures in the order of their first subjects.
    pub(super) fn of(figures: &[Measured]) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for it in figures {
            let Spread { min, median, max } = it.spread;
            let subject = (it.subject.clone(), min, median, max);
            match lines.iter_mut().find(|line| line.figure == it.figure && line.n == it.n) {
                Some(line) => line.subjects.push(subject),
                None => {
                    let (figure, unit) = (it.figure.clone(), it.unit.clone());
                    lines.push(Line { figure, n: it.n, unit, counts: it.counts, subjects: vec![subject] });
                }
            }
        }
        lines
    }

    pub(super) fn serialize<S: Serializer>(figures: &[Measured], serializer: S) -> Result<S::Ok, S::Error> {
        of(figures).serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Vec<Measured>, D::Error> {
        let lines = Vec::<Line>::deserialize(deserializer)?.into_iter();
        let measured = lines.flat_map(|line| {
            let Line { figure, n, unit, counts, subjects } = line;
            subjects.into_iter().map(move |(subject, min, median, max)| {
                let (figure, unit, spread) = (figure.clone(), unit.clone(), Spread { min, median, max });
                Measured { figure, n, subject, unit, counts, spread }
            })
        });
        Ok(measured.collect())
    }
}

/// Whether a figure has this name, or a longer one that begins so.
pub fn is_named(figure: &str, name: &str) -> bool {
    let rest = figure.strip_prefix(name);
    rest.is_some_and(|rest| name.is_empty() || rest.is_empty() || rest.starts_with(' '))
}

/// How a program ends that has nobody to hand its error to.
pub fn exit(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The command line, without the folder of the program, the number that cargo gives a benchmark's file, and where the
/// results go, which says nothing of them.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(flag) = words.iter().position(|word| word == "--json") {
        words.drain(flag..words.len().min(flag + 2));
    }
    let name = words[0].rsplit('/').next().unwrap_or_default();
    let is_number = |end: &str| end.len() == 16 && end.bytes().all(|it| it.is_ascii_hexdigit());
    let name = name.rsplit_once('-').filter(|(_, end)| is_number(end)).map_or(name, |(name, _)| name);
    words[0] = name.to_owned();
    words.join(" ")
}

/// The commit, and whether what is measured differs from it.
fn version() -> String {
    let commit = said("git", &["describe", "--always"]);
    let code = ["status", "--porcelain", "--", ":/src", ":/benches/src", ":/benches/benches", ":/Cargo.lock"];
    match said("git", &code).is_empty() || commit == "unknown" {
        true => commit,
        false => commit + "-dirty",
    }
}

fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plural = if cores == 1 { "" } else { "s" };
    let compiler = said("rustc", &["--version"]);
    let compiler: Vec<&str> = compiler.split(' ').take(2).collect();
    format!("{model}, {cores} core{plural}, {}", compiler.join(" "))
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
    use crate::figure::Figure;

    #[test]
    fn written_results_are_read_again() {
        let path = std::env::temp_dir().join(format!("results-{}.json", std::process::id()));
        for value in [7.0, 5.0] {
            let mut sheet = Sheet::open(Some(&path), 3).unwrap();
            let figure = Figure::new("W1a schedule", "ns", Counts::Min);
            sheet.extend(["wheel", "heap"].map(|it| figure.measured(10, it, Spread::of([value, value + 1.0]))));
            sheet.write("all 1 goals met").unwrap();
        }
        let results = Results::read(&path).unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!(results.figures.len(), 2);
        assert_eq!(results.figures[1].value(), 5.0);
        assert_eq!((results.rounds, &*results.verdict), (3, "all 1 goals met"));
    }

    #[test]
    fn file_that_cannot_be_written_is_refused_before_the_work() {
        let refused = Sheet::open(Some(Path::new("/nonexistent/results.json")), 1);
        assert!(refused.unwrap_err().contains("/nonexistent/results.json"));
        assert!(Sheet::open(None, 1).unwrap().write("").is_ok());
    }
}
