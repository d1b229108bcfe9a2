//! A table of a document: what is asked for, and the rows that answer.

use timer_wheel_bench::results::{Measured, Results, is_named};

use crate::AllResults;

/// The rows that answer a query.
pub(crate) fn answer(query: &str, all: &AllResults) -> Result<String, String> {
    let mut parts = query.split(';').map(str::trim);
    let mut list = |separator| {
        let items = parts.next().unwrap_or_default().split(separator).map(str::trim);
        items.filter(|it| !it.is_empty()).collect::<Vec<_>>()
    };
    let (files, mut figures, sizes, mut subjects) = (list(','), list(','), list(' '), list(','));
    let of = |&file: &&str| all.get(file).ok_or_else(|| format!("no results of '{file}'"));
    let results: Result<Vec<&Results>, String> = files.iter().map(of).collect();
    let results = results?;
    if figures.is_empty() && subjects.is_empty() {
        return Ok(files.iter().zip(results).map(|(file, results)| source(file, results)).collect());
    }
    let [results] = results[..] else {
        return Err(format!("expected one file: '{query}'"));
    };
    if figures.is_empty() {
        figures.push("");
    }
    let is_wanted = |it: &&Measured| {
        (sizes.is_empty() || sizes.iter().any(|n| n.parse() == Ok(it.n)))
            && (subjects.is_empty() || subjects.contains(&&*it.subject))
            && figures.iter().any(|name| it.is_named(name))
    };
    let wanted: Vec<&Measured> = results.figures.iter().filter(is_wanted).collect();
    let (mut rows, mut present): (Vec<(&str, u64)>, Vec<&str>) = (Vec::new(), Vec::new());
    for name in figures {
        for it in wanted.iter().filter(|it| is_named(&it.figure, name)) {
            if !rows.contains(&(&it.figure, it.n)) {
                rows.push((&it.figure, it.n));
            }
            if !present.contains(&&*it.subject) {
                present.push(&it.subject);
            }
        }
    }
    if subjects.is_empty() {
        subjects.clone_from(&present);
    }
    if rows.is_empty() || !subjects.iter().all(|name| present.contains(name)) {
        return Err(format!("nothing was measured that is asked for by '{query}'"));
    }
    let has_sizes = rows.iter().any(|&(_, n)| n != rows[0].1);
    let mut table = format!("| |{} `{}` |\n|", if has_sizes { " n |" } else { "" }, subjects.join("` | `"));
    table += &"---|".repeat(1 + usize::from(has_sizes) + subjects.len());
    for (figure, n) in rows {
        table += &format!("\n| {figure} |");
        if has_sizes {
            table += &format!(" {} |", grouped(n));
        }
        let find = |subject| {
            let is_it = |it: &&&Measured| (&*it.figure, it.n, &*it.subject) == (figure, n, subject);
            wanted.iter().find(is_it).copied()
        };
        for &subject in &subjects {
            let first = find(subjects[0]).filter(|_| subject != subjects[0]);
            table += &format!(" {} |", find(subject).map_or("-".to_owned(), |it| cell(it, first)));
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
    let (Results { command, rounds, date, version, machine, .. }, mut goals) = (of, String::new());
    if let Some(count) = of.verdict.split("; missed").next().filter(|count| count.ends_with(" met")) {
        goals = format!("; {count}");
    }
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
