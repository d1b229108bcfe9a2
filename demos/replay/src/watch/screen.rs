//! The screen, in terminals of any size.
//!
//! In 80 columns and 24 lines everything fits; larger, the levels spread out; smaller, buckets share cells first, then
//! the figures go, and below [`SMALLEST`] only a line says so.

mod level;

use indicatif::DecimalBytes;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect, Size};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use timer_wheel::Geometry;

use super::Watch;
use crate::figure::{grouped, pause, three_digits, time_of_day};

use level::LevelView;

/// The smallest terminal in which levels are drawn.
const SMALLEST: Size = Size::new(50, 8);

/// The most lines that a level can use.
const LEVEL_LINES: u16 = 4;

/// What should be less visible than the rest, and what more.
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// The keys, the most needed first.
const KEYS: [(&str, &str); 6] =
    [("q", "quit"), ("space", "pause, go on"), ("+ -", "speed"), ("s", "tick"), ("w", "wake-up"), ("r", "restart")];

pub(super) fn draw<G: Geometry>(watch: &Watch<'_, G>, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.width || area.height < SMALLEST.height {
        let text = format!("needs {} x {}", SMALLEST.width, SMALLEST.height);
        frame.render_widget(Line::raw(text), area);
        return;
    }
    let levels = watch.session.wheel().levels();
    let levels: Vec<LevelView> = levels.into_iter().enumerate().filter_map(LevelView::of).collect();
    let count = levels.len() as u16;
    // The title, the legend, the facts and the keys always have a line, and so has each level.
    let mut spare = area.height - (4 + count);
    let mut take = |lines: u16| {
        let taken = if spare >= lines { lines } else { 0 };
        spare -= taken;
        taken
    };
    let [time_lines, table_lines] = [take(1), take(3)];
    let more = (1..LEVEL_LINES).filter(|_| take(count) > 0).count();
    let level_lines = 1 + more as u16 + u16::from(take(count) > 0);
    let heights = [1, time_lines, count * level_lines, 1, 1, table_lines];
    let constraints = heights.map(Constraint::Length).into_iter();
    let rows = Layout::vertical(constraints.chain([Constraint::Fill(1)])).split(area);
    title(watch, frame, rows[0]);
    frame.render_widget(time(watch, area.width), rows[1]);
    let tops = rows[2].rows().step_by(level_lines.into());
    for (level, top) in levels.iter().zip(tops) {
        let height = level_lines.min(LEVEL_LINES);
        level::draw(level, frame, Rect { height, ..top });
    }
    frame.render_widget(fitting(level::legend(), area.width), rows[3]);
    frame.render_widget(fitting(facts(watch), area.width), rows[4]);
    frame.render_widget(table(watch), rows[5]);
    let keys = KEYS.map(|(key, meaning)| (Span::styled(key, STRONG), meaning.to_owned()));
    let last = area.rows().next_back().unwrap_or_default();
    frame.render_widget(fitting(keys, area.width), last);
}

/// What is watched, and whether it is running.
fn title<G: Geometry>(watch: &Watch<'_, G>, frame: &mut Frame<'_>, area: Rect) {
    let (state, color) = match (watch.session.is_over(), watch.is_paused) {
        (true, _) => (" at the end ", Color::Cyan),
        (false, true) => (" paused ", Color::Yellow),
        (false, false) => (" running ", Color::Green),
    };
    let mut pace = format!(" {}", watch.pace);
    if let Some(speed) = watch.window.speed().filter(|_| watch.is_behind) {
        pace += &format!(", {} x reached", three_digits(speed));
    }
    let state = Span::styled(state, Style::new().fg(color).reversed());
    let state = Line::from_iter([state, Span::raw(pace)]);
    let room = usize::from(area.width).saturating_sub(state.width() + 1);
    let title: String = watch.title.chars().take(room).collect();
    frame.render_widget(Line::styled(title, STRONG), area);
    frame.render_widget(state.alignment(Alignment::Right), area);
}

/// The trace's time, and a bar of it.
fn time<G: Geometry>(watch: &Watch<'_, G>, width: u16) -> Line<'static> {
    let (elapsed_ns, length_ns) = (watch.elapsed_ns(), watch.setting.trace.length_ns());
    let time = format!("{} of {} ", time_of_day(elapsed_ns), time_of_day(length_ns));
    let width = usize::from(width).saturating_sub(time.len());
    let share = elapsed_ns as f64 / length_ns.max(1) as f64;
    let done = ((share * width as f64) as usize).min(width);
    Line::from_iter([
        Span::raw(time),
        Span::styled("━".repeat(done), Style::new().fg(Color::Green)),
        Span::styled("─".repeat(width - done), FAINT),
    ])
}

/// The timers in no bucket, the next wake-up, the longest call to advance, the memory.
fn facts<G: Geometry>(watch: &Watch<'_, G>) -> impl Iterator<Item = (Span<'static>, String)> {
    let (wheel, tally) = (watch.session.wheel(), &watch.session.tally);
    let (levels, stats) = (wheel.levels(), wheel.stats());
    let far = levels[levels.len() - 1].timers;
    let wake_up = wheel.expiration_delay();
    let wake_up = wake_up.map_or("not needed".to_owned(), |ns| format!("in {}", pause(ns as f64)));
    let mut facts = vec![
        ("far", grouped(far as u64)),
        ("near", grouped(stats.near as u64)),
        ("wake-up", wake_up),
        ("longest advance", pause(tally.longest_ns as f64)),
        ("memory", DecimalBytes(stats.bytes as u64).to_string()),
    ];
    if tally.repeated > 0 {
        facts.push(("over budget", grouped(tally.repeated)));
    }
    facts.into_iter().map(|(name, value)| (Span::styled(name, FAINT), value))
}

/// How often things have happened, in all and a second of the trace.
fn table<G: Geometry>(watch: &Watch<'_, G>) -> Paragraph<'static> {
    let names = ["requests", "scheduled", "expired", "postponed", "cancelled"];
    let counts = watch.session.tally.counts.map(grouped);
    let rates = watch.window.rates().map(|rates| rates.map(a_second));
    let rates = rates.unwrap_or_else(|| names.map(|_| "-".to_owned()));
    let live = grouped(watch.session.wheel().len() as u64);
    let row = |name: &str, cells: [String; 5], last: &str| {
        let cells = cells.map(|cell| format!("{cell:>12}")).concat();
        Line::raw(format!("{name:<8}{cells}{last:>12}"))
    };
    Paragraph::new(vec![
        row("", names.map(str::to_owned), "live").style(FAINT),
        row("in all", counts, &live),
        row("a second", rates, ""),
    ])
}

/// A rate, with fewer digits the larger it is.
fn a_second(rate: f64) -> String {
    match rate {
        rate if rate < 99.95 => three_digits(rate),
        rate => grouped(rate.round() as u64),
    }
}

/// Symbols or names, each with a text, as many as fit.
fn fitting(pairs: impl IntoIterator<Item = (Span<'static>, String)>, width: u16) -> Line<'static> {
    let mut line = Line::default();
    for (symbol, text) in pairs {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        let pair = [Span::raw(gap), symbol, Span::raw(format!(" {text}"))];
        let pair = Line::from_iter(pair);
        if line.width() + pair.width() > width.into() {
            break;
        }
        line.spans.extend(pair.spans);
    }
    line
}
