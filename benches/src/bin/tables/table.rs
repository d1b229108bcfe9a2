//! What a document asks for, and the rows of a table that answer.

use anyhow::{Context, Result, bail, ensure};
use indicatif::HumanCount;
use timer_wheel_bench::results::{Results, Row};

use crate::{AllResults, Asked};

/// What a query asks for: rows with what the document calls their figures, and subjects with what it calls these.
type Found<'a> = (Vec<(&'a str, &'a Row)>, Vec<(&'a str, &'a str)>);

/// The table that answers a query, or for files alone where their figures come from. Adds what is asked for.
pub(crate) fn answer(query: &str, all: &AllResults, asked: &mut Asked) -> Result<String> {
    if query.contains(';') {
        let (rows, subjects) = find(query, all, asked)?;
        return Ok(table(&rows, &subjects));
    }
    query.split(',').map(str::trim).map(|file| Ok(source(file, results(file, all)?))).collect()
}

/// How many times as long the second subject of a query takes, from the least ratio to the greatest. Adds what is asked
/// for.
pub(crate) fn headline(query: &str, all: &AllResults, asked: &mut Asked) -> Result<String> {
    let (rows, subjects) = find(query, all, asked)?;
    let [(ours, _), (other, _)] = subjects[..] else { bail!("'{query}' needs two subjects") };
    let ratios = rows.iter().filter_map(|(_, row)| Some(row.value(other)? / row.value(ours)?));
    let (least, greatest) = ratios.fold((f64::MAX, 0.0), |(least, greatest), it| (it.min(least), it.max(greatest)));
    // To one digit, and downwards: no claim is larger than what was measured.
    let rounded = |ratio: f64| {
        let unit = 10_f64.powf(ratio.log10().floor());
        (ratio / unit).floor() * unit
    };
    Ok(format!("{} to {} times faster", rounded(least), rounded(greatest)))
}

fn results<'a>(file: &str, all: &'a AllResults) -> Result<&'a Results> {
    all.get(file).with_context(|| format!("no results of '{file}'"))
}

/// The rows and the subjects that a query asks for. Adds the rows.
fn find<'a>(query: &'a str, all: &'a AllResults, asked: &mut Asked) -> Result<Found<'a>> {
    let mut parts = query.split(';').map(str::trim);
    let file = parts.next().unwrap_or_default();
    let mut names = |separator| {
        let names = parts.next().unwrap_or_default().split(separator).map(str::trim).filter(|it| !it.is_empty());
        names.map(|it| it.split_once('=').unwrap_or((it, it))).collect::<Vec<_>>()
    };
    let (mut figures, sizes, mut subjects) = (names(','), names(' '), names(','));
    if figures.is_empty() {
        figures.push(("", ""));
    }
    let mut rows: Vec<(&str, &Row)> = Vec::new();
    for (name, label) in figures {
        let is_wanted = |row: &&Row| {
            let mut subjects = subjects.iter();
            row.is_named(name)
                && (sizes.is_empty() || sizes.iter().any(|(size, _)| *size == row.n.to_string()))
                && (subjects.len() == 0 || subjects.any(|(subject, _)| row.value(subject).is_some()))
        };
        let found = results(file, all)?.rows.iter().filter(is_wanted);
        rows.extend(found.map(|row| (if name == label { &*row.figure } else { label }, row)));
    }
    asked.extend(rows.iter().map(|(_, row)| (file.to_owned(), row.figure.clone(), row.n)));
    let has = |subject| rows.iter().any(|(_, row)| row.value(subject).is_some());
    let is_measured = !rows.is_empty() && subjects.iter().all(|(subject, _)| has(subject));
    ensure!(is_measured, "nothing was measured that is asked for by '{query}'");
    if subjects.is_empty() {
        for (name, _) in rows.iter().flat_map(|(_, row)| &row.subjects) {
            if !subjects.contains(&(name, name)) {
                subjects.push((name, name));
            }
        }
    }
    Ok((rows, subjects))
}

fn table(rows: &[(&str, &Row)], subjects: &[(&str, &str)]) -> String {
    let has_sizes = rows.iter().any(|(_, row)| row.n != rows[0].1.n);
    let labels: Vec<&str> = subjects.iter().map(|(_, label)| *label).collect();
    let mut table = format!("| |{} `{}` |\n|", if has_sizes { " n |" } else { "" }, labels.join("` | `"));
    table += &"---|".repeat(1 + usize::from(has_sizes) + subjects.len());
    for (label, row) in rows {
        table += &format!("\n| {label} |");
        if has_sizes {
            table += &format!(" {} |", grouped(row.n));
        }
        let first = row.value(subjects[0].0);
        for (nth, (subject, _)) in subjects.iter().enumerate() {
            let cell = row.value(subject).map(|value| cell(value, &row.unit, first.filter(|_| nth > 0)));
            table += &format!(" {} |", cell.as_deref().unwrap_or("-"));
        }
    }
    table + "\n"
}

/// The figure, and how many times that of the first subject, unless it is the first.
fn cell(value: f64, unit: &str, first: Option<f64>) -> String {
    let text = human(value, unit);
    match first {
        None => format!("**{text}**"),
        Some(first) if first > 0.0 && value > 0.0 => format!("{text} ({} x)", ratio(value / first)),
        Some(_) => text,
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
fn human(value: f64, unit: &str) -> String {
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
fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}
