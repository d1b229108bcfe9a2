//! Neither the geometry nor the way an advance is split changes what fires, or in which order.

use quickcheck::{Arbitrary, Gen, QuickCheck};
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Widest};
use crate::model::Model;
use crate::pair::Fired;
use crate::script::{Op, Pick, Script, When};

/// Scripts for each kind of timers.
const SCRIPTS: u64 = 60;

/// The longest of them.
const OPS: usize = 120;

/// What a timer does once it fired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timers {
    OneShot,
    /// Every third comes again, a few times.
    Periodic,
}

/// One way to bring a wheel from one moment to a later one.
#[derive(Clone, Copy, Debug)]
enum Way {
    Whole,
    Steps(u64),
    Budget(usize),
    BudgetInSteps(usize, u64),
    Pop,
    PopInSteps(u64),
    DroppedAfterEach,
    DroppedAfterTwoInSteps(u64),
    With(usize),
    WithInSteps(usize, u64),
}

const ONE_SHOT_WAYS: [Way; 16] = [
    Way::Whole,
    Way::Steps(2),
    Way::Steps(9),
    Way::Budget(1),
    Way::Budget(2),
    Way::Budget(7),
    Way::Budget(256),
    Way::BudgetInSteps(1, 3),
    Way::BudgetInSteps(5, 4),
    Way::Pop,
    Way::PopInSteps(5),
    Way::DroppedAfterEach,
    Way::DroppedAfterTwoInSteps(3),
    Way::With(usize::MAX),
    Way::With(1),
    Way::WithInSteps(3, 7),
];

/// Those that can put a timer back before the next one fires.
const PERIODIC_WAYS: [Way; 9] = [
    Way::Pop,
    Way::PopInSteps(4),
    Way::With(usize::MAX),
    Way::With(1),
    Way::With(2),
    Way::With(7),
    Way::With(256),
    Way::WithInSteps(1, 3),
    Way::WithInSteps(6, 8),
];

/// How often a periodic timer comes again, in the high half of its value.
const AGAIN: u64 = 1 << 32;

/// The deadline and the value with which a timer that fired comes again.
fn again(deadline: u64, value: u64) -> Option<(u64, u64)> {
    let rest = value.checked_sub(AGAIN)?;
    // Some come again within a tick, some on another level, and some in the past.
    let period = match value % 7 {
        0 => 0,
        1 => 3,
        2 => 500_000,
        3 => 1 << 21,
        4 => 5 << 30,
        5 => 1 << 41,
        _ => return Some((deadline.saturating_sub(77), rest)),
    };
    Some((deadline.saturating_add(period), rest))
}

/// A wheel that follows a script one way, and what fired.
struct Run<G: Geometry> {
    wheel: Wheel<u64, G>,
    way: Way,
    timers: Timers,
    /// The keys of all timers ever scheduled, the latest key of each.
    keys: Vec<TimerKey>,
    deadlines: Vec<u64>,
    fired: Vec<Fired>,
}

impl<G: Geometry> Run<G> {
    fn follow(script: &Script, way: Way, timers: Timers) -> Vec<Fired> {
        let mut run = Self {
            wheel: Wheel::with_geometry(script.start),
            way,
            timers,
            keys: Vec::new(),
            deadlines: Vec::new(),
            fired: Vec::new(),
        };
        for op in &script.ops {
            run.apply(op);
        }
        run.advance(u64::MAX);
        assert!(run.wheel.is_empty(), "{way:?} leaves timers at the end");
        run.fired
    }

    fn apply(&mut self, op: &Op) {
        match steps(op) {
            Step::Schedule { from, step, count } => {
                let from = self.resolve(from);
                for nth in 0..u64::from(count) {
                    self.schedule(from.saturating_add(step.saturating_mul(nth)));
                }
            }
            Step::Cancel(pick) => {
                if let Some(at) = place(pick, self.keys.len()) {
                    self.wheel.cancel(self.keys[at]);
                }
            }
            Step::Reschedule(pick, to) => {
                let deadline = self.resolve(to);
                if let Some(at) = place(pick, self.keys.len()) {
                    self.wheel.reschedule(self.keys[at], deadline);
                }
            }
            Step::Advance(to) => self.advance(self.resolve(to)),
        }
    }

    fn resolve(&self, when: When) -> u64 {
        when.resolve(self.wheel.now(), |nth| {
            let nth = nth.checked_rem(self.deadlines.len())?;
            Some(self.deadlines[self.deadlines.len() - 1 - nth])
        })
    }

