//! The results as tables, and as verdicts on the goals.

use std::io::{self, Write};

use timer_wheel_bench::results::{self, Counts};

use crate::figure::{BUDGETED_WHOLE_HOUR, Figure, WHOLE_HOUR};
use crate::goals::{self, Bound, Verdict};
use crate::ledger::Ledger;
use crate::subject::{self, Subject};

/// One table a workload, a row for each of its figures and subjects, with what counts of each, the median
/// unless another is named, as a multiple of the first subject's.
pub(crate) fn print_tables(
    out: &mut impl Write,
    n: usize,
    subjects: &[&Subject],
    ledger: &Ledger,
) -> io::Result<()> {
    let mut workload = None;
    let mut notes = Vec::new();
    for figure in ledger.figures() {
        if workload != Some(figure.workload) {
            print_notes(out, &mut notes)?;
            workload = Some(figure.workload);
            let (name, title) = (figure.workload.name(), figure.workload.title());
            writeln!(out, "\n{name}, n = {n}: {title}")?;
        }
        print_rows(out, n, figure, subjects, ledger, &mut notes)?;
    }
    print_notes(out, &mut notes)?;
    out.flush()
}

fn print_rows(
    out: &mut impl Write,
    n: usize,
    figure: Figure,
    subjects: &[&Subject],
    ledger: &Ledger,
    notes: &mut Vec<&'static str>,
) -> io::Result<()> {
    let reference = subject::ALL[0].name;
    let heading = format!("/ {reference}");
    let counts = match figure.counts {
        Counts::Median => "",
        Counts::Min => ", min",
    };
    let title = format!("{} [{}{counts}]", figure.name, figure.unit.name());
    writeln!(
        out,
        "  {title:<34}{:>12}{:>12}{:>12}{heading:>11}{:>9}",
        "min", "median", "max", "samples",
    )?;
    let base = ledger
        .find(n, reference, figure)
        .map(|entry| entry.value())
        .filter(|&base| base > 0.0);
    for subject in subjects {
        let name = subject.name;
        let Some(entry) = ledger.find(n, name, figure) else {
            if let Some(reason) = subject.reason_to_lack(figure) {
                let mark = mark(notes, reason);
                writeln!(out, "    {name:<32}{:>12} ({mark})", "-")?;
            }
            continue;
        };
        let ratio = base.map_or(String::new(), |base| format!("{:.2}", entry.value() / base));
        let spread = entry.spread();
        writeln!(
            out,
            "    {name:<32}{:>12.1}{:>12.1}{:>12.1}{ratio:>11}{:>9}",
            spread.min,
            spread.median,
            spread.max,
            entry.samples(),
        )?;
    }
    Ok(())
}

/// The number under which a reason stands below the table.
fn mark(notes: &mut Vec<&'static str>, reason: &'static str) -> usize {
    let known = notes.iter().position(|&note| note == reason);
    1 + known.unwrap_or_else(|| {
        notes.push(reason);
        notes.len() - 1
    })
}

fn print_notes(out: &mut impl Write, notes: &mut Vec<&'static str>) -> io::Result<()> {
    for (number, note) in (1..).zip(notes.drain(..)) {
        writeln!(out, "  ({number}) {note}")?;
    }
    Ok(())
}

/// What the budget costs, each goal that has its figures: met or missed, and by how much. Gives the last line,
/// which says what came of all.
pub(crate) fn print_goals(out: &mut impl Write, ledger: &Ledger) -> io::Result<String> {
    for whole in ledger.entries() {
        let budgeted = ledger.find(whole.n, whole.subject, BUDGETED_WHOLE_HOUR);
        if let (true, Some(budgeted)) = (whole.figure == WHOLE_HOUR, budgeted) {
            let ratio = budgeted.value() / whole.value();
            let (n, subject) = (whole.n, whole.subject);
            writeln!(
                out,
                "\nW6b, n = {n}: {subject} takes {ratio:.2} x its W6 in all"
            )?;
        }
    }
    let verdicts = goals::judge(ledger);
    if !verdicts.is_empty() {
        writeln!(
            out,
            "\nGoals (ratios of medians, of single calls of the least)"
        )?;
    }
    for verdict in &verdicts {
        let outcome = if verdict.is_met() { "met" } else { "missed" };
        let goal = verdict.goal;
        writeln!(
            out,
            "  {outcome:<8}{:<5}{:<28}n = {:<9}{:<38}{}",
            goal.figure.workload.name(),
            goal.figure.name,
            goal.n,
            wanted(verdict),
            found(verdict),
        )?;
    }
    let summary = summary(&verdicts);
    writeln!(out, "\n{summary}")?;
    Ok(summary)
}

