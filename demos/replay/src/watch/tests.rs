//! The screen in every state, keys, and a terminal that is given back.

use std::fmt::Write as _;

use ratatui::Terminal as Ratatui;
use ratatui::backend::TestBackend;
use timer_wheel::{Caffeine, Millis};

use super::*;
use crate::cache::Expire;
use crate::figure::NS_PER_S;
use crate::progress::Progress;
use crate::trace::{KeyId, Operation, Request, Skipped};
use tally::{Counts, Pause};
use view::{Elsewhere, LevelView};
use window::Rates;

mod in_a_terminal;

/// A minute and a half of requests, 200 a second, with TTLs from a second to three days.
pub(super) fn trace() -> Trace {
    let operations = [
        Operation::Set,
        Operation::Get,
        Operation::Set,
        Operation::Delete,
    ];
    let requests = (0..18_000_u64).map(|nth| {
        let key = KeyId((nth * nth % 4_001) as u32);
        let operation = operations[(nth % 7 % 4) as usize];
        let ttl_s = [1, 2, 5, 20, 60, 600, 7_200, 260_000][(nth % 31 % 8) as usize];
        Request::new(7_000_000_000 + nth * 5_000_000, operation, key, ttl_s)
    });
    Trace {
        name: "a minute and a half".to_owned(),
        requests: requests.collect(),
        keys: 4_001,
        resolution_ns: 1,
        skipped: Skipped::default(),
    }
}

pub(super) fn setting(trace: &Trace) -> Setting<'_> {
    Setting {
        trace,
        policy: Policy {
            expire: Expire::AfterAccess,
            ttl_ns: None,
            capacity: None,
        },
        budget: None,
    }
}

fn watch<G: Geometry>(trace: &Trace) -> Watch<'_, G> {
    let title = format!("timer wheel · {}", trace.name);
    Watch::new(setting(trace), title)
}

/// Lets a time of the trace pass, as one second of the viewer's.
fn pass<G: Geometry>(watch: &mut Watch<'_, G>, ns: u64) {
    for _ in 0..10 {
        let time_ns = watch.session.now_ns() + ns / 10;
        watch.session.run_until(time_ns, || false);
        watch.note(Duration::from_millis(100));
    }
}

/// A wheel in mid-run, made up, with a bucket of every shade on each level: what a real one looks like
/// is up to the library.
fn in_mid_run<G: Geometry>(watch: &Watch<'_, G>, state: State) -> View {
    let mut view = watch.view();
    view.state = state;
    view.elapsed_ns = 42_123_456_789;
    for level in &mut view.levels {
        level.cursor = [200, 77, 3, 0][level.number] % level.buckets.len();
        let ahead = &mut level.buckets[level.cursor + 1..];
        for (nth, timers) in ahead.iter_mut().enumerate() {
            *timers = [0, 4, 0, 30, 200, 0, 1_000, 50_000, 600_000][(nth / 3 + level.number) % 9];
        }
    }
    view.elsewhere = Elsewhere {
        far: 12,
        ready: 345,
    };
    view.timers = 12 + 345 + view.levels.iter().map(LevelView::timers).sum::<usize>();
    view.delay_ns = Some(1_048_576);
    view.bytes = 123_000_000;
    view.counts = Counts {
        requests: 9_876_543,
        scheduled: 654_321,
        rescheduled: 54_321,
        cancelled: 4_321,
        expired: 321_000,
        calls: 9_900_000,
        repeated: 0,
    };
    view.rates = Some(Rates {
        requests: 200.0,
        scheduled: 71.1,
        rescheduled: 1_234.5,
        cancelled: 0.25,
        expired: 123.4,
    });
    view.longest = Pause {
        ns: 123_456,
        fired: 3,
    };
    view.recent = Pause {
        ns: 7_890,
        fired: 0,
    };
    view
}

/// The text of the screen, line by line.
fn screen(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Ratatui::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(view, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(width.into()) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        writeln!(text, "{}", line.trim_end()).unwrap();
    }
    text
}

