//! The result as text, for terminals of 80 columns and more.

use crate::figure::{grouped, pause, three_digits};
use crate::replay::{Comparison, Outcome};
use crate::setup::Fact;

/// The queue that others are compared with.
pub(crate) const BASELINE: &str = "btree";

/// The quantile of pauses that is quoted beside the longest.
pub(crate) const TAIL: f64 = 0.9999;

/// The columns that everything fits into.
const WIDTH: usize = 80;

/// The columns of a subject, left of what is said of it.
const SUBJECT: usize = 10;

/// A heading of two lines.
pub(crate) type Heading = [&'static str; 2];

/// The description of a run, a fact each with its subject.
pub(crate) fn facts(facts: &[Fact]) -> String {
    facts
        .iter()
        .map(|fact| line(fact.subject, &fact.text))
        .collect()
}

/// A subject, and what is said of it, on as many lines as it takes.
pub(crate) fn line(subject: &str, text: &str) -> String {
    let mut lines = wrapped(text, WIDTH - SUBJECT).into_iter();
    let first = lines.next().unwrap_or_default();
    lines.fold(format!("{subject:<SUBJECT$}{first}\n"), |text, line| {
        format!("{text}{:SUBJECT$}{line}\n", "")
    })
}

/// The workload's counts, each queue's figures, and the verdict.
pub(crate) fn result(comparison: &Comparison) -> String {
    let counts: String = sums(comparison)
        .iter()
        .map(|fact| line(fact.subject, &fact.text))
        .collect();
    let verdict = paragraph(&verdict(comparison));
    let pauses = pauses(comparison).map_or_else(String::new, |pauses| paragraph(&pauses));
    format!(
        "{counts}\n{}\n{}{pauses}{verdict}",
        queues(comparison),
        paragraph(NOTE)
    )
}

/// What the columns of [`queue_figures`] mean.
pub(crate) const NOTE: &str = "speed-up: how many times as fast as btree, a BTreeSet beside a slab. \
    textbook: a wheel of linked lists, one node a timer.";

/// How many times less time something takes than the baseline, if that ran.
pub(crate) fn speed_up(
    comparison: &Comparison,
    outcome: &Outcome,
    time_of: impl Fn(&Outcome) -> f64,
) -> Option<f64> {
    comparison
        .named(BASELINE)
        .map(|baseline| time_of(baseline) / time_of(outcome))
}

/// The verdict in a few sentences: how much was compared, and whether the queues agree.
pub(crate) fn verdict(comparison: &Comparison) -> String {
    let outcomes = &comparison.outcomes;
    let names: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.name.as_str())
        .collect();
    let expired = grouped(outcomes[0].counts.expired);
    let digest = outcomes[0].findings.digest;
    let is_empty = outcomes.iter().all(|outcome| outcome.counts.expired == 0);
    let mut verdict = match (names.as_slice(), comparison.digests_equal()) {
        (_, true) if is_empty => {
            "Nothing expired, so there was nothing to compare. Give --ttl, a shorter one, or more \
             requests."
                .to_owned()
        }
        ([only], _) => format!("Only {only} ran, so its {expired} expiries were not compared."),
        (_, true) => format!(
            "Digests are equal: {} expired the same {expired} entries at the same times in the same \
             order ({digest:016x}).",
            names.join(", ")
        ),
        (_, false) => {
            "DIGESTS DIFFER: the queues did not expire the same entries at the same times in the \
             same order."
                .to_owned()
        }
    };
    verdict += &format!(
        " Early: {}, late: {}.",
        grouped(comparison.early()),
        grouped(comparison.late())
    );
    if comparison.miscounted() > 0 {
        verdict += &format!(
            " Timers lost or kept too many: {}.",
            grouped(comparison.miscounted())
        );
    }
    if !comparison.is_clean() {
        verdict.extend(outcomes.iter().map(fault));
    }
    verdict
}

/// What the verdict on one queue rests on.
fn fault(outcome: &Outcome) -> String {
    let findings = &outcome.findings;
    format!(
        " {}: {} expired, {} early, {} late, {} timers miscounted, digest {:016x}.",
        outcome.name,
        grouped(outcome.counts.expired),
        grouped(findings.early),
        grouped(findings.late),
        grouped(findings.miscounted),
        findings.digest
    )
}

