//! The lines of text and figures around the levels.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::{FAINT, STRONG};
use crate::figure::{grouped, pause, three_digits, time_of_day};
use crate::watch::tally::Pause;
use crate::watch::view::{State, View};
use crate::watch::window::Rates;

/// The widths of the table's row names and of its columns.
const ROW_NAME: usize = 8;
const COLUMN: usize = 12;

/// What is watched, and whether it is running.
pub(super) fn header(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let (state, color) = match view.state {
        State::Running => ("running", Color::Green),
        State::Paused => ("paused", Color::Yellow),
        State::Over => ("at the end", Color::Cyan),
    };
    let reached = match view.reached {
        Some(speed) => format!(", {} x reached", three_digits(speed)),
        None => String::new(),
    };
    let state = Line::from_iter([
        Span::styled(format!(" {state} "), Style::new().fg(color).reversed()),
        Span::raw(format!(" {}{reached}", view.pace)),
    ]);
    let state_width = (state.width() as u16).min(area.width);
    let room = usize::from(area.width - state_width);
    frame.render_widget(Line::styled(shortened(&view.title, room), STRONG), area);
    frame.render_widget(state.alignment(Alignment::Right), area);
}

/// How far the trace's time has come.
pub(super) fn time(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let time = format!(
        "{} of {} ",
        time_of_day(view.elapsed_ns),
        time_of_day(view.length_ns)
    );
    let width = usize::from(area.width).saturating_sub(time.len());
    let share = view.elapsed_ns as f64 / view.length_ns.max(1) as f64;
    let done = ((share * width as f64) as usize).min(width);
    let line = Line::from_iter([
        Span::raw(time),
        Span::styled("━".repeat(done), Style::new().fg(Color::Green)),
        Span::styled("─".repeat(width - done), FAINT),
    ]);
    frame.render_widget(line, area);
}

/// The timers that are in no bucket of the levels, and when the wheel wants to be advanced.
pub(super) fn elsewhere(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let count = |count: usize| grouped(count as u64);
    let at = &view.elsewhere;
    let wake_up = match view.delay_ns {
        Some(delay_ns) => format!("in {}", pause(delay_ns as f64)),
        None => "not needed".to_owned(),
    };
    let facts = [
        ("far", count(at.far)),
        ("ready", count(at.ready)),
        ("wake-up", wake_up),
    ];
    frame.render_widget(named(&facts, area.width), area);
}

/// What has happened, how often in all, and how often a second.
type Column = (&'static str, u64, Option<String>);

/// How often things have happened, in all and a second of the trace.
pub(super) fn table(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let counts = &view.counts;
    let rate = |of: fn(&Rates) -> f64| view.rates.as_ref().map(|rates| a_second(of(rates)));
    let growth = |rates: &Rates| rates.scheduled - rates.expired - rates.cancelled;
    let columns = [
        ("requests", counts.requests, rate(|rates| rates.requests)),
        ("scheduled", counts.scheduled, rate(|rates| rates.scheduled)),
        ("expired", counts.expired, rate(|rates| rates.expired)),
        (
            "postponed",
            counts.rescheduled,
            rate(|rates| rates.rescheduled),
        ),
        ("cancelled", counts.cancelled, rate(|rates| rates.cancelled)),
        (
            "live",
            view.timers as u64,
            view.rates.as_ref().map(|rates| signed(growth(rates))),
        ),
    ];
    let fitting = usize::from(area.width).saturating_sub(ROW_NAME) / COLUMN;
    let row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let cells = columns.iter().take(fitting).map(cell);
        cells.fold(format!("{name:<ROW_NAME$}"), |row, cell| {
            format!("{row}{cell:>COLUMN$}")
        })
    };
    let lines = [
        Line::styled(row("", &|column| column.0.to_owned()), FAINT),
        Line::raw(row("in all", &|column| grouped(column.1))),
        Line::raw(row("a second", &|column| {
            column.2.clone().unwrap_or("-".to_owned())
        })),
    ];
    for (line, text) in area.rows().zip(lines) {
        frame.render_widget(text, line);
    }
}

/// A rate, with fewer digits the larger it is.
fn a_second(rate: f64) -> String {
    match rate {
        rate if rate < 99.95 => three_digits(rate),
        rate => grouped(rate.round() as u64),
    }
}

/// A rate of growth.
fn signed(rate: f64) -> String {
    let sign = if rate < 0.0 { "-" } else { "+" };
    format!("{sign}{}", a_second(rate.abs()))
}

/// The longest calls to advance.
pub(super) fn pauses(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let call = |call: Pause| match call.fired {
        _ if call.ns == 0 => "-".to_owned(),
        0 => pause(call.ns as f64),
        fired => format!("{}, firing {}", pause(call.ns as f64), grouped(fired)),
    };
    let mut facts = vec![
        ("longest advance", call(view.longest)),
        ("of late", call(view.recent)),
    ];
    if view.counts.repeated > 0 {
        facts.push(("over budget", grouped(view.counts.repeated)));
    }
    facts.push(("memory", memory(view.bytes)));
    frame.render_widget(named(&facts, area.width), area);
}

/// An amount of memory.
fn memory(bytes: usize) -> String {
    match bytes {
        bytes if bytes < 1_000_000 => format!("{} kB", three_digits(bytes as f64 / 1e3)),
        bytes => format!("{} MB", three_digits(bytes as f64 / 1e6)),
    }
}

/// Names with values side by side, as many as fit.
fn named(facts: &[(&'static str, String)], width: u16) -> Line<'static> {
    let mut line = Line::default();
    for (name, value) in facts {
        let name = Span::styled(format!("{name} "), FAINT);
        let value = Span::raw(format!("{value}  "));
        // The spaces behind the last one may hang over.
        if line.width() + name.width() + value.width() > usize::from(width) + 2 {
            break;
        }
        line.push_span(name);
        line.push_span(value);
    }
    line
}

/// A text, with dots instead of what does not fit.
fn shortened(text: &str, width: usize) -> String {
    if Span::raw(text).width() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(2)).collect();
    short.push('…');
    short
}
