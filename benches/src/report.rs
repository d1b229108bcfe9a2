//! The results as text tables.

use std::io::{self, Write};

use crate::figure::Figure;
use crate::queue::Need;
use crate::results::{Counts, Measured};

/// A table a figure, a row a subject. The last column is the value that counts (the median, unless another is named) as a
/// multiple of the first subject's. A subject comes with what it lacks. O(figures).
pub fn tables(n: u64, figures: &[Figure], subjects: &[(&str, &[Need])], measured: &[Measured]) -> String {
    let mut text = format!("\nn = {n}\n");
    for figure in figures {
        let find = |&(subject, _): &(&str, _)| {
            let mut all = measured.iter();
            all.find(|it| it.figure == figure.name && it.subject == subject)
        };
        let rows: Vec<_> = subjects.iter().map(find).collect();
        if rows.iter().all(Option::is_none) {
            continue;
        }
        let counts = match figure.counts {
            Counts::Median => "",
            Counts::Min => ", min",
        };
        let title = format!("{} [{}{counts}]", figure.name, figure.unit);
        let heading = format!("/ {}", subjects[0].0);
        text += &format!("  {title:<46}{:>12}{:>12}{:>12}{heading:>11}\n", "min", "median", "max");
        let base = rows[0].map(Measured::value).filter(|&base| base > 0.0);
        for (&(name, lacks), row) in subjects.iter().zip(&rows) {
            text += &match row {
                Some(it) => {
                    let (spread, ratio) = (it.spread, base.map(|base| format!("{:.2}", it.value() / base)));
                    let ratio = ratio.unwrap_or_default();
                    let [min, median, max] = [spread.min, spread.median, spread.max];
                    format!("    {name:<44}{min:>12.1}{median:>12.1}{max:>12.1}{ratio:>11}\n")
                }
                None => format!("    {name:<44}{:>12}  {}\n", "-", figure.reason_to_lack(lacks).unwrap_or_default()),
            };
        }
    }
    text
}

/// Prints a text. A reader who has closed the pipe has seen enough.
pub fn say(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write the results: {error}")),
        _ => Ok(()),
    }
}
