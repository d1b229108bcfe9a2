//! The results as text tables.

use std::io::{self, Write};

use timer_wheel_bench::results::{Counts, Row};

/// A line a subject. The last column is the value that counts (the median, unless another is named) as a multiple of the
/// first subject's. Who lacks the operation is left out. O(subjects).
pub(crate) fn table(row: &Row) -> String {
    let counts = match row.counts {
        Counts::Median => "",
        Counts::Min => ", min",
    };
    let title = format!("{} [{}{counts}] n = {}", row.figure, row.unit, row.n);
    let (first, base) = &row.subjects[0];
    let (base, heading) = (row.counts.of(*base), format!("/ {first}"));
    let mut text = format!("\n  {title:<46}{:>12}{:>12}{:>12}{heading:>11}\n", "min", "median", "max");
    for (name, spread) in &row.subjects {
        let ratio = if base > 0.0 { format!("{:.2}", row.counts.of(*spread) / base) } else { String::new() };
        let [min, median, max] = [spread.min, spread.median, spread.max];
        text += &format!("    {name:<44}{min:>12.1}{median:>12.1}{max:>12.1}{ratio:>11}\n");
    }
    text
}

/// Prints a text. A reader who has closed the pipe has seen enough.
pub(crate) fn say(text: &str) -> Result<(), String> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write the results: {error}")),
        _ => Ok(()),
    }
}
