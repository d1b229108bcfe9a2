//! The screen, in terminals of any size: from top to bottom as a timer moves, from far to the near heap.
//!
//! In 80 columns and 24 lines everything fits. In larger terminals the rows of buckets grow longer and lines are left
//! empty between the levels. In smaller ones lines go, the least needed first; below [`SMALLEST`] only a line says so.

mod level;

use indicatif::DecimalBytes;
use ratatui::Frame;
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use timer_wheel::Geometry;

use super::Watch;
use crate::figure::{grouped, pause, three_digits, time_of_day};

/// The smallest terminal in which levels are drawn.
const SMALLEST: Size = Size::new(50, 8);

/// What should be less visible than the rest, and what more.
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// What a viewer has to know, and what may be left out in a small terminal.
const NOTES: [&str; 2] = [
    "Each cache entry has a timer, in the bucket of its deadline. When time reaches a bucket, the timers in it move \
     down to a finer level, or fire if they are due.",
    "The buckets of a level make up a rotation, as long as one bucket of the level above. A crowded bucket is opened \
     ahead of its time: its timers move into the next rotation of the level below.",
];

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
    let width = usize::from(area.width);
    let mut spare = area.height - SMALLEST.height;
    let mut fits = |lines: usize| {
        let fits = lines <= spare.into();
        spare -= if fits { lines as u16 } else { 0 };
        fits
    };
    let (has_time, has_legend, has_facts) = (fits(1), fits(1), fits(1));
    let level_lines = if !fits(4) {
        1
    } else if !fits(4) {
        2
    } else {
        3
    };
    let has_table = fits(3);
    let notes = NOTES.map(|note| textwrap::wrap(note, width)).into_iter();
    let notes: Vec<_> = notes.filter(|lines| fits(lines.len())).flatten().collect();
    let gap = Line::default();
    let gap = if fits(9) { &[gap][..] } else { &[] };

    let mut lines = vec![title(watch, width)];
    lines.extend(has_time.then(|| time(watch, width)));
    lines.extend_from_slice(gap);
    lines.extend(notes.into_iter().map(Line::raw));
    let [levels @ .., far] = watch.session.wheel().levels();
    lines.extend_from_slice(gap);
    let last = levels.len() - 1;
    lines.push(place("far", format!("{} timers, due after this rotation of level {last}", grouped(far.timers as u64))));
    for (number, level) in levels.iter().enumerate().rev() {
        lines.extend_from_slice(gap);
        lines.extend(level::lines(number, level, watch.session.now_ns(), width, level_lines));
    }
    lines.extend_from_slice(gap);
    lines.push(near_heap(watch));
    lines.extend_from_slice(gap);
    lines.extend(has_legend.then(|| fitting(level::legend(), width)));
    lines.extend_from_slice(gap);
    lines.extend(has_facts.then(|| fitting(facts(watch), width)));
    if has_table {
        lines.extend(table(watch, width));
    }
    frame.render_widget(Text::from(lines), area);
    let keys = KEYS.map(|(key, meaning)| (Span::styled(key, STRONG), meaning.to_owned()));
    let bottom = area.rows().next_back().unwrap_or_default();
    frame.render_widget(fitting(keys, width), bottom);
}

/// What is watched, and whether it is running.
fn title<G: Geometry>(watch: &Watch<'_, G>, width: usize) -> Line<'static> {
    let (state, color) = match (watch.session.is_over(), watch.is_paused) {
        (true, _) => (" at the end ", Color::Cyan),
        (false, true) => (" paused ", Color::Yellow),
        (false, false) => (" running ", Color::Green),
    };
    let mut pace = format!(" speed {}", watch.pace);
    if let Some(speed) = watch.window.speed().filter(|_| watch.is_behind) {
        pace += &format!(", {} x reached", three_digits(speed));
    }
    let room = width.saturating_sub(state.len() + pace.len() + 1);
    let title: String = watch.title.chars().take(room).collect();
    let title = Span::styled(format!("{title:<room$} "), STRONG);
    Line::from_iter([title, Span::styled(state, Style::new().fg(color).reversed()), Span::raw(pace)])
}

/// The trace's time, and a bar of it.
fn time<G: Geometry>(watch: &Watch<'_, G>, width: usize) -> Line<'static> {
    let (elapsed_ns, length_ns) = (watch.elapsed_ns(), watch.setting.trace.length_ns());
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

/// The longest call to advance, the longest time that the machine did something else meanwhile, and the memory.
fn facts<G: Geometry>(watch: &Watch<'_, G>) -> impl Iterator<Item = (Span<'static>, String)> {
    let tally = &watch.session.tally;
    let over_budget = (tally.repeated > 0).then(|| ("over budget", grouped(tally.repeated)));
    let [advance, interruption] = tally.longest();
    let facts = [
        ("longest advance", advance),
        ("longest interruption", interruption),
        ("memory", DecimalBytes(watch.session.wheel().stats().bytes as u64).to_string()),
    ];
    facts.into_iter().chain(over_budget).map(|(name, value)| (Span::styled(name, FAINT), value))
}

/// How often things have happened, in all and in a second of the trace's time.
fn table<G: Geometry>(watch: &Watch<'_, G>, width: usize) -> [Line<'static>; 3] {
    let names = ["requests", "scheduled", "expired", "postponed", "cancelled"];
    let counts = watch.session.tally.counts.map(grouped);
    let rates = watch.window.rates().map(|rates| rates.map(a_second));
    let rates = rates.unwrap_or_else(|| names.map(|_| "-".to_owned()));
    let live = grouped(watch.session.wheel().len() as u64);
    let column = (width.saturating_sub(14) / 6).clamp(11, 16);
    let row = |name: &str, cells: [String; 5], last: &str| {
        let cells = cells.map(|cell| format!("{cell:>column$}")).concat();
        Line::raw(format!("{name:<14}{cells}{last:>column$}"))
    };
    [
        row("", names.map(str::to_owned), "live").style(FAINT),
        row("in all", counts, &live),
        row("a trace second", rates, ""),
    ]
}

/// A rate, with fewer digits the larger it is.
fn a_second(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate < 99.95 => three_digits(rate),
        rate => grouped(rate.round() as u64),
    }
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
