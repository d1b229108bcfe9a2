//! `tables`: makes every table of figures and every drawing of the documents from the results files.
//!
//! A document says what it wants, and the table stands below:
//!
//! ```text
//! <!-- results: compare; W1a, W16 p99 of cancels; 10000 1000000; wheel, textbook -->
//! ...
//! <!-- end -->
//! ```
//!
//! Between semicolons: a file of `benches/results`; the figures, each a whole name or its first words; the numbers of
//! timers; the subjects, the one that the others are held against first. What is left out is all there is. Files alone,
//! with commas between, give a line each that says where their figures come from.
//!
//! `cargo run -p timer-wheel-bench --bin tables` writes the documents, and with `--check` nothing: it fails if one differs
//! from what it should be.

mod chart;
mod table;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use timer_wheel_bench::results::{self, Results};

use crate::chart::Chart;

const MARKER: &str = "<!-- results: ";
const END: &str = "<!-- end -->";

/// What is drawn.
const CHARTS: [Chart; 3] = [
    Chart {
        name: "costs",
        results: "compare",
        panels: &[
            ("W1a schedule", "schedule"),
            ("W1b cancel", "cancel"),
            ("W2 expire", "expire"),
            ("W10 longest advance", "longest advance"),
        ],
        sizes: &[10_000, 100_000, 1_000_000],
        of: "number of timers",
        subjects: &[
            ("wheel", "timer-wheel"),
            ("btree+slab", "BTreeSet and slab"),
            ("textbook", "textbook wheel"),
            ("delayqueue", "tokio-util's DelayQueue"),
        ],
    },
    Chart {
        name: "producers",
        results: "drivers",
        panels: &[("W17 pairs a second", "pairs a second")],
        sizes: &[1, 2, 4, 8],
        of: "number of producers",
        subjects: &[
            ("Timer", "one Timer"),
            ("a Timer each", "a Timer each"),
            ("Mutex<BTreeMap>", "one Mutex<BTreeMap>"),
            ("a Mutex<BTreeMap> each", "a Mutex<BTreeMap> each"),
        ],
    },
    Chart {
        name: "timeouts",
        results: "drivers",
        panels: &[("W18 timeout, never pending", "never pending"), ("W18 timeout, pending once", "pending once")],
        sizes: &[1, 2],
        of: "number of threads",
        subjects: &[("Timer", "Timer::timeout"), ("tokio::time::timeout", "tokio::time::timeout")],
    },
];

type AllResults = BTreeMap<String, Results>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    results::exit(match &arguments[..] {
        [] => bring_up_to_date(&root, false).map(|written| println!("written: {}", written.join(", "))),
        [flag] if flag == "--check" => bring_up_to_date(&root, true).and_then(|stale| match &stale[..] {
            [] => Ok(()),
            stale => Err(format!(
                "not as the results have it, run `cargo run -p timer-wheel-bench --bin tables`: {}",
                stale.join(", ")
            )),
        }),
        _ => Err("expected nothing, or --check".to_owned()),
    })
}

/// Gives the files that were not up to date.
fn bring_up_to_date(root: &Path, is_check: bool) -> Result<Vec<String>, String> {
    let mut all = AllResults::new();
    for path in files(&root.join("benches/results"), "json")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        all.insert(stem.into_owned(), Results::read(&path).map_err(|error| told(&path, error))?);
    }
    let mut wanted: Vec<(PathBuf, String)> = Vec::new();
    let mut documents = files(&root.join("docs"), "md")?;
    documents.push(root.join("README.md"));
    for path in documents {
        let text = fs::read_to_string(&path).map_err(|error| told(&path, error))?;
        let filled = fill(&text, &all).map_err(|error| told(&path, error))?;
        wanted.push((path, filled));
    }
    for chart in CHARTS {
        let Chart { name, results, .. } = chart;
        let results = all.get(results).ok_or_else(|| format!("there are no results of {results}"))?;
        wanted.push((root.join(format!("docs/plots/{name}.svg")), chart.draw(results)?));
    }
    wanted.retain(|(path, text)| !fs::read_to_string(path).is_ok_and(|there| there == *text));
    for (path, text) in wanted.iter().filter(|_| !is_check) {
        fs::write(path, text).map_err(|error| told(path, error))?;
    }
    let name = |(path, _): &(PathBuf, _)| path.strip_prefix(root).unwrap_or(path).display().to_string();
    Ok(wanted.iter().map(name).collect())
}

/// The files of a folder whose names end so, in order.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| told(folder, error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    files.sort();
    Ok(files)
}

fn told(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}

/// A document with its tables made anew.
fn fill(text: &str, all: &AllResults) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled += line;
        filled += "\n";
        let asked = line.strip_prefix(MARKER).and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(query) = asked {
            filled += &table::answer(query, all)?;
            filled += END;
            filled += "\n";
            if !lines.by_ref().any(|line| line == END) {
                return Err(format!("'{query}' has no end"));
            }
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use timer_wheel_bench::Spread;
    use timer_wheel_bench::figure::Figure;
    use timer_wheel_bench::results::Counts;

    use super::*;

    fn results() -> AllResults {
        let schedule = Figure::new("W1a schedule", "ns", Counts::Median);
        let figures = [("wheel", 2.0), ("heap", 5.0)]
            .map(|(subject, ns)| [10, 1_000_000].map(|n| schedule.measured(n, subject, Spread::of([1.0, ns, 9.0]))));
        AllResults::from([("compare".to_owned(), Results { figures: figures.concat(), ..Results::default() })])
    }

    #[test]
    fn table_takes_the_place_of_the_one_before() {
        let text = "a\n<!-- results: compare; W1a; 10 -->\nold\n<!-- end -->\nb\n";
        let filled = fill(text, &results()).unwrap();
        let table = "| | `wheel` | `heap` |\n|---|---|---|\n| W1a schedule | **2.00 ns** | 5.00 ns (2.5 x) |\n";
        assert_eq!(filled, text.replace("old\n", table));
        assert_eq!(fill(&filled, &results()).unwrap(), filled);
        let sizes = fill("<!-- results: compare; ; ; heap, wheel -->\n<!-- end -->\n", &results()).unwrap();
        assert!(sizes.contains("| W1a schedule | 1,000,000 | **5.00 ns** | 2.00 ns (0.40 x) |"), "{sizes}");
    }

    #[test]
    fn query_without_an_answer_is_refused() {
        for query in ["none", "compare; W9", "compare; W1a; 7", "compare; W1a; 10; sundial"] {
            let text = format!("<!-- results: {query} -->\n<!-- end -->\n");
            assert!(fill(&text, &results()).is_err(), "{query}");
        }
        assert!(fill("<!-- results: compare; W1a -->\n", &results()).is_err());
    }

    #[test]
    fn chart_shows_what_was_measured_and_refuses_what_was_not() {
        let chart =
            |figure: &'static [(&'static str, &'static str)]| Chart { panels: figure, sizes: &[10], ..CHARTS[0] };
        let svg = chart(&[("W1a schedule", "schedule")]).draw(&results()["compare"]).unwrap();
        assert!(svg.contains(">2.00 ns<") && svg.contains(">10<") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(chart(&[("W2 expire", "expire")]).draw(&results()["compare"]).is_err());
    }
}
