//! The wheel turning, live in the terminal.
//!
//! The same cache replays the same trace as in the comparison, at a pace that the viewer chooses, while
//! the screen shows the wheel that its entries expire by: a row or more of buckets for each level, shaded
//! by how many timers they hold, and a mark where the wheel has come to. Nothing is measured but the
//! time of each advance, and the drawing falls between them.

mod pace;
mod screen;
mod session;
mod tally;
mod terminal;
mod view;
mod window;

use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use timer_wheel::Geometry;

use crate::args::Args;
use crate::cache::Policy;
use crate::failure::Failure;
use crate::figure::{grouped, pause, time_of_day};
use crate::interrupt;
use crate::output;
use crate::trace::Trace;

use pace::Pace;
use session::{Session, Setting};
use terminal::Terminal;
use view::{Around, State, View};
use window::{Sample, Window};

pub(crate) use terminal::check as check_terminal;

/// How long a picture stands: a remote terminal of modest bandwidth keeps up with it.
const FRAME: Duration = Duration::from_millis(80);

/// How long keys are waited for at least: crossterm looks for none without.
const GLANCE: Duration = Duration::from_millis(1);

/// How long requests are served before keys are looked at again.
const TURN: Duration = Duration::from_millis(60);

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Command {
    PauseOrGoOn,
    StepTick,
    StepWakeUp,
    Faster,
    Slower,
    Restart,
    Help,
    /// Closes the help, or quits.
    Close,
    Suspend,
    Quit,
    Interrupt,
}

impl Command {
    /// What the viewer asks for, if anything.
    fn of(event: &Event) -> Option<Self> {
        let &Event::Key(KeyEvent {
            code,
            modifiers,
            kind: KeyEventKind::Press | KeyEventKind::Repeat,
            ..
        }) = event
        else {
            return None;
        };
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => {
                Some(Self::Interrupt)
            }
            KeyCode::Char('z') if modifiers.contains(KeyModifiers::CONTROL) => Some(Self::Suspend),
            KeyCode::Char(' ' | 'p') => Some(Self::PauseOrGoOn),
            KeyCode::Char('s') | KeyCode::Right => Some(Self::StepTick),
            KeyCode::Char('w') => Some(Self::StepWakeUp),
            KeyCode::Char('+' | '=') | KeyCode::Up => Some(Self::Faster),
            KeyCode::Char('-' | '_') | KeyCode::Down => Some(Self::Slower),
            KeyCode::Char('r') => Some(Self::Restart),
            KeyCode::Char('?' | 'h') => Some(Self::Help),
            KeyCode::Char('q') => Some(Self::Quit),
            KeyCode::Esc => Some(Self::Close),
            _ => None,
        }
    }
}

/// A viewer watching a session.
struct Watch<'a, G: Geometry> {
    setting: Setting<'a>,
    title: String,
    session: Session<'a, G>,
    pace: Pace,
    is_paused: bool,
    is_help_open: bool,
    /// Whether the last turn ended before it had come as far as the pace demands.
    is_behind: bool,
    window: Window,
}

/// Shows the wheel of a cache that replays a trace, until the viewer has seen enough.
pub(crate) fn run<G: Geometry>(args: &Args, trace: &Trace, policy: Policy) -> Result<(), Failure> {
    let setting = Setting {
        trace,
        policy,
        budget: args.budget,
    };
    let title = format!(
        "timer wheel · {} · {}",
        crate::args::name_of(&args.geometry()),
        trace.name
    );
    let mut watch = Watch::<G>::new(setting, title);
    watch_in(&mut Terminal::open()?, &mut watch)?;
    output::print(&watch.summary())
}

/// Turns and draws by turns.
fn watch_in<G: Geometry>(terminal: &mut Terminal, watch: &mut Watch<'_, G>) -> Result<(), Failure> {
    let mut drawn = Instant::now();
    loop {
        interrupt::check()?;
        let view = watch.view();
        terminal.draw(|frame| screen::draw(&view, frame))?;
        let wait = FRAME.saturating_sub(drawn.elapsed()).max(GLANCE);
        if event::poll(wait).map_err(|error| Failure::terminal(&error))? {
            let event = event::read().map_err(|error| Failure::terminal(&error))?;
            match Command::of(&event) {
                Some(Command::Quit) => return Ok(()),
                Some(Command::Close) if !watch.is_help_open => return Ok(()),
                Some(Command::Suspend) => {
                    terminal.suspend()?;
                    // That time has not passed for the viewer.
                    drawn = Instant::now();
                }
                Some(Command::Interrupt) => return Err(Failure::Interrupted),
                Some(command) => watch.obey(command),
                None => {}
            }
        }
        let elapsed = drawn.elapsed();
        if elapsed >= FRAME {
            drawn = Instant::now();
            watch.turn(elapsed);
        }
    }
}

