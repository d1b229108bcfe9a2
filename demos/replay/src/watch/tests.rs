//! The screen in every state, keys, and a terminal that is given back.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use ratatui::Terminal as Ratatui;
use ratatui::backend::TestBackend;
use timer_wheel::{Caffeine, Millis};

use super::*;
use crate::cache::Expire;
use crate::figure::NS_PER_S;
use crate::trace::{KeyId, Operation, Request, Skipped};
use tally::Pause;

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

/// The text of the screen, line by line, with times and sizes that differ from one machine to another
/// replaced.
fn screen<G: Geometry>(watch: &Watch<'_, G>, width: u16, height: u16) -> String {
    let mut view = watch.view();
    view.bytes = 123_000;
    if view.counts.calls > 0 {
        view.longest = Pause {
            ns: 123_456,
            fired: 3,
        };
        view.recent = Pause {
            ns: 7_890,
            fired: 0,
        };
    }
    let mut terminal = Ratatui::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(&view, frame)).unwrap();
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
    let watch = watch::<Millis>(&trace);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/start.txt"));
}

#[test]
fn screen_in_mid_run_shows_levels_rates_and_pauses() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    pass(&mut watch, 42_123_456_789);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/running.txt"));
}

#[test]
fn screen_of_a_paused_watch_says_so_and_how_to_go_on() {
    let trace = trace();
    let mut watch = watch::<Caffeine>(&trace);
    pass(&mut watch, 30 * NS_PER_S);
    watch.obey(Command::StepTick);
    watch.obey(Command::Slower);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/paused.txt"));
}

#[test]
fn screen_at_the_end_shows_what_is_left() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    watch.setting.budget = NonZeroUsize::new(2);
    watch.obey(Command::Restart);
    pass(&mut watch, 100 * NS_PER_S);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/end.txt"));
}

#[test]
fn screen_of_a_small_terminal_keeps_the_levels() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    pass(&mut watch, 42_123_456_789);
    assert_screen(&screen(&watch, 44, 10), include_str!("screens/small.txt"));
}

#[test]
fn screen_of_a_large_terminal_spreads_the_levels_out() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    pass(&mut watch, 42_123_456_789);
    assert_screen(&screen(&watch, 150, 40), include_str!("screens/large.txt"));
}

#[test]
fn screen_of_a_tiny_terminal_says_what_it_needs() {
    let trace = trace();
    let watch = watch::<Millis>(&trace);
    assert_eq!(screen(&watch, 20, 3), "needs 24 x 7\n\n\n");
}

#[test]
fn screen_with_help_says_what_is_what() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    watch.obey(Command::Help);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/help.txt"));
    watch.obey(Command::Help);
    assert_screen(&screen(&watch, 80, 24), include_str!("screens/start.txt"));
}

#[test]
fn screen_of_any_size_is_drawn() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    pass(&mut watch, 10 * NS_PER_S);
    watch.obey(Command::Help);
    for width in (1..100).chain([200, 600]) {
        for height in (1..32).chain([100]) {
            let text = screen(&watch, width, height);
            assert!(text.contains("quit") || width < 24 || height < 7, "{text}");
        }
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
    let control_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(control_c, Some(Command::Interrupt));
    let mut released = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
    released.kind = KeyEventKind::Release;
    assert_eq!(Command::of(&Event::Key(released)), None);
    assert_eq!(Command::of(&Event::Resize(80, 24)), None);
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
