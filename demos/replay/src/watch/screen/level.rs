//! One level: its label, and rows of buckets shaded by how many timers they hold.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use timer_wheel::inspect::Level;

use super::{FAINT, STRONG};
use crate::figure::{NS_PER_S, grouped, pause, span};

const LABEL: u16 = 16;

/// The fewest timers in a cell for each shade.
const SHADES: [(usize, &str, Color); 6] = [
    (1, "░", Color::Blue),
    (10, "▒", Color::Cyan),
    (100, "▓", Color::Green),
    (1_000, "█", Color::Green),
    (10_000, "█", Color::Yellow),
    (100_000, "█", Color::Red),
];

/// An empty bucket, to come and passed.
const EMPTY: &str = "·";
const PASSED: &str = "─";

const CURSOR: &str = "◆";
const CURSOR_STYLE: Style = Style::new().fg(Color::Magenta).add_modifier(Modifier::BOLD);

/// One level of the wheel that has buckets.
pub(super) struct LevelView {
    number: usize,
    /// Nanoseconds that a bucket spans.
    span_ns: u64,
    cursor: usize,
    /// The timers in each bucket.
    buckets: Vec<usize>,
}

impl LevelView {
    /// What the wheel shows of a level; nothing of the far timers, which have no buckets.
    pub(super) fn of((number, level): (usize, Level)) -> Option<Self> {
        Some(Self { number, span_ns: level.bucket_span?, cursor: level.cursor, buckets: level.buckets })
    }
}

/// What the symbols mean: a shade has at least so many timers.
pub(super) fn legend() -> impl Iterator<Item = (Span<'static>, String)> {
    let marks = [(CURSOR, CURSOR_STYLE, "now"), (PASSED, FAINT, "passed"), (EMPTY, FAINT, "empty")];
    let marks = marks.map(|(glyph, style, name)| (Span::styled(glyph, style), name.to_owned()));
    let shades = SHADES.map(|(fewest, glyph, color)| {
        let unit = if fewest == 100_000 { "+ timers" } else { "" };
        let fewest = grouped(fewest as u64);
        (Span::styled(glyph, Style::new().fg(color)), fewest + unit)
    });
    marks.into_iter().chain(shades)
}

pub(super) fn draw(level: &LevelView, frame: &mut Frame<'_>, area: Rect) {
    let [labels, _, cells] =
        Layout::horizontal([Constraint::Length(LABEL - 1), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(label(level), labels);
    let (columns, buckets_a_cell) = grid(level.buckets.len(), cells.width, cells.height);
    let firsts: Vec<usize> = (0..level.buckets.len()).step_by(buckets_a_cell).collect();
    let row = |row: &[usize]| Line::from_iter(row.iter().map(|first| cell(level, *first..first + buckets_a_cell)));
    frame.render_widget(Paragraph::new(Vec::from_iter(firsts.chunks(columns).map(row))), cells);
}

/// How many columns and buckets a cell a level has. All are powers of two, as the number of buckets is.
fn grid(buckets: usize, width: u16, height: u16) -> (usize, usize) {
    let power_of_two_up_to = |most: u16| most.checked_ilog2().map_or(1, |bits| 1 << bits);
    let columns = power_of_two_up_to(width).min(buckets);
    let rows = power_of_two_up_to(height).min(buckets / columns);
    (columns, buckets / (columns * rows))
}

/// One cell: the cursor, the past, or the timers that are to come.
fn cell(level: &LevelView, buckets: Range<usize>) -> Span<'static> {
    if buckets.contains(&level.cursor) {
        return Span::styled(CURSOR, CURSOR_STYLE);
    }
    let timers: usize = level.buckets[buckets.clone()].iter().sum();
    let shade = SHADES.iter().rev().find(|(fewest, ..)| timers >= *fewest);
    match shade {
        Some(&(_, glyph, color)) => Span::styled(glyph, Style::new().fg(color)),
        None if buckets.end <= level.cursor => Span::styled(PASSED, FAINT),
        None => Span::styled(EMPTY, FAINT),
    }
}

/// The label, of which the last lines need not fit.
fn label(level: &LevelView) -> Paragraph<'static> {
    let each = match level.span_ns {
        ns if ns < 60 * NS_PER_S => pause(ns as f64),
        ns => span(ns),
    };
    let timers: usize = level.buckets.iter().sum();
    let occupied = level.buckets.iter().filter(|&&timers| timers != 0).count();
    let number = Span::styled(format!("level {}", level.number), STRONG);
    Paragraph::new(vec![
        Line::from_iter([number, Span::styled(format!(" {each}"), FAINT)]),
        Line::raw(format!("{} timers", grouped(timers as u64))),
        Line::styled(format!("in {occupied} of {}", level.buckets.len()), FAINT),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_of_any_room_fits_with_a_cell_for_every_bucket() {
        for buckets in [1, 2, 4, 32, 64, 128, 256] {
            for nth in 0..1_500 {
                let (width, height) = (nth / 5 + 1, nth % 5 + 1);
                let (columns, buckets_a_cell) = grid(buckets, width, height);
                let rows = buckets / buckets_a_cell / columns;
                assert!((1..=width.into()).contains(&columns) && (1..=height.into()).contains(&rows));
                assert_eq!(rows * columns * buckets_a_cell, buckets, "{width} x {height}");
            }
        }
        assert_eq!(grid(256, 80 - LABEL, 4), (64, 1));
    }

    #[test]
    fn cell_is_shaded_by_the_timers_in_all_its_buckets() {
        let level = LevelView { number: 0, span_ns: 1, cursor: 2, buckets: vec![0, 0, 0, 0, 9, 1, 0, 0] };
        let glyphs = |width: usize| -> String {
            let cells = (0..8).step_by(width).map(|first| cell(&level, first..first + width));
            cells.map(|cell| cell.content.into_owned()).collect()
        };
        assert_eq!([1, 2].map(glyphs), ["──◆·░░··", "─◆▒·"]);
    }
}