/// Compares a screen with the one that is kept, which was looked at.
#[track_caller]
fn assert_screen(screen: &str, kept: &str) {
    assert!(
        screen == kept,
        "the screen has changed:\n{screen}\nit was:\n{kept}"
    );
}

#[test]
fn screen_at_the_start_is_an_empty_wheel() {
    let trace = trace();
    let mut view = watch::<Millis>(&trace).view();
    view.bytes = 600;
    assert_screen(&screen(&view, 80, 24), include_str!("screens/start.txt"));
}

#[test]
fn screen_in_mid_run_shows_levels_rates_and_pauses() {
    let trace = trace();
    let view = in_mid_run(&watch::<Millis>(&trace), State::Running);
    assert_screen(&screen(&view, 80, 24), include_str!("screens/running.txt"));
}

#[test]
fn screen_of_a_paused_watch_says_so_and_how_to_go_on() {
    let trace = trace();
    let mut view = in_mid_run(&watch::<Caffeine>(&trace), State::Paused);
    view.pace = view.pace.slower();
    assert_screen(&screen(&view, 80, 24), include_str!("screens/paused.txt"));
}

#[test]
fn screen_at_the_end_says_so_and_what_the_budget_cost() {
    let trace = trace();
    let mut view = in_mid_run(&watch::<Millis>(&trace), State::Over);
    view.elapsed_ns = view.length_ns;
    view.delay_ns = None;
    view.counts.repeated = 23_457;
    assert_screen(&screen(&view, 80, 24), include_str!("screens/end.txt"));
}

#[test]
fn screen_of_a_small_terminal_keeps_the_levels() {
    let trace = trace();
    let mut view = in_mid_run(&watch::<Millis>(&trace), State::Running);
    view.reached = Some(0.5);
    assert_screen(&screen(&view, 50, 10), include_str!("screens/small.txt"));
}

#[test]
fn screen_of_a_large_terminal_spreads_the_levels_out() {
    let trace = trace();
    let view = in_mid_run(&watch::<Millis>(&trace), State::Running);
    assert_screen(&screen(&view, 150, 40), include_str!("screens/large.txt"));
}

#[test]
fn screen_of_a_tiny_terminal_says_what_it_needs() {
    let trace = trace();
    let view = watch::<Millis>(&trace).view();
    assert_eq!(screen(&view, 20, 3), "needs 24 x 7\n\n\n");
}

#[test]
fn screen_with_help_says_what_is_what() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    watch.obey(Command::Help);
    let mut view = watch.view();
    view.bytes = 600;
    assert_screen(&screen(&view, 80, 24), include_str!("screens/help.txt"));
    watch.obey(Command::Close);
    assert!(!watch.view().is_help_open);
}

#[test]
fn screen_of_any_size_is_drawn() {
    let trace = trace();
    let mut view = in_mid_run(&watch::<Millis>(&trace), State::Running);
    for width in (1..50).chain([64, 79, 80, 100, 200, 600]) {
        for height in (1..26).chain([31, 100]) {
            view.is_help_open = (width + height) % 2 == 0;
            let text = screen(&view, width, height);
            let has_hints = ["q quit", "? help", "space pause"].map(|key| text.contains(key));
            assert!(has_hints == [true; 3] || width < 27 || height < 7, "{text}");
            assert!(has_hints[0] || width < 24 || height < 7, "{text}");
        }
    }
}

#[test]
fn view_of_a_session_adds_up() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    for second in 1..=90 {
        pass(&mut watch, NS_PER_S);
        let view = watch.view();
        assert_eq!(view.elapsed_ns, (second * NS_PER_S).min(view.length_ns));
        let on_levels: usize = view.levels.iter().map(LevelView::timers).sum();
        let at = view.elsewhere;
        assert_eq!(on_levels + at.far + at.ready, view.timers);
        let counts = view.counts;
        let gone = counts.expired + counts.cancelled;
        assert_eq!(view.timers as u64, counts.scheduled - gone, "{counts:?}");
        assert!(view.delay_ns.is_some() && view.bytes > 500);
        let requests = view.rates.unwrap().requests;
        assert!((190.0..210.0).contains(&requests), "{requests} a second");
    }
}