impl<'a, G: Geometry> Watch<'a, G> {
    fn new(setting: Setting<'a>, title: String) -> Self {
        let length_ns = setting.trace.end_ns() - setting.trace.start_ns();
        Self {
            setting,
            title,
            session: Session::new(setting),
            pace: Pace::for_trace(length_ns),
            is_paused: false,
            is_help_open: false,
            is_behind: false,
            window: Window::default(),
        }
    }

    /// Does what the viewer asks for.
    fn obey(&mut self, command: Command) {
        match command {
            Command::PauseOrGoOn => self.is_paused = !self.is_paused,
            Command::StepTick => self.step(|session, is_time_up| {
                session.run_to_next_tick(is_time_up);
            }),
            Command::StepWakeUp => self.step(|session, is_time_up| {
                session.run_to_wake_up(is_time_up);
            }),
            Command::Faster => self.pace = self.pace.faster(),
            Command::Slower => self.pace = self.pace.slower(),
            Command::Restart => {
                self.session = Session::new(self.setting);
                self.window = Window::default();
            }
            Command::Help => self.is_help_open = !self.is_help_open,
            Command::Close => self.is_help_open = false,
            Command::Suspend | Command::Quit | Command::Interrupt => {}
        }
    }

    /// Lets as much of the trace pass as belongs to a time of the viewer's.
    fn turn(&mut self, real: Duration) {
        if self.is_paused || self.session.is_over() {
            return;
        }
        let now_ns = self.session.now_ns();
        let time_ns = now_ns.saturating_add(self.pace.trace_ns(real));
        self.session
            .run_until(time_ns, until(Instant::now() + TURN));
        self.is_behind = !self.session.is_over() && self.session.now_ns() < time_ns;
        self.note(real);
    }

    /// Takes one step, and stays there.
    fn step(&mut self, step: impl FnOnce(&mut Session<'a, G>, &dyn Fn() -> bool)) {
        self.is_paused = true;
        if !self.session.is_over() {
            step(&mut self.session, &until(Instant::now() + TURN));
            self.note(FRAME);
        }
    }

    /// Takes note of what stands after a turn.
    fn note(&mut self, real: Duration) {
        self.window.push(Sample {
            real,
            now_ns: self.session.now_ns(),
            counts: self.session.tally.counts,
            pause: self.session.tally.take_recent(),
        });
    }

    /// What is to be seen.
    fn view(&self) -> View {
        let state = match (self.session.is_over(), self.is_paused) {
            (true, _) => State::Over,
            (false, true) => State::Paused,
            (false, false) => State::Running,
        };
        let reached = self.is_behind.then(|| self.window.speed()).flatten();
        let around = Around {
            title: &self.title,
            state,
            is_help_open: self.is_help_open,
            pace: self.pace,
            reached: reached.filter(|_| state == State::Running),
            window: &self.window,
        };
        View::new(self.setting.trace, &self.session, &around)
    }

    /// What has been seen, for after the screen has gone.
    fn summary(&self) -> String {
        let trace = self.setting.trace;
        let tally = &self.session.tally;
        let counts = tally.counts;
        format!(
            "watched   {} of {}\nrequests  {}\ntimers    {} scheduled, {} postponed, {} cancelled, {} \
             expired, {} left\nadvances  {}, the longest {}\n",
            time_of_day(self.session.now_ns() - trace.start_ns()),
            time_of_day(trace.end_ns() - trace.start_ns()),
            grouped(counts.requests),
            grouped(counts.scheduled),
            grouped(counts.rescheduled),
            grouped(counts.cancelled),
            grouped(counts.expired),
            grouped(self.session.wheel().len() as u64),
            grouped(counts.calls),
            pause(tally.longest().ns as f64),
        )
    }
}

/// Whether a time of the viewer's has come.
fn until(time: Instant) -> impl Fn() -> bool {
    move || Instant::now() >= time
}

#[cfg(test)]
mod tests;
