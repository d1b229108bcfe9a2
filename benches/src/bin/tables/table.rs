//! A table of a document: what is asked for, and the rows that answer.

use timer_wheel_bench::results::{Measured, Results};

use crate::AllResults;

/// What a document asks for.
#[derive(Debug, Default)]
pub(crate) struct Query<'a> {
    files: Vec<&'a str>,
    figures: Vec<&'a str>,
    sizes: Vec<u64>,
    subjects: Vec<&'a str>,
}

impl<'a> Query<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let mut parts = text.split(';').map(str::trim);
        let mut list = |separator: char| -> Vec<&'a str> {
            let items = parts.next().unwrap_or_default().split(separator);
            items.map(str::trim).filter(|it| !it.is_empty()).collect()
        };
        let files = list(',');
        let figures = list(',');
        let sizes = list(' ').into_iter().map(str::parse);
        let sizes: Result<_, _> = sizes.collect();
        Ok(Self {
            files,
            figures,
            sizes: sizes.map_err(|error| format!("'{text}' names no number of timers: {error}"))?,
            subjects: list(','),
        })
    }

    pub(crate) fn answer(&self, all: &AllResults) -> Result<String, String> {
        let of = |&file: &&str| {
            let results = all.get(file);
            let results = results.ok_or_else(|| format!("no results of '{file}'"))?;
            Ok((file.to_owned(), results))
        };
        let files: Result<Vec<_>, String> = self.files.iter().map(of).collect();
        let files = files?;
        if self.figures.is_empty() && self.subjects.is_empty() {
            let sources = files.iter().map(|(file, results)| source(file, results));
            return Ok(sources.collect());
        }
        let results = match files[..] {
            [(_, results)] => results,
            _ => return Err(format!("expected one file: {:?}", self.files)),
        };
        let wanted: Vec<&Measured> = results.figures.iter().filter(|it| self.wants(it)).collect();
        let mut rows: Vec<(&str, u64)> = Vec::new();
        for name in self
            .figures
            .iter()
            .copied()
            .chain(self.figures.is_empty().then_some(""))
        {
            for it in wanted.iter().filter(|it| is_named(name, &it.figure)) {
                if !rows.contains(&(&it.figure, it.n)) {
                    rows.push((&it.figure, it.n));
                }
            }
        }
        let mut subjects = self.subjects.clone();
        if subjects.is_empty() {
            for it in &wanted {
                if !subjects.contains(&&*it.subject) {
                    subjects.push(&it.subject);
                }
            }
        }
        let is_known = |name| wanted.iter().any(|it| it.subject == name);
        if rows.is_empty() || !subjects.iter().copied().all(is_known) {
            return Err(format!(
                "nothing was measured that is asked for by {self:?}"
            ));
        }
        let has_sizes = rows.iter().any(|&(_, n)| n != rows[0].1);
        let sizes = if has_sizes { " n |" } else { "" };
        let mut table = format!("| |{sizes} `{}` |\n|", subjects.join("` | `"));
        table += &"---|".repeat(1 + usize::from(has_sizes) + subjects.len());
        for (figure, n) in rows {
            let count = if has_sizes {
                format!(" {} |", grouped(n))
            } else {
                String::new()
            };
            table += &format!("\n| {figure} |{count}");
            let of = |subject| {
                wanted
                    .iter()
                    .copied()
                    .find(|it| (&*it.figure, it.n, &*it.subject) == (figure, n, subject))
            };
            let first = of(subjects[0]);
            for (nth, &subject) in subjects.iter().enumerate() {
                let cell = of(subject).map_or("-".to_owned(), |it| cell(it, first, nth == 0));
                table += &format!(" {cell} |");
            }
        }
        Ok(table + "\n")
    }

    fn wants(&self, it: &Measured) -> bool {
        let is_among = |names: &[&str]| names.iter().any(|name| is_named(name, &it.figure));
        (self.figures.is_empty() || is_among(&self.figures))
            && (self.sizes.is_empty() || self.sizes.contains(&it.n))
            && (self.subjects.is_empty() || self.subjects.contains(&&*it.subject))
    }
}

/// The figure, and how many times that of the first subject.
fn cell(it: &Measured, first: Option<&Measured>, is_first: bool) -> String {
    let (number, unit) = human(it.value(), &it.unit);
    let value = format!("{number} {unit}");
    let base = first.map_or(0.0, Measured::value);
    match is_first {
        true => format!("**{value}**"),
        false if base > 0.0 && it.value() > 0.0 => {
            format!("{value} ({} x)", ratio(it.value() / base))
        }
        false => value,
    }
}

/// Where the figures of a file come from.
fn source(file: &str, results: &Results) -> String {
    let Results {
        command,
        version,
        machine,
        date,
        rounds,
        verdict,
        ..
    } = results;
    // The goals that are missed are named in the file.
    let goals = match verdict.split("; missed").next() {
        Some("") | None => String::new(),
        Some(count) => format!("; {count}"),
    };
    format!("- {file}: `{command}`, rounds: {rounds}, {date}, {version}, {machine}{goals}\n")
}

/// Whether a figure has this name, or a longer one that begins so.
fn is_named(name: &str, figure: &str) -> bool {
    let rest = figure.strip_prefix(name);
    rest.is_some_and(|rest| name.is_empty() || rest.is_empty() || rest.starts_with(' '))
}

/// What to multiply a value by to write it in a unit that keeps it short, and that unit.
fn scale(value: f64, unit: &str) -> (f64, &str) {
    match unit {
        "ns" if value >= 1e9 => (1e-9, "s"),
        "ns" if value >= 1e6 => (1e-6, "ms"),
        "ns" if value >= 1e4 => (1e-3, "us"),
        unit => (1.0, unit),
    }
}

pub(crate) fn human(value: f64, unit: &str) -> (String, &str) {
    let (factor, unit) = scale(value, unit);
    (digits(value * factor), unit)
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
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
