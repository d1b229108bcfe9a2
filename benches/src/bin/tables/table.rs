//! What a document asks for, and the rows of a table that answer.

use timer_wheel_bench::results::{Measured, Results, is_named};

use crate::AllResults;

/// A name in the results, and what it is called in the document: `btree+slab=BTreeSet and slab`.
pub(crate) type Name<'a> = (&'a str, &'a str);

/// What was measured of all that is asked for.
pub(crate) struct Query<'a> {
    /// Figures with their sizes.
    pub(crate) rows: Vec<(Name<'a>, u64)>,
    pub(crate) subjects: Vec<Name<'a>>,
    measured: Vec<&'a Measured>,
}

impl<'a> Query<'a> {
    /// Between semicolons: a file; figures, each a whole name or its first words; sizes; subjects. What is left out is all
    /// there is.
    pub(crate) fn new(query: &'a str, all: &'a AllResults) -> Result<Self, String> {
        let parts: Vec<&str> = query.split(';').collect();
        let list = |nth: usize, separator| {
            let items = parts.get(nth).copied().unwrap_or_default().split(separator).map(str::trim);
            let named = items.filter(|it| !it.is_empty()).map(|it| it.split_once('=').unwrap_or((it, it)));
            named.collect::<Vec<Name<'a>>>()
        };
        let (file, mut figures, sizes, mut subjects) = (parts[0].trim(), list(1, ','), list(2, ' '), list(3, ','));
        let results = all.get(file).ok_or_else(|| format!("no results of '{file}'"))?;
        let is_any = |names: &[Name<'_>], it: &str| names.is_empty() || names.iter().any(|(name, _)| *name == it);
        let is_wanted = |it: &&Measured| is_any(&sizes, &it.n.to_string()) && is_any(&subjects, &it.subject);
        let measured: Vec<&Measured> = results.figures.iter().filter(is_wanted).collect();
        let (mut rows, mut present) = (Vec::new(), Vec::<Name<'a>>::new());
        if figures.is_empty() {
            figures.push(("", ""));
        }
        for (name, label) in figures {
            for it in measured.iter().filter(|it| is_named(&it.figure, name)) {
                let row = ((&*it.figure, if name == label { &it.figure } else { label }), it.n);
                if !rows.contains(&row) {
                    rows.push(row);
                }
                if !present.iter().any(|(subject, _)| *subject == it.subject) {
                    present.push((&it.subject, &it.subject));
                }
            }
        }
        if rows.is_empty() || !subjects.iter().all(|(name, _)| present.iter().any(|(there, _)| there == name)) {
            return Err(format!("nothing was measured that is asked for by '{query}'"));
        }
        if subjects.is_empty() {
            subjects = present;
        }
        Ok(Self { rows, subjects, measured })
    }

    pub(crate) fn find(&self, figure: &str, n: u64, subject: &str) -> Option<&'a Measured> {
        let mut measured = self.measured.iter();
        measured.find(|it| (&*it.figure, it.n, &*it.subject) == (figure, n, subject)).copied()
    }
}

/// The rows that answer a query, or for files alone where their figures come from.
pub(crate) fn answer(query: &str, all: &AllResults) -> Result<String, String> {
    if !query.contains(';') {
        let sources = query.split(',').map(str::trim).map(|file| match all.get(file) {
            Some(results) => Ok(source(file, results)),
            None => Err(format!("no results of '{file}'")),
        });
        return sources.collect();
    }
    let query = Query::new(query, all)?;
    let has_sizes = query.rows.iter().any(|&(_, n)| n != query.rows[0].1);
    let subjects: Vec<&str> = query.subjects.iter().map(|(_, label)| *label).collect();
    let mut table = format!("| |{} `{}` |\n|", if has_sizes { " n |" } else { "" }, subjects.join("` | `"));
    table += &"---|".repeat(1 + usize::from(has_sizes) + subjects.len());
    for &((figure, label), n) in &query.rows {
        table += &format!("\n| {label} |");
        if has_sizes {
            table += &format!(" {} |", grouped(n));
        }
        for (nth, (subject, _)) in query.subjects.iter().enumerate() {
            let first = query.find(figure, n, query.subjects[0].0).filter(|_| nth > 0);
            table += &format!(" {} |", query.find(figure, n, subject).map_or("-".to_owned(), |it| cell(it, first)));
        }
    }
    Ok(table + "\n")
}

/// The figure, and how many times that of the first subject, unless it is the first.
fn cell(it: &Measured, first: Option<&Measured>) -> String {
    let value = human(it.value(), &it.unit);
    match first.map(Measured::value) {
        None => format!("**{value}**"),
        Some(first) if first > 0.0 && it.value() > 0.0 => format!("{value} ({} x)", ratio(it.value() / first)),
        Some(_) => value,
    }
}

/// Where the figures of a file come from. The goals that are missed are named in the file.
fn source(file: &str, of: &Results) -> String {
    let Results { command, rounds, date, version, machine, .. } = of;
    let goals = of.verdict.split("; missed").next().filter(|count| count.ends_with(" met"));
    let goals = goals.map(|count| format!("; {count}")).unwrap_or_default();
    format!("- {file}: `{command}`, rounds: {rounds}, {date}, {version}, {machine}{goals}\n")
}

/// A value in a unit that keeps it short.
pub(crate) fn human(value: f64, unit: &str) -> String {
    let (factor, unit) = match unit {
        "ns" if value >= 1e9 => (1e-9, "s"),
        "ns" if value >= 1e6 => (1e-6, "ms"),
        "ns" if value >= 1e4 => (1e-3, "us"),
        unit => (1.0, unit),
    };
    format!("{} {unit}", digits(value * factor))
}

/// Three digits that mean something.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 1e5 => grouped((value / 1e3).round() as u64 * 1_000),
        value if value >= 99.95 => grouped(value.round() as u64),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

fn ratio(value: f64) -> String {
    match value {
        value if value >= 99.5 => grouped(value.round() as u64),
        value if value >= 9.95 => format!("{value:.0}"),
        value if value >= 0.95 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A number with commas.
pub(crate) fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}