    fn schedule(&mut self, deadline: u64) {
        let value = new_value(self.keys.len(), self.timers);
        self.keys.push(self.wheel.schedule(deadline, value));
        self.deadlines.push(deadline);
    }

    fn advance(&mut self, to: u64) {
        match self.way {
            Way::Steps(steps)
            | Way::BudgetInSteps(_, steps)
            | Way::PopInSteps(steps)
            | Way::DroppedAfterTwoInSteps(steps)
            | Way::WithInSteps(_, steps) => {
                let from = self.wheel.now();
                for step in 1..steps {
                    // Uneven, the same in every run.
                    let part = (to.saturating_sub(from) / steps).saturating_mul(step);
                    let stagger = part.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
                    self.advance_at_once((from + part).saturating_add(stagger).min(to));
                }
            }
            _ => {}
        }
        self.advance_at_once(to);
    }

    fn advance_at_once(&mut self, to: u64) {
        match self.way {
            Way::Whole | Way::Steps(_) => {
                let items = self.wheel.advance(to);
                self.fired
                    .extend(items.map(|item| (item.deadline, item.value)));
            }
            Way::Budget(budget) | Way::BudgetInSteps(budget, _) => loop {
                let mut items = self.wheel.advance_with_budget(to, budget);
                let pairs = items.by_ref().map(|item| (item.deadline, item.value));
                self.fired.extend(pairs);
                if !items.has_backlog() {
                    break;
                }
            },
            Way::Pop | Way::PopInSteps(_) => self.pop_all(to),
            Way::DroppedAfterEach => self.take_by(to, 1),
            Way::DroppedAfterTwoInSteps(_) => self.take_by(to, 2),
            Way::With(budget) | Way::WithInSteps(budget, _) => self.advance_with(to, budget),
        }
    }

    fn pop_all(&mut self, to: u64) {
        while let Some(item) = self.wheel.pop_expired(to) {
            self.fired.push((item.deadline, item.value));
            if let Some((deadline, value)) = again(item.deadline, item.value) {
                let key = self.wheel.schedule(deadline, value);
                self.keys[(value % AGAIN) as usize] = key;
            }
        }
    }

    fn take_by(&mut self, to: u64, taken: usize) {
        loop {
            let before = self.fired.len();
            let items = self.wheel.advance(to).take(taken);
            self.fired
                .extend(items.map(|item| (item.deadline, item.value)));
            if self.fired.len() < before + taken {
                break;
            }
        }
    }

    fn advance_with(&mut self, to: u64, budget: usize) {
        loop {
            let progress = self.wheel.advance_with(to, budget, |_, deadline, value| {
                self.fired.push((deadline, *value));
                match again(deadline, *value) {
                    Some((next, rest)) => {
                        *value = rest;
                        Verdict::Rearm(next)
                    }
                    None => Verdict::Remove,
                }
            });
            if !progress.has_backlog {
                break;
            }
        }
    }
}

/// What an operation comes down to when only the order of firing matters.
enum Step {
    Schedule { from: When, step: u64, count: u8 },
    Cancel(Pick),
    Reschedule(Pick, When),
    Advance(When),
}

fn steps(op: &Op) -> Step {
    let once = |from| Step::Schedule {
        from,
        step: 0,
        count: 1,
    };
    match *op {
        Op::Schedule(at) => once(at),
        Op::Bunch { at, count } => Step::Schedule {
            from: at,
            step: 0,
            count,
        },
        Op::Storm { from, step, count } => Step::Schedule { from, step, count },
        Op::FillToLimit { at, .. } => once(at),
        Op::Cancel(pick) => Step::Cancel(pick),
        Op::Reschedule(pick, to) => Step::Reschedule(pick, to),
        Op::RescheduleMany { stride, to } => Step::Reschedule(Pick::Live(stride), to),
        Op::Touch(pick) => Step::Reschedule(pick, When::In(1 << 30)),
        Op::Advance(to)
        | Op::AdvanceDropped { to, .. }
        | Op::AdvanceBudgeted { to, .. }
        | Op::AdvanceToEnd { to, .. }
        | Op::AdvanceWith { to, .. }
        | Op::AdvanceFires { to, .. }
        | Op::AdvanceWithFires { to, .. }
        | Op::Pop(to)
        | Op::PopAndSchedule { to, .. } => Step::Advance(to),
        _ => once(When::In(0)),
    }
}

/// The place of a timer among all ever scheduled, whether it lives or not.
fn place(pick: Pick, count: usize) -> Option<usize> {
    let back = match pick {
        Pick::Live(nth) => usize::from(nth) % 16,
        Pick::Any(age) => usize::from(age),
    };
    let back = back.checked_rem(count)?;
    Some(count - 1 - back)
}

