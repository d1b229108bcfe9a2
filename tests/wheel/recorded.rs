//! A script and what every geometry has made of it, both on record: a change of what the wheel
//! does, on any platform, changes a file that is checked in.
//!
//! `recorded/script.txt` is for people to read and write; it explains its commands. The other files
//! are the script again, each command followed by what came of it. After a change that is meant,
//! record anew and read the difference:
//!
//! ```text
//! TIMER_WHEEL_RECORD=1 cargo test --test wheel recorded
//! git diff tests/wheel/recorded
//! ```

use std::collections::HashMap;
use std::fmt::Write as _;

use timer_wheel::{Caffeine, Compact, Expired, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{Narrow, Widest};

const SCRIPT: &str = include_str!("recorded/script.txt");

/// Where the records are, for who wants to write them.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wheel/recorded");

/// The length of a line of names.
const WIDTH: usize = 100;

/// A wheel that follows a script, and what is put on record.
struct Recorder<G: Geometry> {
    /// A timer's value is the place of its name. Values of other tests' type, so that nothing is compiled
    /// for this one alone.
    wheel: Wheel<u64, G>,
    names: Vec<String>,
    /// The timers by name, those that are gone included.
    keys: HashMap<String, TimerKey>,
    /// What was promised to each name.
    deadlines: HashMap<String, u64>,
    record: String,
    /// Every name that has fired, in order.
    fired: Vec<String>,
    /// The answer of `expiration_delay` that was put on record last.
    delay: Option<u64>,
}

/// Follows the script, and gives the record and the names that have fired.
fn follow<G: Geometry>() -> (String, Vec<String>) {
    let mut recorder = Recorder::<G> {
        wheel: Wheel::with_geometry(0),
        names: Vec::new(),
        keys: HashMap::new(),
        deadlines: HashMap::new(),
        record: String::new(),
        fired: Vec::new(),
        delay: None,
    };
    for line in SCRIPT.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        recorder.note(line);
        recorder.run(line);
        recorder.note_delay();
        recorder.wheel.check_invariants();
    }
    (recorder.record, recorder.fired)
}

impl<G: Geometry> Recorder<G> {
    fn run(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words.as_slice() {
            ["start", at] => self.wheel = Wheel::with_geometry(self.time(at)),
            ["schedule", name, at] => {
                let what = self.schedule(name.to_owned(), self.time(at));
                self.note(&what);
            }
            ["burst", name, count, at, step] => {
                let (at, step) = (self.time(at), self.time(step));
                let deadlines = (0..number(count)).map(|nth| at.saturating_add(step * nth));
                let timers: Vec<String> = (0..)
                    .zip(deadlines)
                    .map(|(nth, deadline)| self.schedule(format!("{name}{nth}"), deadline))
                    .collect();
                for what in [timers.first(), timers.last()].into_iter().flatten() {
                    self.note(what);
                }
            }
            ["cancel", name] => self.cancel(vec![name.to_owned()]),
            ["cancel", name, "from", first, "to", last, "by", stride] => {
                self.cancel(names(name, first, last, stride));
            }
            ["move", name, at] => self.reschedule(vec![name.to_owned()], self.time(at)),
            ["move", name, "from", first, "to", last, "by", stride, at] => {
                self.reschedule(names(name, first, last, stride), self.time(at));
            }
            ["advance", to] => self.advance(self.time(to), usize::MAX, usize::MAX),
            ["advance", to, "budget", budget] => {
                self.advance(self.time(to), number(budget) as usize, usize::MAX);
            }
            ["advance", to, "take", taken] => {
                self.advance(self.time(to), usize::MAX, number(taken) as usize);
            }
            ["pop", to] => {
                let item = self.wheel.pop_expired(self.time(to));
                self.note_fired(item);
            }
            ["rearm", to, "after", period, "budget", budget] => {
                self.rearm(self.time(to), self.time(period), number(budget) as usize);
            }
            ["first", count] => {
                let timers = self.wheel.ascending().take(number(count) as usize);
                let names = self.names_of(timers.map(|timer| *timer.value));
                self.note_names("first", names);
            }
            ["last", count] => {
                let timers = self.wheel.descending().take(number(count) as usize);
                let names = self.names_of(timers.map(|timer| *timer.value));
                self.note_names("last", names);
            }
            ["next"] => {
                let next = self.wheel.next_deadline();
                let levels: Vec<_> = (0..5).map(|level| self.wheel.peek_ahead(level)).collect();
                self.note(&format!("    next {next:?}, ahead {levels:?}"));
            }
            ["text"] => {
                let text = self.text();
                self.note(&format!("    {text}"));
            }
            ["reload"] => {
                let text = self.text();
                self.wheel = serde_json::from_str(&text).expect("a whole wheel deserializes");
            }
            ["shrink"] => self.wheel.shrink_to_fit(),
            ["clear"] => self.wheel.clear(),
            _ => panic!("not a command: {line}"),
        }
    }