#[test]
fn keys_pause_step_change_the_speed_restart_and_quit() {
    let key = |code, modifiers| Command::of(&Event::Key(KeyEvent::new(code, modifiers)));
    let plain = |character| key(KeyCode::Char(character), KeyModifiers::NONE);
    assert_eq!(plain(' '), Some(Command::PauseOrGoOn));
    assert_eq!(plain('s'), Some(Command::StepTick));
    assert_eq!(plain('w'), Some(Command::StepWakeUp));
    assert_eq!(plain('+'), Some(Command::Faster));
    assert_eq!(plain('-'), Some(Command::Slower));
    assert_eq!(plain('r'), Some(Command::Restart));
    assert_eq!(plain('?'), Some(Command::Help));
    assert_eq!(plain('q'), Some(Command::Quit));
    assert_eq!(plain('c'), None);
    let escape = key(KeyCode::Esc, KeyModifiers::NONE);
    assert_eq!(escape, Some(Command::Close));
    let control_z = key(KeyCode::Char('z'), KeyModifiers::CONTROL);
    assert_eq!(control_z, Some(Command::Suspend));
    let control_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(control_c, Some(Command::Interrupt));
    let mut released = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    released.kind = KeyEventKind::Release;
    assert_eq!(Command::of(&Event::Key(released)), None);
    assert_eq!(Command::of(&Event::Resize(80, 24)), None);
}

/// The usual trace at the usual geometry has something to show: timers on every step of their way down.
#[test]
fn watch_by_default_shows_timers_descending() {
    let profile = crate::trace::profile::named(crate::trace::profile::DEFAULT).unwrap();
    let trace = crate::trace::generate(profile, 300_000, 1, Progress::Hidden).unwrap();
    let mut setting = setting(&trace);
    setting.policy.expire = Expire::AfterWrite;
    let mut watch = Watch::<Caffeine>::new(setting, String::new());
    pass(&mut watch, 50 * NS_PER_S);
    let timers: Vec<usize> = watch.view().levels.iter().map(LevelView::timers).collect();
    assert!(
        timers[..3].iter().all(|&timers| timers > 1_000),
        "{timers:?}"
    );
}

#[test]
fn commands_do_what_they_say() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    watch.obey(Command::PauseOrGoOn);
    watch.turn(FRAME);
    assert_eq!(watch.session.now_ns(), trace.start_ns(), "paused");
    watch.obey(Command::StepTick);
    let stepped_ns = watch.session.now_ns();
    assert_eq!(stepped_ns, ((trace.start_ns() >> 20) + 1) << 20);
    watch.obey(Command::PauseOrGoOn);
    let pace = watch.pace;
    watch.obey(Command::Faster);
    watch.turn(FRAME);
    let passed_ns = watch.session.now_ns() - stepped_ns;
    assert_eq!(passed_ns, 2 * pace.trace_ns(FRAME));
    watch.obey(Command::Slower);
    assert_eq!(watch.pace, pace);
    watch.obey(Command::Restart);
    assert_eq!(watch.session.now_ns(), trace.start_ns());
    watch.obey(Command::StepWakeUp);
    assert!(watch.is_paused && watch.session.now_ns() > trace.start_ns());
    pass(&mut watch, 100 * NS_PER_S);
    let over = watch.session.tally.counts;
    for command in [Command::StepTick, Command::StepWakeUp] {
        watch.obey(command);
        watch.turn(FRAME);
        assert_eq!(watch.session.tally.counts, over, "after the end");
    }
    assert_eq!(watch.view().state, State::Over);
}
