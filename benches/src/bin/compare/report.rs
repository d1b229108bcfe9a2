//! The results as tables, as verdicts on the goals, and as JSON.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use serde_json::json;

use crate::figure::{BUDGETED_WHOLE_HOUR, WHOLE_HOUR};
use crate::goals::{self, Bound, Verdict};
use crate::ledger::Ledger;
use crate::subject;

/// One table a figure, with each subject's median as a multiple of the first one's.
pub(crate) fn print_tables(out: &mut impl Write, n: usize, ledger: &Ledger) -> io::Result<()> {
    let reference = subject::ALL[0].name;
    let heading = format!("/ {reference}");
    let mut workload = None;
    for figure in ledger.figures() {
        if workload != Some(figure.workload) {
            workload = Some(figure.workload);
            let (name, title) = (figure.workload.name(), figure.workload.title());
            writeln!(out, "\n{name}, n = {n}: {title}")?;
        }
        let unit = figure.unit;
        writeln!(
            out,
            "  {unit:<28}{:>12}{:>12}{:>12}{heading:>11}",
            "min", "median", "max",
        )?;
        let base = ledger
            .find(n, reference, figure)
            .map(|entry| entry.median());
        for entry in ledger.entries() {
            if entry.figure != figure {
                continue;
            }
            let ratio = base.map_or(String::new(), |base| {
                format!("{:.2}", entry.median() / base)
            });
            writeln!(
                out,
                "    {:<26}{:>12.1}{:>12.1}{:>12.1}{ratio:>11}",
                entry.subject,
                entry.min(),
                entry.median(),
                entry.max(),
            )?;
        }
    }
    out.flush()
}

/// What the budget costs, and each goal that has its figures: met or missed, and by how much.
pub(crate) fn print_goals(out: &mut impl Write, ledger: &Ledger) -> io::Result<()> {
    for whole in ledger.entries() {
        let budgeted = ledger.find(whole.n, whole.subject, BUDGETED_WHOLE_HOUR);
        if let (true, Some(budgeted)) = (whole.figure == WHOLE_HOUR, budgeted) {
            let ratio = budgeted.median() / whole.median();
            let (n, subject) = (whole.n, whole.subject);
            writeln!(
                out,
                "\nW6b, n = {n}: {subject} takes {ratio:.2} x its W6 in all"
            )?;
        }
    }
    let verdicts = goals::judge(ledger);
    if verdicts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nGoals (ratios of medians)")?;
    for verdict in verdicts {
        let outcome = if verdict.is_met() { "met" } else { "missed" };
        let goal = verdict.goal;
        writeln!(
            out,
            "  {outcome:<8}{:<5}{:<24}n = {:<9}{:<32}{}",
            goal.figure.workload.name(),
            goal.figure.unit,
            goal.n,
            wanted(&verdict),
            found(&verdict),
        )?;
    }
    Ok(())
}

fn wanted(verdict: &Verdict) -> String {
    let rival = verdict.goal.rival;
    match verdict.goal.bound {
        Bound::Faster(least) => format!(">= {least} x faster than {rival}"),
        Bound::Within(1.0) => format!("no slower than {rival}"),
        Bound::Within(most) => format!("<= {most} x {rival}"),
        Bound::Below => format!("below {rival} in W6"),
    }
}

fn found(verdict: &Verdict) -> String {
    match verdict.goal.bound {
        Bound::Faster(_) => format!("{:.2} x faster", verdict.ratio),
        Bound::Within(_) | Bound::Below => format!("{:.2} x", 1.0 / verdict.ratio),
    }
}

/// Replaces what the file holds by an array with one object an entry.
pub(crate) fn write_json(file: File, ledger: &Ledger) -> io::Result<()> {
    let entries: Vec<_> = ledger
        .entries()
        .iter()
        .map(|entry| {
            json!({
                "workload": entry.figure.workload.name(),
                "n": entry.n,
                "subject": entry.subject,
                "unit": entry.figure.unit,
                "min": entry.min(),
                "median": entry.median(),
                "max": entry.max(),
            })
        })
        .collect();
    // A pipe has no length to cut.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let mut writer = BufWriter::new(file);
    serde_json::to_writer_pretty(&mut writer, &entries)?;
    writeln!(writer)?;
    writer.flush()
}
