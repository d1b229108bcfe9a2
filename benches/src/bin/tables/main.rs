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
//! Between semicolons: a file of `benches/results`; the figures, each a whole name or its first words; the
//! numbers of timers; the subjects, the one that the others are held against first. What is left out is all there
//! is. Files alone, with commas between, give a line each that says where their figures come from.
//!
//! `cargo run -p timer-wheel-bench --bin tables` writes the documents, and with `--check` nothing: it fails
//! if one differs from what it should be.

mod plot;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use timer_wheel_bench::results::Results;

use table::Query;

const MARKER: &str = "<!-- results: ";
const END: &str = "<!-- end -->";

/// The drawings: the figure, and the file's name in `docs/plots`.
const PLOTS: [(&str, &str); 7] = [
    ("W1a schedule", "w1a"),
    ("W1b cancel", "w1b"),
    ("W1c schedule, aged", "w1c"),
    ("W2 expire", "w2"),
    ("W3 cancel one, schedule one", "w3"),
    ("W4 reschedule to later", "w4"),
    ("W8 after W1a", "w8"),
];
/// The results that they are made from.
const GROWTH: &str = "growth";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_check = match &arguments[..] {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return fail("expected nothing, or --check"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match bring_up_to_date(&root, is_check) {
        Ok(stale) if stale.is_empty() => ExitCode::SUCCESS,
        Ok(stale) if is_check => fail(&format!(
            "not as the results have it, run `cargo run -p timer-wheel-bench --bin tables`: {}",
            stale.join(", ")
        )),
        Ok(written) => {
            println!("written: {}", written.join(", "));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::FAILURE
}

type AllResults = BTreeMap<String, Results>;

/// Gives the files that were not up to date.
fn bring_up_to_date(root: &Path, is_check: bool) -> Result<Vec<String>, String> {
    let all = read_all(&root.join("benches/results"))?;
    let mut wanted: Vec<(PathBuf, String)> = Vec::new();
    let mut documents = files(&root.join("docs"), "md")?;
    documents.push(root.join("README.md"));
    for path in documents {
        let text = fs::read_to_string(&path).map_err(|error| told(&path, &error))?;
        let filled = fill(&text, &all).map_err(|error| told(&path, &error))?;
        wanted.push((path, filled));
    }
    let growth = all.get(GROWTH).ok_or("there are no results of growth")?;
    for (figure, name) in PLOTS {
        let path = root.join(format!("docs/plots/{name}.svg"));
        wanted.push((path, plot::draw(growth, figure)?));
    }
    let mut stale = Vec::new();
    for (path, text) in wanted {
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        if !is_check {
            fs::write(&path, text).map_err(|error| told(&path, &error))?;
        }
        let name = path.strip_prefix(root).unwrap_or(&path);
        stale.push(name.display().to_string());
    }
    Ok(stale)
}

fn read_all(folder: &Path) -> Result<AllResults, String> {
    let read = |path: PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let results = Results::read(&path).map_err(|error| told(&path, &error))?;
        Ok((stem.into_owned(), results))
    };
    files(folder, "json")?.into_iter().map(read).collect()
}

/// The files of a folder whose names end so, in order.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| told(folder, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    Ok(files)
}

fn told(path: &Path, error: &impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// A document with its tables made anew.
fn fill(text: &str, all: &AllResults) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled += line;
        filled += "\n";
        let asked = line.strip_prefix(MARKER);
        let Some(query) = asked.and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        filled += &Query::parse(query)?.answer(all)?;
        filled += END;
        filled += "\n";
        let is_closed = lines.by_ref().any(|line| line == END);
        if !is_closed {
            return Err(format!("'{query}' has no end"));
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> AllResults {
        let mut results = Results::default();
        for (subject, ns) in [("wheel", 2.0), ("heap", 5.0)] {
            for n in [10, 1_000_000] {
                results.figures.push(
                    serde_json::from_value(serde_json::json!({
                        "figure": "W1a schedule", "n": n, "subject": subject, "unit": "ns",
                        "counts": "median", "min": ns - 1.0, "median": ns, "max": ns + 1.0,
                    }))
                    .unwrap(),
                );
            }
        }
        AllResults::from([("compare".to_owned(), results)])
    }

    #[test]
    fn table_takes_the_place_of_the_one_before() {
        let text = "a\n<!-- results: compare; W1a; 10 -->\nold\n<!-- end -->\nb\n";
        let filled = fill(text, &results()).unwrap();
        let expected = "a\n<!-- results: compare; W1a; 10 -->\n| | `wheel` | `heap` |\n|---|---|---|\n\
                        | W1a schedule | **2.00 ns** | 5.00 ns (2.5 x) |\n<!-- end -->\nb\n";
        assert_eq!(filled, expected);
        assert_eq!(fill(&filled, &results()).unwrap(), filled);
    }

    #[test]
    fn query_without_an_answer_is_refused() {
        for query in [
            "none",
            "compare; W9",
            "compare; W1a; 7",
            "compare; W1a; 10; sundial",
        ] {
            let text = format!("<!-- results: {query} -->\n<!-- end -->\n");
            assert!(fill(&text, &results()).is_err(), "{query}");
        }
        assert!(fill("<!-- results: compare; W1a -->\n", &results()).is_err());
    }

    #[test]
    fn several_sizes_have_a_column_and_rows_of_their_own() {
        let text = "<!-- results: compare; ; ; heap, wheel -->\n<!-- end -->\n";
        let filled = fill(text, &results()).unwrap();
        let row = "| W1a schedule | 1,000,000 | **5.00 ns** | 2.00 ns (0.40 x) |";
        assert!(filled.contains(row), "{filled}");
    }

    #[test]
    fn drawing_has_a_line_a_point_and_a_name_for_each_subject() {
        let svg = plot::draw(&results()["compare"], "W1a schedule").unwrap();
        let svg = roxmltree::Document::parse(&svg).unwrap();
        let count = |tag| svg.descendants().filter(|it| it.has_tag_name(tag)).count();
        assert_eq!((count("polyline"), count("circle")), (2, 4));
        let texts: Vec<_> = svg.descendants().filter_map(|it| it.text()).collect();
        assert!(texts.contains(&"wheel") && texts.contains(&"heap"));
    }
}
