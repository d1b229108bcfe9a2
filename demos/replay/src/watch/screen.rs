//! The screen: from top to bottom as a timer moves, from far to the near heap.
//!
//! In 80 columns and 24 lines everything fits but the explanation, for which a terminal has to be higher. In a wider one the
//! rows of buckets grow longer. In a lower one the levels have fewer lines; below [`SMALLEST`] only a line says so.

mod level;

use indicatif::DecimalBytes;
use ratatui::Frame;
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use timer_wheel::Geometry;

use super::Watch;
use crate::figure::{grouped, pause, time_of_day};

/// The smallest terminal in which levels are drawn.
const SMALLEST: Size = Size::new(50, 13);

/// The lines besides those of the levels.
const OTHERS: usize = 9;

/// What should be less visible than the rest, and what more.
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// What happens, for a viewer who has not read it yet.
const EXPLANATION: &str = "Each cache entry has a timer, in the bucket of its deadline. When time reaches a bucket, the \
    timers in it move down to a finer level, or fire if they are due. The buckets of a level make up a rotation, as long \
    as one bucket of the level above. A crowded bucket is opened ahead of its time: its timers move into the next \
    rotation of the level below.";

/// The keys, the most needed first.
const KEYS: [(&str, &str); 6] =
    [("q", "quit"), ("space", "pause"), ("+ -", "speed"), ("s", "next tick"), ("w", "next wake-up"), ("r", "restart")];

pub(super) fn draw<G: Geometry>(watch: &Watch<'_, G>, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.width || area.height < SMALLEST.height {
        let text = format!("needs {} x {}", SMALLEST.width, SMALLEST.height);
        frame.render_widget(Line::raw(text), area);
        return;
    }
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let [levels @ .., far] = watch.session.wheel().levels();
    let lines_a_level = ((height - OTHERS) / levels.len()).min(3);

    let mut lines = vec![title(watch, width), time(watch, width)];
    let far = grouped(far.timers as u64);
    lines.push(place("far", format!("{far} timers, due after this rotation of level {}", levels.len() - 1)));
    for (number, level) in levels.iter().enumerate().rev() {
        lines.extend(level::lines(number, level, watch.session.now_ns(), width, lines_a_level));
    }
    lines.push(near_heap(watch));
    lines.push(fitting(level::legend(), width));
    lines.push(fitting(facts(watch), width));
    lines.extend(counts(watch));
    let explanation = textwrap::wrap(EXPLANATION, width);
    if lines.len() + explanation.len() < height {
        lines.extend(explanation.into_iter().map(Line::raw));
    }
    frame.render_widget(Text::from(lines), area);
    let keys = KEYS.map(|(key, meaning)| (Span::styled(key, STRONG), meaning.to_owned()));
    frame.render_widget(fitting(keys, width), area.rows().next_back().unwrap_or_default());
}

fn title<G: Geometry>(watch: &Watch<'_, G>, width: usize) -> Line<'static> {
    let (state, color) = match (watch.session.is_over(), watch.is_paused) {
        (true, _) => (" at the end ", Color::Cyan),
        (false, true) => (" paused ", Color::Yellow),
        (false, false) => (" running ", Color::Green),
    };
    let pace = format!(" speed {}{}", watch.pace, if watch.is_behind { ", not reached" } else { "" });
    let room = width.saturating_sub(state.len() + pace.len() + 1);
    let title: String = watch.title.chars().take(room).collect();
    let title = Span::styled(format!("{title:<room$} "), STRONG);
    Line::from_iter([title, Span::styled(state, Style::new().fg(color).reversed()), Span::raw(pace)])
}

fn time<G: Geometry>(watch: &Watch<'_, G>, width: usize) -> Line<'static> {
    let (elapsed_ns, length_ns) = (watch.elapsed_ns(), watch.session.trace.length_ns());
    let time = format!("trace time {} of {} ", time_of_day(elapsed_ns), time_of_day(length_ns));
    let width = width.saturating_sub(time.len());
    let share = elapsed_ns as f64 / length_ns.max(1) as f64;
    let done = ((share * width as f64) as usize).min(width);
    Line::from_iter([
        Span::raw(time),
        Span::styled("━".repeat(done), Style::new().fg(Color::Green)),
        Span::styled("─".repeat(width - done), FAINT),
    ])
}

/// A place where timers wait, and what is said of it.
fn place(name: &str, text: String) -> Line<'static> {
    Line::from_iter([Span::styled(format!("{name:<11}"), STRONG), Span::raw(text)])
}

fn near_heap<G: Geometry>(watch: &Watch<'_, G>) -> Line<'static> {
    let wheel = watch.session.wheel();
    let near = grouped(wheel.stats().near as u64);
    let wake_up = wheel.expiration_delay();
    let wake_up = wake_up.map_or("no wake-up needed".to_owned(), |ns| format!("next wake-up in {}", pause(ns as f64)));
    place("near heap", format!("{near} timers, which fire next, in exact order; {wake_up}"))
}

/// The longest advance, the longest time that the machine did something else meanwhile, and the memory.
fn facts<G: Geometry>(watch: &Watch<'_, G>) -> [(Span<'static>, String); 3] {
    let [advance, interruption] = watch.session.stopwatch.longest();
    let memory = DecimalBytes(watch.session.wheel().stats().bytes as u64).to_string();
    let facts = [("longest advance", advance), ("longest interruption", interruption), ("memory", memory)];
    facts.map(|(name, value)| (Span::styled(name, FAINT), value))
}

/// What became of requests and entries, and how many timers are live, below their names.
fn counts<G: Geometry>(watch: &Watch<'_, G>) -> [Line<'static>; 2] {
    let names = ["requests", "inserted", "refreshed", "expired", "removed", "timers"].map(str::to_owned);
    let events = watch.session.events();
    let requests = events.hits + events.misses + events.writes;
    let (removed, timers) = (events.evicted + events.deleted, watch.session.wheel().len() as u64);
    let counts = [requests, events.inserts, events.refreshes, events.expired, removed, timers].map(grouped);
    [names, counts].map(|cells| Line::raw(cells.map(|cell| format!("{cell:<13}")).concat()))
}

/// Symbols or names, each with a text, as many as fit.
fn fitting(pairs: impl IntoIterator<Item = (Span<'static>, String)>, width: usize) -> Line<'static> {
    let mut line = Line::default();
    for (symbol, text) in pairs {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        let pair = Line::from_iter([Span::raw(gap), symbol, Span::raw(format!(" {text}"))]);
        if line.width() + pair.width() > width {
            break;
        }
        line.spans.extend(pair.spans);
    }
    line
}
