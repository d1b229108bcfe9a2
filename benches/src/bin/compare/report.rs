//! The results as text tables.

use timer_wheel_bench::figure::FIGURES;
use timer_wheel_bench::results::{Counts, Measured};
use timer_wheel_bench::subject::Subject;

/// One table a workload, a row for each of its figures and subjects, with what counts of each, the median unless another
/// is named, as a multiple of the first subject's.
pub(crate) fn tables(n: usize, subjects: &[&Subject], measured: &[Measured]) -> String {
    let mut text = String::new();
    let mut workload = "";
    for figure in FIGURES {
        let find = |subject: &Subject| {
            let mut all = measured.iter();
            all.find(|it| it.figure == figure.name && it.subject == subject.name)
        };
        let rows: Vec<_> = subjects.iter().map(|subject| find(subject)).collect();
        if rows.iter().all(Option::is_none) {
            continue;
        }
        if workload != figure.workload() {
            workload = figure.workload();
            text += &format!("\n{workload}, n = {n}\n");
        }
        let counts = match figure.counts {
            Counts::Median => "",
            Counts::Min => ", min",
        };
        let title = format!("{} [{}{counts}]", figure.name, figure.unit);
        let heading = format!("/ {}", subjects[0].name);
        text += &format!("  {title:<46}{:>12}{:>12}{:>12}{heading:>11}\n", "min", "median", "max");
        let base = rows[0].map(Measured::value).filter(|&base| base > 0.0);
        for (subject, row) in subjects.iter().zip(&rows) {
            let name = subject.name;
            text += &match row {
                Some(it) => {
                    let ratio = base.map(|base| format!("{:.2}", it.value() / base));
                    format!(
                        "    {name:<44}{:>12.1}{:>12.1}{:>12.1}{:>11}\n",
                        it.min,
                        it.median,
                        it.max,
                        ratio.unwrap_or_default()
                    )
                }
                None => {
                    let reason = figure.reason_to_lack(subject.lacks).unwrap_or_default();
                    format!("    {name:<44}{:>12}  {reason}\n", "-")
                }
            };
        }
    }
    text
}
