//! `tables`: makes every table of figures in the README and the documents from the results files.
//!
//! A document says what it wants, and the table stands below:
//!
//! ```text
//! <!-- results: compare; W1a, W10 longest; 10000 1000000; wheel, textbook -->
//! ...
//! <!-- end -->
//! ```
//!
//! Between semicolons: a file of `benches/results`; the figures, each a whole name or its first words; the sizes; the
//! subjects, the one that the others are held against first. `btree+slab=a set` gives a figure or a subject another
//! name. What is left out is all there is. Files alone, with commas between, give a line each that says where their
//! figures come from.
//!
//! The headline, how many times faster than a tree the wheel is, must be in every file that carries it.
//!
//! `cargo run -p timer-wheel-bench --bin tables` writes the documents, and drops from the results what neither they
//! nor the headline ask for. With `--check` it writes nothing, and fails if anything is not as it would write it.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use timer_wheel_bench::results::Results;

const MARKER: &str = "<!-- results: ";
const END: &str = "<!-- end -->";

/// What the headline is about: scheduling, cancelling and postponing, next to a tree that offers the same.
const HEADLINE: &str = "compare; W1a, W1b, W1c, W3, W4; ; wheel, btree+slab";

/// The files that carry the headline.
const HEADLINED: [&str; 3] = ["README.md", "src/lib.rs", "Cargo.toml"];

/// By the names of their files.
type AllResults = BTreeMap<String, Results>;

/// The rows that documents ask for: file, figure and size.
type Asked = Vec<(String, String, u64)>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_check = arguments == ["--check"];
    ensure!(is_check || arguments.is_empty(), "expected nothing, or --check");
    let changed = bring_up_to_date(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), is_check)?.join(", ");
    ensure!(
        !is_check || changed.is_empty(),
        "not as the results have it, run `cargo run -p timer-wheel-bench --bin tables`: {changed}"
    );
    if !is_check {
        println!("written: {changed}");
    }
    Ok(())
}

/// Gives the files that were not up to date.
fn bring_up_to_date(root: &Path, is_check: bool) -> Result<Vec<String>> {
    let folder = root.join("benches/results");
    let mut all = AllResults::new();
    for path in files(&folder, "jsonl")? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        all.insert(stem.into_owned(), Results::read(&path).with_context(|| name_of(&path))?);
    }
    let (mut wanted, mut asked): (Vec<(PathBuf, String)>, _) = (Vec::new(), Asked::new());
    for path in [vec![root.join("README.md")], files(&root.join("docs"), "md")?].concat() {
        let text = fs::read_to_string(&path).with_context(|| name_of(&path))?;
        let filled = fill(&text, &all, &mut asked).with_context(|| name_of(&path))?;
        wanted.push((path, filled));
    }
    let headline = table::headline(HEADLINE, &all, &mut asked)?;
    for name in HEADLINED {
        let text = fs::read_to_string(root.join(name)).context(name)?;
        ensure!(text.contains(&headline), "{name} must say '{headline}', as the results of '{HEADLINE}' have it");
    }
    for (file, mut results) in all {
        results.rows.retain(|row| asked.contains(&(file.clone(), row.figure.clone(), row.n)));
        wanted.push((folder.join(format!("{file}.jsonl")), results.to_text()));
    }
    wanted.retain(|(path, text)| !fs::read_to_string(path).is_ok_and(|there| there == *text));
    for (path, text) in wanted.iter().filter(|_| !is_check) {
        fs::write(path, text).with_context(|| name_of(path))?;
    }
    let name = |(path, _): &(PathBuf, _)| path.strip_prefix(root).unwrap_or(path).display().to_string();
    Ok(wanted.iter().map(name).collect())
}

/// The files of a folder whose names end so, in order.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| name_of(folder))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    files.sort();
    Ok(files)
}

fn name_of(path: &Path) -> String {
    path.display().to_string()
}

/// A document with its tables made anew. Adds what it asks for.
fn fill(text: &str, all: &AllResults, asked: &mut Asked) -> Result<String> {
    let mut filled = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        filled += line;
        filled += "\n";
        if let Some(query) = line.strip_prefix(MARKER).and_then(|line| line.strip_suffix(" -->")) {
            filled += &table::answer(query, all, asked)?;
            filled += END;
            filled += "\n";
            ensure!(lines.by_ref().any(|line| line == END), "'{query}' has no end");
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use timer_wheel_bench::results::{Counts, Row, Spread};

    use super::*;

    fn filled(text: &str, asked: &mut Asked) -> Result<String> {
        let rows = [10, 1_000_000].map(|n| {
            let subjects =
                [("wheel", 2.0), ("heap", 5.0)].map(|(name, ns)| (name.to_owned(), Spread::of([1.0, ns, 9.0])));
            let (figure, unit) = ("W1a schedule".to_owned(), "ns".to_owned());
            Row { figure, n, unit, counts: Counts::Median, subjects: subjects.to_vec() }
        });
        let results = Results { rows: rows.to_vec(), ..Results::default() };
        fill(text, &AllResults::from([("compare".to_owned(), results)]), asked)
    }

    #[test]
    fn table_takes_the_place_of_the_one_before() {
        let text = "a\n<!-- results: compare; W1a=a schedule; 10; wheel=ours, heap -->\nold\n<!-- end -->\nb\n";
        let mut asked = Asked::new();
        let filled_text = filled(text, &mut asked).unwrap();
        let table = "| | `ours` | `heap` |\n|---|---|---|\n| a schedule | **2.00 ns** | 5.00 ns (2.5 x) |\n";
        assert_eq!(filled_text, text.replace("old\n", table));
        assert_eq!(asked, [("compare".to_owned(), "W1a schedule".to_owned(), 10)]);
        assert_eq!(filled(&filled_text, &mut asked).unwrap(), filled_text);
        let sizes = filled("<!-- results: compare; ; ; heap, wheel -->\n<!-- end -->\n", &mut asked).unwrap();
        assert!(sizes.contains("| W1a schedule | 1,000,000 | **5.00 ns** | 2.00 ns (0.40 x) |"), "{sizes}");
    }

    #[test]
    fn headline_spans_the_ratios_rounded_down() {
        let row = |n, ns| {
            let subjects = [("wheel", 2.0), ("tree", ns)].map(|(name, ns)| (name.to_owned(), Spread::of([ns])));
            let (figure, unit) = ("W3 churn".to_owned(), "ns".to_owned());
            Row { figure, n, unit, counts: Counts::Median, subjects: subjects.to_vec() }
        };
        let results = Results { rows: vec![row(1, 118.0), row(2, 9.9), row(3, 60.0)], ..Results::default() };
        let all = AllResults::from([("compare".to_owned(), results)]);
        let mut asked = Asked::new();
        let headline = table::headline("compare; W3; ; wheel, tree", &all, &mut asked).unwrap();
        assert_eq!(headline, "4 to 50 times faster");
        // So it says the same when the others are gone.
        assert_eq!(asked, [1, 2, 3].map(|n| ("compare".to_owned(), "W3 churn".to_owned(), n)));
        assert!(table::headline("compare; W3; ; wheel", &all, &mut asked).is_err());
    }

    #[test]
    fn query_without_an_answer_is_refused() {
        for query in ["none", "compare; W9", "compare; W1a; 7", "compare; W1a; 10; sundial"] {
            assert!(
                filled(&format!("<!-- results: {query} -->\n<!-- end -->\n"), &mut Asked::new()).is_err(),
                "{query}"
            );
        }
        assert!(filled("<!-- results: compare; W1a -->\n", &mut Asked::new()).is_err());
    }
}
