//! The result as text for a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table, TableComponent};

use crate::figure::{grouped, pause, three_digits};
use crate::replay::{Comparison, Outcome};
use crate::setup::Fact;

/// The queue that others are compared with.
pub(crate) const BASELINE: &str = "btree";

/// The quantile of pauses that is quoted beside the longest.
pub(crate) const TAIL: f64 = 0.9999;

/// The description of a run, a line a fact.
pub(crate) fn facts(facts: &[Fact]) -> String {
    facts
        .iter()
        .map(|fact| format!("{:<9} {}\n", fact.subject, fact.text))
        .collect()
}

/// The workload's counts and each queue's figures.
pub(crate) fn result(comparison: &Comparison) -> String {
    format!(
        "\n{}\n\n{}\n\n{}\n",
        workload(comparison),
        queues(comparison),
        verdict(comparison)
    )
}

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

/// The verdict in a sentence or two.
pub(crate) fn verdict(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison
        .outcomes
        .iter()
        .map(|outcome| outcome.name.as_str())
        .collect();
    let digests = match (names.as_slice(), comparison.digests_equal()) {
        ([only], _) => format!("Only {only} ran: equal digests say nothing."),
        (_, true) => format!(
            "Digests are equal: {} expired the same keys at the same times in the same order.",
            names.join(", ")
        ),
        (_, false) => {
            "DIGESTS DIFFER: the queues did not expire the same keys at the same times in \
                       the same order."
                .to_owned()
        }
    };
    let mut verdict = format!(
        "{digests} Early: {}, late: {}.",
        comparison.early(),
        comparison.late()
    );
    if comparison.miscounted() > 0 {
        verdict += &format!(
            " Timers lost or kept too many: {}.",
            comparison.miscounted()
        );
    }
    verdict
}

/// The workload's counts with their names.
pub(crate) fn workload_counts(comparison: &Comparison) -> Vec<(&'static str, u64)> {
    let first = &comparison.outcomes[0];
    vec![
        ("requests", comparison.requests),
        ("hits", first.counts.hits),
        ("misses", first.counts.misses),
        ("inserts", first.counts.inserts),
        ("refreshes", first.counts.refreshes),
        ("expired", first.counts.expired),
        ("evicted", first.counts.evicted),
        ("deleted", first.counts.deleted),
        ("most live", first.findings.most_live),
    ]
}

/// Each queue's figures, under their headings.
pub(crate) fn queue_figures(comparison: &Comparison) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings = vec![
        "queue",
        "ns/request",
        "speed-up",
        "ns/queue op",
        "speed-up",
        "longest advance",
        "p99.99 advance",
        "early",
        "late",
        "digest",
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
            grouped(outcome.findings.early),
            grouped(outcome.findings.late),
            format!("{:016x}", outcome.findings.digest),
        ]
    });
    (headings, rows.collect())
}

fn workload(comparison: &Comparison) -> Table {
    let counts = workload_counts(comparison);
    let headings: Vec<&str> = counts.iter().map(|count| count.0).collect();
    let row = counts.iter().map(|count| grouped(count.1)).collect();
    aligned(&headings, vec![row])
}

fn queues(comparison: &Comparison) -> Table {
    let (headings, rows) = queue_figures(comparison);
    let mut table = aligned(&headings, rows);
    if let Some(names) = table.column_mut(0) {
        names.set_cell_alignment(CellAlignment::Left);
    }
    table
}

/// A table of figures, which stand at the right, under headings of two lines where they are long.
fn aligned(headings: &[&str], rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections)
        .set_header(
            headings
                .iter()
                .map(|heading| heading.replacen(' ', "\n", 1)),
        )
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