    fn text(&self) -> String {
        serde_json::to_string(&self.wheel).expect("numbers serialize")
    }

    fn schedule(&mut self, name: String, deadline: u64) -> String {
        let key = self.wheel.schedule(deadline, self.names.len() as u64);
        self.names.push(name.clone());
        let what = format!("    {name} is {key:?} at {deadline}");
        self.deadlines.insert(name.clone(), deadline);
        let earlier = self.keys.insert(name, key);
        assert!(earlier.is_none(), "a name is used once");
        what
    }

    fn cancel(&mut self, names: Vec<String>) {
        let (gone, stale): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| {
            let value = self.wheel.cancel(self.keys[name]);
            assert!(value.is_none_or(|value| self.names[value as usize] == *name));
            value.is_some()
        });
        self.note_names("gone", gone);
        self.note_names("stale", stale);
    }

    fn reschedule(&mut self, names: Vec<String>, deadline: u64) {
        let (moved, stale): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| self.wheel.reschedule(self.keys[name], deadline));
        for name in &moved {
            self.deadlines.insert(name.clone(), deadline);
        }
        self.note_names(&format!("at {deadline}"), moved);
        self.note_names("stale", stale);
    }

    fn advance(&mut self, to: u64, budget: usize, taken: usize) {
        let mut advance = self.wheel.advance_with_budget(to, budget);
        let items: Vec<Expired<u64>> = advance.by_ref().take(taken).collect();
        let (unused, has_backlog) = (advance.unused(), advance.has_backlog());
        drop(advance);
        self.note_fired(items);
        let used = budget - unused;
        let backlog = if has_backlog { ", a backlog" } else { "" };
        self.note(&format!("    {used} units{backlog}"));
    }

    fn rearm(&mut self, to: u64, period: u64, budget: usize) {
        let mut names = Vec::new();
        let deadlines = &mut self.deadlines;
        let progress = self.wheel.advance_with(to, budget, |_, deadline, value| {
            let name = &self.names[*value as usize];
            assert_eq!(deadlines[name.as_str()], deadline, "of {name}");
            let next = deadline.saturating_add(period);
            deadlines.insert(name.clone(), next);
            names.push(name.clone());
            Verdict::Rearm(next)
        });
        assert_eq!(progress.fired, names.len());
        self.fired.extend(names.iter().cloned());
        self.note_names("fired", names);
        let used = budget - progress.unused;
        let backlog = if progress.has_backlog {
            ", a backlog"
        } else {
            ""
        };
        self.note(&format!("    {used} units{backlog}"));
    }

    fn note_fired(&mut self, items: impl IntoIterator<Item = Expired<u64>>) {
        let mut names = Vec::new();
        for item in items {
            let name = &self.names[item.value as usize];
            assert_eq!(item.key, self.keys[name]);
            assert_eq!(item.deadline, self.deadlines[name]);
            names.push(name.clone());
        }
        self.fired.extend(names.iter().cloned());
        self.note_names("fired", names);
    }

    /// A list of names, in lines that are not too long.
    fn note_names(&mut self, what: &str, names: Vec<String>) {
        if names.is_empty() {
            return;
        }
        let mut line = format!("    {what}");
        for name in names {
            if line.len() + 1 + name.len() > WIDTH {
                self.note(&line);
                line = "        ".to_owned();
            }
            _ = write!(line, " {name}");
        }
        self.note(&line);
    }

    fn names_of(&self, values: impl Iterator<Item = u64>) -> Vec<String> {
        values
            .map(|value| self.names[value as usize].clone())
            .collect()
    }

    fn note_delay(&mut self) {
        let delay = self.wheel.expiration_delay();
        if delay != self.delay {
            self.delay = delay;
            self.note(&match delay {
                Some(delay) => format!("    sleep for {delay}"),
                None => "    sleep".to_owned(),
            });
        }
    }

    fn note(&mut self, line: &str) {
        self.record.push_str(line.trim_end());
        self.record.push('\n');
    }

    /// A time: `max`, or terms of a sum, from the present on if there is a sign before them.
    fn time(&self, text: &str) -> u64 {
        let now = self.wheel.now();
        match text.split_at(1) {
            _ if text == "max" => u64::MAX,
            ("+", after) => now.saturating_add(sum(after)),
            ("-", before) => now.saturating_sub(sum(before)),
            _ => sum(text),
        }
    }
}