/// The longest call of each queue, in a sentence.
fn pauses(comparison: &Comparison) -> Option<String> {
    let (first, others) = comparison.outcomes.split_first()?;
    let longest = |outcome: &Outcome| pause(outcome.pauses.max() as f64);
    let others: Vec<String> = others
        .iter()
        .map(|outcome| format!("{} with {}", longest(outcome), outcome.name))
        .collect();
    let (last, before) = others.split_last()?;
    let before = before.iter().map(|other| format!("{other}, "));
    Some(format!(
        "No request is served during a call to advance: for {} at most with {}, {}{last}.",
        longest(first),
        first.name,
        before.collect::<String>()
    ))
}

/// The workload's counts, as sums.
pub(crate) fn sums(comparison: &Comparison) -> [Fact; 3] {
    let first = &comparison.outcomes[0];
    let counts = &first.counts;
    let fact = |subject, text| Fact { subject, text };
    [
        fact(
            "served",
            format!(
                "{} hits + {} misses + {} writes = {} requests",
                grouped(counts.hits),
                grouped(counts.misses),
                grouped(counts.writes),
                grouped(comparison.requests)
            ),
        ),
        fact(
            "entries",
            format!(
                "{} made = {} expired + {} evicted + {} deleted + {} left",
                grouped(counts.inserts),
                grouped(counts.expired),
                grouped(counts.evicted),
                grouped(counts.deleted),
                grouped(counts.left)
            ),
        ),
        fact(
            "timers",
            format!(
                "{} at once at most; {} entries were given a new deadline",
                grouped(first.findings.most_live),
                grouped(counts.refreshes)
            ),
        ),
    ]
}

/// Each queue's figures, under their headings.
pub(crate) fn queue_figures(comparison: &Comparison) -> (Vec<Heading>, Vec<Vec<String>>) {
    let headings = vec![
        ["", "queue"],
        ["ns a", "request"],
        ["request", "speed-up"],
        ["ns a", "queue call"],
        ["call", "speed-up"],
        ["longest", "advance"],
        ["p99.99", "advance"],
    ];
    let rows = comparison.outcomes.iter().map(|outcome| {
        let times = |ratio: Option<f64>| {
            ratio.map_or_else(
                || "-".to_owned(),
                |ratio| format!("{} x", three_digits(ratio)),
            )
        };
        vec![
            outcome.name.clone(),
            three_digits(outcome.request_ns.median),
            times(speed_up(comparison, outcome, |outcome| {
                outcome.request_ns.median
            })),
            three_digits(outcome.queue_op_ns.median),
            times(speed_up(comparison, outcome, |outcome| {
                outcome.queue_op_ns.median
            })),
            pause(outcome.pauses.max() as f64),
            pause(outcome.pauses.value_at_quantile(TAIL) as f64),
        ]
    });
    (headings, rows.collect())
}

/// The queues' figures, names at the left of their columns and the rest at the right.
fn queues(comparison: &Comparison) -> String {
    let (headings, rows) = queue_figures(comparison);
    let heads = [0, 1].map(|nth| {
        headings
            .iter()
            .map(|heading| heading[nth].to_owned())
            .collect()
    });
    let rows: Vec<Vec<String>> = heads.into_iter().chain(rows).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let (name, figures) = row.split_first().expect("a queue has a name");
        let figures = figures.iter().zip(&widths[1..]);
        let figures: String = figures
            .map(|(figure, width)| format!("  {figure:>width$}"))
            .collect();
        format!("{name:<width$}{figures}\n", width = widths[0])
    };
    rows.iter().map(line).collect()
}

/// A text between empty lines.
fn paragraph(text: &str) -> String {
    let lines: String = wrapped(text, WIDTH)
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{lines}\n")
}

/// A text in lines that are no wider than `width`, but for a word that is.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_text_loses_nothing_and_breaks_between_words() {
        let text = "one two three fourteen-letter five";
        assert_eq!(
            wrapped(text, 9),
            ["one two", "three", "fourteen-letter", "five"]
        );
        assert_eq!(wrapped(text, 80), [text]);
        assert_eq!(wrapped("", 80), [""]);
    }

    #[test]
    fn line_hangs_below_its_subject() {
        let words = "word ".repeat(20);
        let text = line("subject", words.trim_end());
        assert!(text.starts_with("subject   word word"));
        assert!(text.lines().count() == 2 && text.lines().all(|line| line.len() <= WIDTH));
        assert!(
            text.lines()
                .nth(1)
                .is_some_and(|line| line.starts_with("          word"))
        );
    }
}
