//! The screen in every state, and the keys.

use ratatui::Terminal as Ratatui;
use ratatui::backend::TestBackend;
use timer_wheel::{Caffeine, Millis};

use super::*;
use crate::cache::Expire;
use crate::figure::NS_PER_S;
use crate::trace::{KeyId, Operation, Request};

/// A minute and a half of requests, 200 a second, with TTLs from a second to three days.
pub(super) fn trace() -> Trace {
    let operations = [Operation::Set, Operation::Get, Operation::Set, Operation::Delete];
    let requests = (0..18_000_u64).map(|nth| {
        let key = KeyId((nth * nth % 4_001) as u32);
        let operation = operations[(nth % 7 % 4) as usize];
        let ttl_s = [1, 2, 5, 20, 60, 600, 7_200, 260_000][(nth % 31 % 8) as usize];
        Request { at_ns: 7_000_000_000 + nth * 5_000_000, ttl_s, key, operation }
    });
    Trace { name: "a minute and a half".to_owned(), requests: requests.collect(), keys: 4_001 }
}

pub(super) const POLICY: Policy = Policy { expire: Expire::AfterAccess, ttl_ns: None, capacity: None };

/// When no test runs any more.
pub(super) fn later() -> Instant {
    Instant::now() + Duration::from_secs(86_400)
}

fn watch<G: Geometry>(trace: &Trace) -> Watch<'_, G> {
    Watch::new(trace, POLICY, format!("timer wheel · {}", trace.name))
}

/// The text of the screen, line by line.
fn screen<G: Geometry>(watch: &Watch<'_, G>, width: u16, height: u16) -> String {
    let mut terminal = Ratatui::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(watch, frame)).unwrap();
    let rows = terminal.backend().buffer().content().chunks(width.into());
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>() + "\n");
    rows.collect()
}

#[test]
fn screen_shows_levels_legend_rates_and_state_in_any_room() {
    let trace = trace();
    let mut watch = watch::<Millis>(&trace);
    let shows = |watch: &Watch<'_, Millis>, (width, height), texts: &[&str]| {
        let screen = screen(watch, width, height);
        for text in texts {
            assert!(screen.contains(text), "no `{text}` in\n{screen}");
        }
    };
    let empty = ["0 timers; 256 buckets of 1.05 ms", "no wake-up needed", "0            0"];
    shows(&watch, (80, 24), &empty);
    for second in 1..=60 {
        let time_ns = trace.start_ns() + second * NS_PER_S;
        watch.session.run_until(time_ns, later());
    }
    let small = [" running  speed 1 x", "00:01:00.000000 of 00:01:29", "level 3", "level 0 ", "far        0 timers"];
    shows(&watch, (50, 13), &small);
    let usual = ["10k+", "make a rotation of 52d 2h", "12,001       ", "r restart"];
    shows(&watch, (80, 24), &[&small[..], &usual].concat());
    shows(&watch, (20, 3), &["needs 50 x 13"]);
    (watch.is_behind, watch.is_paused) = (true, true);
    shows(&watch, (120, 40), &[" paused ", ", not reached", "rotation of the level below"]);
    watch.session.run_until(u64::MAX, later());
    shows(&watch, (80, 24), &[" at the end "]);
    for nth in 0..1_800 {
        let (width, height) = (nth / 30 + 1, nth % 30 + 1);
        let is_large = width >= 50 && height >= 13;
        shows(&watch, (width, height), if is_large { &["q quit  space pause"] } else { &[] });
    }
}

#[test]
fn keys_pause_step_change_the_speed_restart_and_quit() {
    let trace = trace();
    let mut watch = watch::<Caffeine>(&trace);
    let press = |watch: &mut Watch<'_, _>, key: char| watch.press(KeyEvent::from(KeyCode::Char(key))).unwrap();
    assert!(press(&mut watch, ' '));
    watch.turn(FRAME);
    assert_eq!(watch.session.now_ns(), trace.start_ns(), "paused");
    press(&mut watch, 's');
    let stepped_ns = watch.session.now_ns();
    assert_eq!(stepped_ns, ((trace.start_ns() >> 30) + 1) << 30);
    press(&mut watch, ' ');
    let pace = watch.pace;
    press(&mut watch, '+');
    watch.turn(FRAME);
    assert_eq!(watch.session.now_ns() - stepped_ns, 2 * pace.trace_ns(FRAME));
    press(&mut watch, '-');
    assert_eq!(watch.pace, pace);
    press(&mut watch, 'r');
    assert_eq!(watch.session.now_ns(), trace.start_ns());
    press(&mut watch, 'w');
    assert!(watch.is_paused && watch.session.now_ns() > trace.start_ns());
    watch.session.run_until(u64::MAX, later());
    let over = watch.session.events();
    for step in ['s', 'w'] {
        press(&mut watch, step);
        assert_eq!(watch.session.events(), over, "after the end");
    }
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(watch.press(control_c).is_err() && press(&mut watch, 'c'));
    let escape = KeyEvent::from(KeyCode::Esc);
    assert!(!watch.press(escape).unwrap() && !press(&mut watch, 'q'));
}