/// All goals in one line, for a reader who skips the tables.
fn summary(verdicts: &[Verdict]) -> String {
    let mut missed: Vec<(String, Vec<String>)> = Vec::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_met()) {
        let figure = verdict.goal.figure;
        let name = format!("{} {}", figure.workload.name(), figure.name);
        let n = verdict.goal.n.to_string();
        match missed.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sizes)) if sizes.contains(&n) => {}
            Some((_, sizes)) => sizes.push(n),
            None => missed.push((name, vec![n])),
        }
    }
    let missed = missed
        .into_iter()
        .map(|(name, sizes)| format!("{name} (n = {})", sizes.join(", ")));
    let missed: Vec<String> = missed.collect();
    let met = verdicts.iter().filter(|verdict| verdict.is_met()).count();
    match verdicts.len() {
        0 => "no goals judged: they need the wheel, a rival and the sizes of the goals".into(),
        all => results::verdict(met, all, &missed),
    }
}

fn wanted(verdict: &Verdict) -> String {
    let rival = verdict.goal.rival;
    match verdict.goal.bound {
        Bound::Faster(least) => format!(">= {least} x faster than {rival}"),
        Bound::Within(most) => format!("<= {most} x {rival}"),
        Bound::AtMost(most) => format!("<= {most}"),
        Bound::AtMostOr { most, times } => format!("<= {most}, or {times} x {rival}"),
    }
}

fn found(verdict: &Verdict) -> String {
    match verdict.goal.bound {
        Bound::Faster(_) => format!("{:.2} x faster", verdict.ratio()),
        Bound::Within(_) => format!("{:.2} x", 1.0 / verdict.ratio()),
        Bound::AtMost(_) => format!("{:.0}", verdict.wheel),
        Bound::AtMostOr { .. } => {
            let (wheel, ratio) = (verdict.wheel, 1.0 / verdict.ratio());
            format!("{wheel:.0}, {ratio:.2} x")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{CHURN, FRESH_BYTES, REFRESH};

    fn table(ledger: &Ledger) -> String {
        let mut out = Vec::new();
        let subjects: Vec<_> = subject::ALL.iter().collect();
        print_tables(&mut out, 10, &subjects, ledger).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn table_gives_ratios_and_reasons() {
        let mut ledger = Ledger::new();
        ledger.record(10, "wheel", REFRESH.sample(2.0));
        ledger.record(10, "textbook", REFRESH.sample(5.0));
        let table = table(&ledger);
        let row = |name: &str| table.lines().find(|line| line.trim().starts_with(name));
        assert!(row("textbook").unwrap().contains("2.50"));
        assert!(row("hhwt").unwrap().ends_with("- (3)"));
        assert!(row("(3)").unwrap().ends_with("a timer cannot be moved"));
    }

    #[test]
    fn goals_are_met_or_missed_with_the_figure() {
        let mut ledger = Ledger::new();
        ledger.record(1_000_000, "wheel", CHURN.sample(10.0));
        ledger.record(1_000_000, "delayqueue", CHURN.sample(65.0));
        ledger.record(1_000_000, "wheel", FRESH_BYTES.sample(60.0));
        ledger.record(1_000_000, "btree+slab", FRESH_BYTES.sample(50.0));
        let mut out = Vec::new();
        print_goals(&mut out, &ledger).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert!(
            lines
                .iter()
                .any(|it| it.starts_with("met") && it.ends_with("6.50 x faster"))
        );
        assert!(
            lines
                .iter()
                .any(|it| it.starts_with("missed") && it.ends_with("1.20 x"))
        );
        let last = "1 of 2 goals met; missed: W8 after W1a (n = 1000000)";
        assert_eq!(lines.last(), Some(&last));
    }

    #[test]
    fn last_line_says_that_all_goals_are_met() {
        let mut ledger = Ledger::new();
        ledger.record(1_000_000, "wheel", CHURN.sample(10.0));
        ledger.record(1_000_000, "delayqueue", CHURN.sample(65.0));
        let mut out = Vec::new();
        assert_eq!(print_goals(&mut out, &ledger).unwrap(), "all 1 goals met");
        assert!(out.ends_with(b"\nall 1 goals met\n"));
        let nothing = print_goals(&mut out, &Ledger::new()).unwrap();
        assert!(nothing.starts_with("no goals judged"));
    }
}
