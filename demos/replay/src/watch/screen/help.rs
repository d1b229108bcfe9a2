//! What is what, in a box over the rest.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::level::{CURSOR, CURSOR_STYLE, EMPTY, PASSED, SHADES};
use super::{FAINT, STRONG};
use crate::figure::grouped;

/// The widest line, and a column on either side.
const WIDTH: u16 = 76;

/// What the names on the screen mean.
const NAMES: [(&str, &str); 8] = [
    (
        "level",
        "two turns of buckets, each spanning a turn of the level above",
    ),
    ("far", "timers beyond the last level"),
    (
        "ready",
        "timers in no bucket: to fire next, or among the first few",
    ),
    (
        "a second",
        "of the trace's time, over the last second of yours",
    ),
    ("s, right", "on to the start of the next tick"),
    ("w", "on to when the wheel next has something to do"),
    ("+ -", "twice and half as fast; also up and down"),
    ("Esc", "closes this; Ctrl-Z suspends"),
];

/// Draws the box, as far as it fits.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect) {
    let lines: Vec<Line<'_>> = [marks(), shades()]
        .into_iter()
        .chain(NAMES.map(|(name, meaning)| {
            Line::from_iter([
                Span::styled(format!(" {name:<10}"), STRONG),
                Span::raw(meaning),
            ])
        }))
        .collect();
    let height = lines.len() as u16 + 2;
    let area = area.centered(WIDTH.min(area.width).into(), height.min(area.height).into());
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .title(" what is what ")
        .border_style(FAINT);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The cursor and the empty buckets.
fn marks() -> Line<'static> {
    Line::from_iter([
        Span::raw(" "),
        Span::styled(CURSOR, CURSOR_STYLE),
        Span::raw(" the wheel has come to   "),
        Span::styled(PASSED, FAINT),
        Span::raw(" passed   "),
        Span::styled(EMPTY, FAINT),
        Span::raw(" empty"),
    ])
}

/// The shades, each with the fewest timers that it stands for.
fn shades() -> Line<'static> {
    let shades = SHADES.iter().flat_map(|&(fewest, glyph, color)| {
        [
            Span::styled(format!(" {glyph}"), Style::new().fg(color)),
            Span::raw(format!(" {}+  ", grouped(fewest as u64))),
        ]
    });
    Line::from_iter(shades)
}
