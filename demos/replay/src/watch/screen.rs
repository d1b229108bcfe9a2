//! The screen: where everything goes, in terminals of any size.
//!
//! With 80 columns and 24 lines everything fits; larger, the levels spread out; smaller, buckets share
//! cells first, then the figures go, and below [`SMALLEST`] only a line says so.

mod figures;
mod help;
mod level;

use ratatui::Frame;
use ratatui::layout::{Rect, Size};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::view::{State, View};

/// The smallest terminal in which levels are drawn.
const SMALLEST: Size = Size::new(24, 7);

/// The most lines that a level can use: its label has as many.
const LEVEL_LINES: u16 = 4;

/// What helps to read, and should not be seen otherwise.
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
/// What is to be seen first.
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// The keys, and what they do, the most needed first.
const KEYS: [(&str, &str); 7] = [
    ("q", "quit"),
    ("?", "help"),
    ("space", "pause"),
    ("+ -", "speed"),
    ("s", "tick"),
    ("w", "wake-up"),
    ("r", "restart"),
];

/// Draws a view.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.width || area.height < SMALLEST.height {
        let text = format!("needs {} x {}", SMALLEST.width, SMALLEST.height);
        frame.render_widget(Line::raw(text), area);
        return;
    }
    let mut rows = Rows::of(area, view.levels.len() as u16);
    let plan = rows.plan;
    figures::header(view, frame, rows.next(1));
    if plan.has_time {
        figures::time(view, frame, rows.next(1));
    }
    rows.skip(plan.gap);
    for one in &view.levels {
        level::draw(one, frame, rows.next(plan.level_lines));
        rows.skip(plan.level_gap);
    }
    figures::elsewhere(view, frame, rows.next(1));
    rows.skip(plan.gap);
    if plan.has_table {
        figures::table(view, frame, rows.next(3));
    }
    if plan.has_pauses {
        figures::pauses(view, frame, rows.next(1));
    }
    keys(view, frame, rows.last());
    if view.is_help_open {
        let above_keys = Rect {
            height: area.height - 1,
            ..area
        };
        help::draw(frame, above_keys);
    }
}

/// What there is room for.
#[derive(Clone, Copy, Debug)]
struct Plan {
    has_time: bool,
    has_table: bool,
    has_pauses: bool,
    level_lines: u16,
    /// Empty lines below each level.
    level_gap: u16,
    /// Empty lines above and below all of them.
    gap: u16,
}

impl Plan {
    /// Shares the lines of a screen out: title, timers elsewhere and keys always have theirs.
    fn new(height: u16, levels: u16) -> Self {
        let mut spare = height - (3 + levels);
        let mut take = |lines: u16| {
            let is_room = spare >= lines;
            spare -= if is_room { lines } else { 0 };
            is_room
        };
        let has_time = take(1);
        let has_pauses = take(1);
        let has_table = take(3);
        let mut level_lines = 1;
        while level_lines < LEVEL_LINES && take(levels) {
            level_lines += 1;
        }
        Self {
            has_time,
            has_table,
            has_pauses,
            level_lines,
            gap: u16::from(take(2)),
            level_gap: u16::from(take(levels)),
        }
    }
}

/// The lines of a screen, handed out from the top.
struct Rows {
    plan: Plan,
    left: Rect,
}

impl Rows {
    fn of(area: Rect, levels: u16) -> Self {
        Self {
            plan: Plan::new(area.height, levels),
            left: area,
        }
    }

    /// The next lines.
    fn next(&mut self, lines: u16) -> Rect {
        let next = Rect {
            height: lines.min(self.left.height),
            ..self.left
        };
        self.skip(lines);
        next
    }

    fn skip(&mut self, lines: u16) {
        let lines = lines.min(self.left.height);
        self.left.y += lines;
        self.left.height -= lines;
    }

    /// The last line of all.
    fn last(mut self) -> Rect {
        self.skip(self.left.height.saturating_sub(1));
        self.left
    }
}

/// The keys, as many as fit; how to leave and to learn of the others always do.
fn keys(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let mut line = Line::default();
    for (key, meaning) in KEYS {
        let meaning = match (key, view.state) {
            ("space", State::Paused) => "go on",
            _ => meaning,
        };
        let key = Span::styled(key, STRONG);
        let meaning = Span::styled(format!(" {meaning}  "), FAINT);
        // The spaces behind the last one may hang over.
        if line.width() + key.width() + meaning.width() > usize::from(area.width) + 2 {
            break;
        }
        line.push_span(key);
        line.push_span(meaning);
    }
    frame.render_widget(line, area);
}