/// The names of a burst that are meant.
fn names(name: &str, first: &str, last: &str, stride: &str) -> Vec<String> {
    let numbers = (number(first)..=number(last)).step_by(number(stride) as usize);
    numbers.map(|number| format!("{name}{number}")).collect()
}

fn sum(terms: &str) -> u64 {
    terms.split('+').map(term).sum()
}

/// A number of nanoseconds or of a unit, or a power: `5`, `5ms`, `2^20`.
fn term(text: &str) -> u64 {
    if let Some((base, exponent)) = text.split_once('^') {
        return number(base).pow(number(exponent) as u32);
    }
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let nanoseconds = match unit {
        "" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => panic!("not a unit of time: {text}"),
    };
    number(&text[..text.len() - unit.len()]) * nanoseconds
}

fn number(text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("not a number: {text}"))
}

/// Compares with the record, or writes it.
fn check<G: Geometry>(name: &str, recorded: &str) {
    let (record, _) = follow::<G>();
    if std::env::var_os("TIMER_WHEEL_RECORD").is_some() {
        let path = format!("{DIRECTORY}/{name}.txt");
        std::fs::write(&path, record).expect("the records can be written");
        return;
    }
    // Line by line, whatever a line ends with on this platform.
    for (nth, (now, before)) in record.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, before, "line {} of {name}.txt", nth + 1);
    }
    assert_eq!(record.lines().count(), recorded.lines().count(), "{name}");
}

/// A test for each geometry and its record.
macro_rules! recorded {
    ($($test:ident: $geometry:ty, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            check::<$geometry>($name, include_str!(concat!("recorded/", $name, ".txt")));
        }
    )*};
}

recorded! {
    millis_does_what_is_on_record: Millis, "millis";
    caffeine_does_what_is_on_record: Caffeine, "caffeine";
    micros_does_what_is_on_record: Micros, "micros";
    compact_does_what_is_on_record: Compact, "compact";
    narrow_does_what_is_on_record: Narrow, "narrow";
}

/// Geometries differ in what it takes, never in what fires.
#[test]
fn script_on_record_fires_alike_in_every_geometry() {
    fn check<G: Geometry>() {
        let (_, expected) = follow::<Millis>();
        assert!(expected.len() > 400, "the script fires little");
        assert_eq!(follow::<G>().1, expected);
    }
    in_every_geometry!(check);
    check::<Widest>();
}