/// A number that tells timers apart, with the repetitions left to it.
fn new_value(nth: usize, timers: Timers) -> u64 {
    let value = nth as u64;
    match timers {
        Timers::Periodic if value % 3 == 0 => value + (value % 5) * AGAIN,
        _ => value,
    }
}

/// What fires according to the model, every advance in one go.
fn expected(script: &Script, timers: Timers) -> Vec<Fired> {
    // The model's keys come from a wheel that never advances.
    let mut mint: Wheel<()> = Wheel::new(0);
    let mut model: Model<u64> = Model::new(script.start);
    let mut keys = Vec::new();
    let mut deadlines: Vec<u64> = Vec::new();
    let mut fired = Vec::new();
    let last = Op::Advance(When::At(u64::MAX));
    for op in script.ops.iter().chain([&last]) {
        let resolve = |when: When, now, deadlines: &[u64]| {
            when.resolve(now, |nth| {
                let nth = nth.checked_rem(deadlines.len())?;
                Some(deadlines[deadlines.len() - 1 - nth])
            })
        };
        match steps(op) {
            Step::Schedule { from, step, count } => {
                let from = resolve(from, model.now(), &deadlines);
                for nth in 0..u64::from(count) {
                    let deadline = from.saturating_add(step.saturating_mul(nth));
                    let key = mint.schedule(0, ());
                    model.schedule(key, deadline, new_value(keys.len(), timers));
                    keys.push(key);
                    deadlines.push(deadline);
                }
            }
            Step::Cancel(pick) => {
                if let Some(at) = place(pick, keys.len()) {
                    model.cancel(keys[at]);
                }
            }
            Step::Reschedule(pick, to) => {
                let deadline = resolve(to, model.now(), &deadlines);
                if let Some(at) = place(pick, keys.len()) {
                    model.reschedule(keys[at], deadline);
                }
            }
            Step::Advance(to) => {
                model.set_clock(resolve(to, model.now(), &deadlines));
                while let Some((key, deadline, value)) = model.pop_due() {
                    fired.push((deadline, value));
                    if let Some((next, rest)) = again(deadline, value) {
                        model.schedule(key, next, rest);
                    }
                }
            }
        }
    }
    fired
}

fn compare_all_ways<G: Geometry>(script: &Script, timers: Timers, expected: &[Fired]) {
    let ways: &[Way] = match timers {
        Timers::OneShot => &ONE_SHOT_WAYS,
        Timers::Periodic => &PERIODIC_WAYS,
    };
    for &way in ways {
        let fired = Run::<G>::follow(script, way, timers);
        let geometry = std::any::type_name::<G>();
        assert_eq!(fired, expected, "{way:?} in {geometry}");
    }
}

fn compare_everywhere(script: &Script, timers: Timers) {
    let expected = expected(script, timers);
    compare_all_ways::<Millis>(script, timers, &expected);
    compare_all_ways::<Caffeine>(script, timers, &expected);
    compare_all_ways::<Micros>(script, timers, &expected);
    compare_all_ways::<Compact>(script, timers, &expected);
    compare_all_ways::<Narrow>(script, timers, &expected);
    compare_all_ways::<Tiny>(script, timers, &expected);
    compare_all_ways::<TinyTick>(script, timers, &expected);
    compare_all_ways::<Lopsided>(script, timers, &expected);
    compare_all_ways::<Widest>(script, timers, &expected);
}

/// A script for no geometry in particular: moments of the `Millis` scale and of all others.
impl Arbitrary for Script {
    fn arbitrary(g: &mut Gen) -> Self {
        let start = u64::arbitrary(g) >> (u8::arbitrary(g) % 64);
        let length = usize::arbitrary(g) % (g.size() + 1);
        let ops = (0..length).map(|_| Op::arbitrary(g)).collect();
        Self { start, ops }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let start = self.start;
        Box::new(self.ops.shrink().map(move |ops| Self { start, ops }))
    }
}

#[test]
fn one_shot_timers_fire_alike_in_every_geometry_and_split() {
    QuickCheck::new()
        .rng(Gen::new(OPS))
        .tests(crate::random::tests(SCRIPTS))
        .quickcheck((|script| compare_everywhere(&script, Timers::OneShot)) as fn(Script));
}

#[test]
fn periodic_timers_fire_alike_in_every_geometry_and_split() {
    QuickCheck::new()
        .rng(Gen::new(OPS))
        .tests(crate::random::tests(SCRIPTS))
        .quickcheck((|script| compare_everywhere(&script, Timers::Periodic)) as fn(Script));
}
