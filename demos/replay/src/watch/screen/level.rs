//! One level: its size, and two rows of buckets, each a bar that is the higher the more timers the bucket holds.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use timer_wheel::inspect::Level;

use super::{FAINT, STRONG, place};
use crate::figure::{grouped, span};

/// The columns left of a row of buckets.
const LABEL: usize = 16;

/// The fewest timers in a cell for each bar.
const BARS: [(usize, &str, &str, Color); 8] = [
    (1, "1 timer", "▁", Color::Blue),
    (10, "10", "▂", Color::Blue),
    (30, "30", "▃", Color::Cyan),
    (100, "100", "▄", Color::Cyan),
    (300, "300", "▅", Color::Green),
    (1_000, "1k", "▆", Color::Green),
    (3_000, "3k", "▇", Color::Yellow),
    (10_000, "10k+", "█", Color::Red),
];

/// An empty bucket, to come and past.
const EMPTY: &str = "·";
const PAST: &str = "─";

const NOW: &str = "◆";
const NOW_STYLE: Style = Style::new().fg(Color::Magenta).add_modifier(Modifier::BOLD);

/// What the symbols mean: a bar has at least so many timers.
pub(super) fn legend() -> impl Iterator<Item = (Span<'static>, String)> {
    let marks = [(NOW, NOW_STYLE, "now"), (PAST, FAINT, "past"), (EMPTY, FAINT, "empty")];
    let bars = BARS.map(|(_, name, glyph, color)| (glyph, Style::new().fg(color), name));
    let all = marks.into_iter().chain(bars);
    all.map(|(glyph, style, name)| (Span::styled(glyph, style), name.to_owned()))
}

/// The lines of a level that has rotations. The first to go, where there is room for fewer than three, is the one that
/// tells its size; then the next rotation.
pub(super) fn lines(number: usize, level: &Level, now_ns: u64, width: usize, room: usize) -> Vec<Line<'static>> {
    let name = format!("level {number}");
    let (this, next) = level.buckets.split_at(level.buckets.len() / 2);
    let span_ns = level.bucket_span.unwrap_or(1);
    let columns = width - LABEL;
    // The bucket that time is in, and how much of it is over.
    let reached = level.cursor as f64 + (now_ns % span_ns) as f64 / span_ns as f64;
    let now = (reached / this.len() as f64 * columns as f64) as usize;
    let labels = if room < 3 { [&name, ""] } else { ["  this rotation", "  next rotation"] };
    let row = |label: &str, cells: Vec<Span<'static>>| {
        let label = Span::styled(format!("{label:<LABEL$}"), if room < 3 { STRONG } else { FAINT });
        Line::from_iter([label].into_iter().chain(cells))
    };
    let size = || {
        let (timers, buckets) = (grouped(level.timers as u64), this.len());
        let [bucket, rotation] = [span_ns, span_ns * buckets as u64].map(span);
        place(&name, format!("{timers} timers; {buckets} buckets of {bucket} make a rotation of {rotation}"))
    };
    let mut lines = Vec::from_iter((room > 2).then(size));
    lines.push(row(labels[0], cells(this, columns, Some(now))));
    lines.extend((room > 1).then(|| row(labels[1], cells(next, columns, None))));
    lines
}

/// A rotation, in equal parts of the columns: a cell has several buckets, or a bucket several cells. Time has come to
/// the column `now`, or not to this rotation yet.
fn cells(buckets: &[usize], columns: usize, now: Option<usize>) -> Vec<Span<'static>> {
    let cell = |column: usize| {
        let [first, after] = [column, column + 1].map(|column| column * buckets.len() / columns);
        let timers: usize = buckets[first..after.max(first + 1)].iter().sum();
        let bar = BARS.iter().rev().find(|(fewest, ..)| timers >= *fewest);
        match bar {
            _ if now == Some(column) => Span::styled(NOW, NOW_STYLE),
            Some(&(_, _, glyph, color)) => Span::styled(glyph, Style::new().fg(color)),
            None if now.is_some_and(|now| column < now) => Span::styled(PAST, FAINT),
            None => Span::styled(EMPTY, FAINT),
        }
    };
    (0..columns).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_each_bucket_once_in_less_room_and_in_equal_parts_in_more() {
        let buckets = [0, 0, 0, 9, 1, 0, 400, 0];
        let row = |columns, now| cells(&buckets, columns, now).iter().map(|cell| cell.content.as_ref()).collect();
        let rows: [String; 5] = [row(8, Some(2)), row(4, Some(0)), row(3, None), row(12, Some(11)), row(24, Some(4))];
        assert_eq!(rows, ["──◆▁▁·▅·", "◆▁▁▅", "·▂▅", "─────▁▁▁─▅▅◆", "────◆····▁▁▁▁▁▁···▅▅▅···"]);
    }

    #[test]
    fn cells_of_any_room_count_every_timer() {
        for buckets in [1, 4, 64, 256] {
            for columns in 1..300 {
                let all_in_one = |full: usize| {
                    let mut timers = vec![0; buckets];
                    timers[full] = 1;
                    cells(&timers, columns, None).iter().any(|cell| cell.content == "▁")
                };
                assert!((0..buckets).all(all_in_one), "{buckets} in {columns}");
            }
        }
    }
}
