//! The wheel turning, live in the terminal.
//!
//! The same cache replays the same trace as in the comparison, at a pace that the viewer chooses, while the screen
//! shows the wheel: two rotations of buckets for each level, a bar for the timers of each, and a mark at the current
//! bucket. Only the time of each advance is measured; drawing happens between the advances.

mod pace;
mod screen;
mod session;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;
use timer_wheel::Geometry;

use crate::args::{Args, name_of};
use crate::cache::Policy;
use crate::figure::{grouped, time_of_day};
use crate::interrupt;
use crate::output;
use crate::trace::Trace;

use pace::Pace;
use session::Session;

/// What to say of a terminal that fails, before the reason.
const FAILS: &str = "--watch: the terminal fails";

/// The time between two frames: a slow remote terminal can draw as fast.
const FRAME: Duration = Duration::from_millis(80);

/// The least time to wait for keys: crossterm looks for none without waiting.
const GLANCE: Duration = Duration::from_millis(1);

/// How long requests are served before keys are read again.
const TURN: Duration = Duration::from_millis(60);

/// A viewer watching a session.
struct Watch<'a, G: Geometry> {
    title: String,
    session: Session<'a, G>,
    pace: Pace,
    is_paused: bool,
    /// Whether the machine could not keep the pace in the last turn.
    is_behind: bool,
}

/// Shows the wheel of a cache that replays a trace, until the viewer quits.
pub(crate) fn run<G: Geometry>(args: &Args, trace: &Trace) -> Result<()> {
    let title = format!("timer wheel · geometry {} · {}", name_of(&args.geometry()), trace.name);
    let mut watch = Watch::<G>::new(trace, args.policy(), title);
    // A terminal that is gone cannot be restored, and nobody could read an error. A panic restores it, too.
    let watched = ratatui::try_init().context(FAILS).and_then(|mut terminal| watch_in(&mut terminal, &mut watch));
    let _ = ratatui::try_restore();
    watched?;
    output::print(&watch.summary())
}

/// Makes sure that there is a terminal, without touching it.
pub(crate) fn check_terminal() -> Result<()> {
    let is_terminal = io::stdout().is_terminal();
    ensure!(is_terminal, "--watch: stdout is not a terminal; without --watch the figures can go to a file");
    Ok(())
}

/// Serves requests and draws in turn.
fn watch_in<G: Geometry>(terminal: &mut DefaultTerminal, watch: &mut Watch<'_, G>) -> Result<()> {
    let mut drawn = Instant::now();
    loop {
        interrupt::check()?;
        terminal.draw(|frame| screen::draw(watch, frame)).context(FAILS)?;
        let wait = FRAME.saturating_sub(drawn.elapsed()).max(GLANCE);
        if event::poll(wait).context(FAILS)?
            && let Event::Key(key) = event::read().context(FAILS)?
            && !watch.press(key)?
        {
            return Ok(());
        }
        let elapsed = drawn.elapsed();
        if elapsed >= FRAME {
            drawn = Instant::now();
            watch.turn(elapsed);
        }
    }
}

impl<'a, G: Geometry> Watch<'a, G> {
    fn new(trace: &'a Trace, policy: Policy, title: String) -> Self {
        Self {
            title,
            session: Session::new(trace, policy),
            pace: Pace::for_trace(trace.length_ns()),
            is_paused: false,
            is_behind: false,
        }
    }

    /// Does what a key asks for. Returns whether the viewer goes on watching.
    fn press(&mut self, key: KeyEvent) -> io::Result<bool> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('c') if has_control => return Err(interrupt::error()),
            KeyCode::Char('q') | KeyCode::Esc => return Ok(false),
            KeyCode::Char(' ' | 'p') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') | KeyCode::Right => self.step(Session::run_to_next_tick),
            KeyCode::Char('w') => self.step(Session::run_to_wake_up),
            KeyCode::Char('+' | '=') | KeyCode::Up => self.pace = self.pace.faster(),
            KeyCode::Char('-' | '_') | KeyCode::Down => self.pace = self.pace.slower(),
            KeyCode::Char('r') => self.session.restart(),
            _ => {}
        }
        Ok(true)
    }

    /// Lets the trace's time pass that belongs to a time of the viewer's.
    fn turn(&mut self, real: Duration) {
        if self.is_paused || self.session.is_over() {
            return;
        }
        let time_ns = self.session.now_ns().saturating_add(self.pace.trace_ns(real));
        self.session.run_until(time_ns, Instant::now() + TURN);
        self.is_behind = !self.session.is_over() && self.session.now_ns() < time_ns;
    }

    /// Takes one step, and stays there.
    fn step(&mut self, step: fn(&mut Session<'a, G>, Instant)) {
        self.is_paused = true;
        if !self.session.is_over() {
            step(&mut self.session, Instant::now() + TURN);
        }
    }

    /// Time since the trace began.
    fn elapsed_ns(&self) -> u64 {
        self.session.now_ns() - self.session.trace.start_ns()
    }

    /// What has been seen, to be printed after the screen has gone.
    fn summary(&self) -> String {
        let events = self.session.events();
        let requests = grouped(events.hits + events.misses + events.writes);
        let [inserts, refreshes, expired] = [events.inserts, events.refreshes, events.expired].map(grouped);
        let removed = grouped(events.evicted + events.deleted);
        let elapsed = time_of_day(self.elapsed_ns());
        let left = grouped(self.session.wheel().len() as u64);
        let [advance, interruption] = self.session.stopwatch.longest();
        format!(
            "watched   {elapsed} of the trace, {requests} requests\n\
             entries   {inserts} inserted, {refreshes} refreshed, {removed} removed, {expired} expired, {left} timers left\n\
             longest   advance {advance}, interruption by the machine {interruption}\n"
        )
    }
}

#[cfg(test)]
mod tests;
