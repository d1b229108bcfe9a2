//! One level: its label, and rows of buckets shaded by how many timers they hold.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::{FAINT, STRONG};
use crate::figure::{NS_PER_S, grouped, pause, span};
use crate::watch::view::LevelView;

/// The width of the label where there is room for it, and of the number that stands for it elsewhere.
const LABEL: u16 = 16;
const SHORT_LABEL: u16 = 2;

/// The fewest columns in which a label leaves enough to the buckets.
const WIDE_ENOUGH: u16 = LABEL + 32;

/// The fewest timers in a cell for each shade.
pub(super) const SHADES: [(usize, &str, Color); 6] = [
    (1, "░", Color::Blue),
    (10, "▒", Color::Cyan),
    (100, "▓", Color::Green),
    (1_000, "█", Color::Green),
    (10_000, "█", Color::Yellow),
    (100_000, "█", Color::Red),
];

/// An empty bucket, to come and passed.
pub(super) const EMPTY: &str = "·";
pub(super) const PASSED: &str = "─";

/// Where the wheel has come to.
pub(super) const CURSOR: &str = "◆";
pub(super) const CURSOR_STYLE: Style = Style::new().fg(Color::Magenta).add_modifier(Modifier::BOLD);

/// Draws a level.
pub(super) fn draw(level: &LevelView, frame: &mut Frame<'_>, area: Rect) {
    let label_width = if area.width >= WIDE_ENOUGH {
        label(level, frame, area);
        LABEL
    } else {
        frame.render_widget(Span::styled(level.number.to_string(), STRONG), area);
        SHORT_LABEL
    };
    let grid = Grid::new(level.buckets.len(), area.width - label_width, area.height);
    for row in 0..grid.rows {
        let cells = (0..grid.columns).map(|column| cell(level, grid.buckets_of(row, column)));
        let line = Rect {
            x: area.x + label_width,
            y: area.y + row as u16,
            width: grid.columns as u16,
            height: 1,
        };
        frame.render_widget(Line::from_iter(cells), line);
    }
}

/// How a level's buckets are laid out: cells of as many buckets each, row by row. All are powers of
/// two, as the number of buckets is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Grid {
    columns: usize,
    rows: usize,
    buckets_a_cell: usize,
}

impl Grid {
    fn new(buckets: usize, width: u16, height: u16) -> Self {
        let columns = power_of_two_up_to(width).min(buckets);
        let rows = power_of_two_up_to(height).min(buckets / columns);
        Self {
            columns,
            rows,
            buckets_a_cell: buckets / (columns * rows),
        }
    }

    fn buckets_of(self, row: usize, column: usize) -> Range<usize> {
        let first = (row * self.columns + column) * self.buckets_a_cell;
        first..first + self.buckets_a_cell
    }
}

/// The largest power of two that is not larger, but at least one.
fn power_of_two_up_to(most: u16) -> usize {
    most.checked_ilog2().map_or(1, |bits| 1 << bits)
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

/// The label: as much of it as there are lines.
fn label(level: &LevelView, frame: &mut Frame<'_>, area: Rect) {
    let each = match level.span_ns {
        ns if ns < 60 * NS_PER_S => pause(ns as f64),
        ns => span(ns),
    };
    let (timers, occupied) = (grouped(level.timers() as u64), level.occupied());
    let number = level.number;
    let name = |rest: String| {
        Line::from_iter([
            Span::styled(format!("level {number}"), STRONG),
            Span::styled(rest, FAINT),
        ])
    };
    let within = format!("in {occupied} of {}", level.buckets.len());
    let timers_of = |timers: &str| match timers.len() {
        0..=8 => Line::raw(format!("{timers} timers")),
        _ => Line::raw(timers.to_owned()),
    };
    let lines = match area.height {
        0 | 1 => vec![Line::from_iter([
            Span::styled(format!("{number} "), STRONG),
            Span::styled(format!("{each} "), FAINT),
        ])],
        2 => vec![name(format!(" {each}")), timers_of(&timers)],
        3 => vec![
            name(format!(" {each}")),
            timers_of(&timers),
            Line::styled(within, FAINT),
        ],
        _ => vec![
            name(String::new()),
            Line::styled(format!("{each} each"), FAINT),
            timers_of(&timers),
            Line::styled(within, FAINT),
        ],
    };
    for (line, text) in area.rows().zip(lines) {
        frame.render_widget(
            text,
            Rect {
                width: LABEL - 1,
                ..line
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_of_any_room_has_a_cell_for_every_bucket_and_fits() {
        for buckets in [1, 2, 4, 32, 64, 128, 256] {
            for width in 1..300 {
                for height in 1..6 {
                    let grid = Grid::new(buckets, width, height);
                    let cells = grid.columns * grid.rows;
                    assert!(grid.columns <= width.into() && grid.rows <= height.into());
                    assert_eq!(cells * grid.buckets_a_cell, buckets, "{width} x {height}");
                    let last = grid.buckets_of(grid.rows - 1, grid.columns - 1);
                    assert_eq!(last.end, buckets);
                }
            }
        }
        let on_80_columns = Grid::new(256, 80 - LABEL, 4);
        assert_eq!(on_80_columns.buckets_a_cell, 1);
    }

    #[test]
    fn cell_is_shaded_by_the_timers_in_all_its_buckets() {
        let level = LevelView {
            number: 0,
            span_ns: 1,
            cursor: 2,
            buckets: vec![0, 0, 0, 0, 9, 1, 0, 0],
        };
        let glyphs = |cell_buckets: usize| -> String {
            (0..8)
                .step_by(cell_buckets)
                .map(|first| {
                    cell(&level, first..first + cell_buckets)
                        .content
                        .into_owned()
                })
                .collect()
        };
        assert_eq!(glyphs(1), "──◆·░░··");
        assert_eq!(glyphs(2), "─◆▒·");
    }
}
