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
//! with commas between, give a line each that says where their figures come from. A drawing stands in a file of its own:
//!
//! ```text
//! <!-- chart: costs; number of timers; compare; W1a schedule=schedule; 10000 1000000; wheel, btree+slab=a set -->
//! ```
//!
//! is `docs/plots/costs.svg`, by number of timers, with names of its own for a figure and a subject.
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

use crate::table::Query;

const MARKER: &str = "<!-- results: ";
const CHART: &str = "<!-- chart: ";
const END: &str = "<!-- end -->";

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
    for path in files(&root.join("benches/results"), "jsonl")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        all.insert(stem.into_owned(), Results::read(&path).map_err(|error| told(&path, error))?);
    }
    let mut wanted: Vec<(PathBuf, String)> = Vec::new();
    let mut documents = files(&root.join("docs"), "md")?;
    documents.push(root.join("README.md"));
    for path in documents {
        let text = fs::read_to_string(&path).map_err(|error| told(&path, error))?;
        for asked in text.lines().filter_map(|line| asked(line, CHART)) {
            let (name, svg) = drawing(asked, &all).map_err(|error| told(&path, error))?;
            wanted.push((root.join(format!("docs/plots/{name}.svg")), svg));
        }
        let filled = fill(&text, &all).map_err(|error| told(&path, error))?;
        wanted.push((path, filled));
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

/// What a line of a document asks for, if it begins so.
fn asked<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.strip_prefix(marker)?.strip_suffix(" -->")
}

/// The name of a drawing, and the drawing.
fn drawing<'a>(asked: &'a str, all: &AllResults) -> Result<(&'a str, String), String> {
    let mut parts = asked.splitn(3, "; ");
    let (Some(name), Some(of), Some(query)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("expected a name, what sizes count, and what is drawn: '{asked}'"));
    };
    Ok((name, chart::draw(of, &Query::new(query, all)?)?))
}

/// A document with its tables made anew.
fn fill(text: &str, all: &AllResults) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled += line;
        filled += "\n";
        if let Some(query) = asked(line, MARKER) {
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
    use timer_wheel_bench::results::{Counts, Row, Spread};

    use super::*;

    fn results() -> AllResults {
        let rows = [10, 1_000_000].map(|n| {
            let subjects =
                [("wheel", 2.0), ("heap", 5.0)].map(|(name, ns)| (name.to_owned(), Spread::of([1.0, ns, 9.0])));
            let (figure, unit) = ("W1a schedule".to_owned(), "ns".to_owned());
            Row { figure, n, unit, counts: Counts::Median, subjects: subjects.to_vec() }
        });
        AllResults::from([("compare".to_owned(), Results { rows: rows.to_vec(), ..Results::default() })])
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
        let (name, svg) = drawing("costs; number; compare; W1a=a schedule; 10; wheel=ours", &results()).unwrap();
        assert_eq!(name, "costs");
        for text in [">2.00 ns<", ">10<", ">a schedule, by number<", ">ours<"] {
            assert!(svg.contains(text) && svg.ends_with("</svg>\n"), "{svg}");
        }
        for asked in ["costs; number; compare; W2", "costs; number", "costs; number; none; W1a"] {
            assert!(drawing(asked, &results()).is_err(), "{asked}");
        }
    }
}
