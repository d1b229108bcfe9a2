//! Random histories of an index wheel: bytes that say what is called, and a model that answers the same.

use std::collections::{BTreeMap, BTreeSet};

use timer_wheel::index::{Due, IndexWheel};
use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis, Verdict};

use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};

/// What runs a history, in each geometry. Append only: a stored input means its geometry by place.
pub(crate) static WORLDS: [fn(&[u8]); 10] = [
    run::<Millis>,
    run::<Caffeine>,
    run::<Micros>,
    run::<Compact>,
    run::<Tiny>,
    run::<TinyTick>,
    run::<Lopsided>,
    run::<Narrow>,
    run::<Wide>,
    run::<Widest>,
];

/// How many indexes a history uses. The last is enough for a crowd in each geometry.
const INDEXES: [u32; 4] = [6, 60, 250, 1_000];

/// A wheel that is obviously right: its timers in the order in which they fire, and their deadlines by index.
#[derive(Default)]
struct Model {
    now: u64,
    /// By deadline, and then by when they were last set.
    order: BTreeSet<(u64, u64, u32)>,
    timers: BTreeMap<u32, (u64, u64)>,
    sets: u64,
}

impl Model {
    fn set(&mut self, index: u32, deadline: u64) {
        self.cancel(index);
        self.order.insert((deadline, self.sets, index));
        self.timers.insert(index, (deadline, self.sets));
        self.sets += 1;
    }

    fn cancel(&mut self, index: u32) -> bool {
        let timer = self.timers.remove(&index);
        timer.is_some_and(|(deadline, set)| self.order.remove(&(deadline, set, index)))
    }

    fn deadline(&self, index: u32) -> Option<u64> {
        self.timers.get(&index).map(|timer| timer.0)
    }

    fn ascending(&self) -> impl DoubleEndedIterator<Item = Due> + '_ {
        let timers = self.order.iter();
        timers.map(|&(deadline, _, index)| Due { index, deadline })
    }

    fn first(&self) -> Option<Due> {
        self.ascending().next()
    }

    /// The first timer, if it is due.
    fn due(&self) -> Option<Due> {
        self.first().filter(|first| first.deadline <= self.now)
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Takes out a timer that has fired.
    #[track_caller]
    fn fired(&mut self, due: Due) {
        assert_eq!(Some(due), self.due(), "the order is exact");
        self.cancel(due.index);
    }
}

/// A wheel and its model, which are compared after each call.
pub(crate) struct Pair<G: Geometry> {
    pub(crate) wheel: IndexWheel<G>,
    model: Model,
}

impl<G: Geometry> Pair<G> {
    pub(crate) fn new(now: u64) -> Self {
        let model = Model {
            now,
            ..Model::default()
        };
        let wheel = IndexWheel::with_geometry(now);
        Self { wheel, model }
    }

    /// # Panics
    ///
    /// When the two can be told apart.
    #[track_caller]
    fn check(&self) {
        let (wheel, model) = (&self.wheel, &self.model);
        wheel.check_invariants();
        assert_eq!(wheel.now(), model.now);
        assert_eq!(wheel.len(), model.timers.len());
        assert_eq!(wheel.is_empty(), model.timers.is_empty());
        let next = model.first().map(|first| first.deadline);
        assert_eq!(wheel.next_deadline(), next);
        let delay = wheel.expiration_delay();
        assert_eq!(wheel.wake_at(), delay.map(|delay| model.now + delay));
        assert_eq!(delay.is_some(), next.is_some(), "a delay says whether");
        for (delay, next) in delay.into_iter().zip(next) {
            let wake = model.now.saturating_add(delay);
            assert!(wake <= next.max(model.now), "the wake-up is not late");
        }
        if model.due().is_some() {
            assert!(wheel.has_backlog(), "a backlog is not denied");
        }
        assert_eq!(wheel.ascending().len(), model.timers.len());
        assert!(wheel.ascending().eq(model.ascending()), "ascending");
        assert!(wheel.descending().eq(model.ascending().rev()), "descending");
        let highest = model.timers.keys().next_back();
        let indexes = 0..=highest.map_or(0, |highest| highest + 1);
        for index in indexes.chain([u32::MAX]) {
            assert_eq!(wheel.deadline(index), model.deadline(index), "{index}");
            assert_eq!(wheel.is_scheduled(index), model.deadline(index).is_some());
        }
    }

    #[track_caller]
    pub(crate) fn set(&mut self, index: u32, deadline: u64) {
        self.wheel.set(index, deadline);
        self.model.set(index, deadline);
        self.check();
    }

    fn cancel(&mut self, index: u32) {
        assert_eq!(self.wheel.cancel(index), self.model.cancel(index));
        self.check();
    }

    /// Takes what is due one by one, and at most so much of it.
    #[track_caller]
    pub(crate) fn pop_expired(&mut self, now: u64, most: usize) {
        self.model.advance(now);
        let mut budget = Budget::UNLIMITED.with_fires(most);
        for nth in 0..most {
            let popped = match nth % 2 {
                0 => self.wheel.pop_expired(now),
                _ => self.wheel.pop_expired_with_budget(now, &mut budget),
            };
            assert_eq!(popped, self.model.due(), "the first that is due");
            let Some(due) = popped else { break };
            self.model.fired(due);
        }
        // The clock moves also when nothing is taken.
        _ = self.wheel.advance(now);
        self.check();
    }

    /// Pulls at most so many items of an advance.
    fn advance(&mut self, now: u64, budget: Budget, most: usize) {
        self.model.advance(now);
        let mut advance = self.wheel.advance_with_budget(now, budget);
        let mut fired = 0;
        for due in advance.by_ref().take(most) {
            self.model.fired(due);
            fired += 1;
        }
        assert!(fired + advance.unused() <= budget.work && fired <= budget.fires);
        let is_complete = fired < most && !advance.has_backlog();
        assert!(!is_complete || self.model.due().is_none(), "what is due");
        self.check();
    }

    /// One call of `advance_with`, which asks `verdict` with the number of the timer. Returns whether a backlog is
    /// left.
    fn advance_with(
        &mut self,
        now: u64,
        budget: Budget,
        verdict: impl Fn(usize, Due) -> Verdict,
    ) -> bool {
        self.model.advance(now);
        let mut asked = 0;
        let model = &mut self.model;
        let mut is_stopped = false;
        let progress = self.wheel.advance_with(now, budget, |index, deadline| {
            let due = Due { index, deadline };
            assert_eq!(Some(due), model.due(), "the first that is due");
            let verdict = verdict(asked, due);
            match verdict {
                Verdict::Remove => model.fired(due),
                Verdict::Rearm(to) => model.set(index, to),
                _ => is_stopped = true,
            }
            asked += 1;
            verdict
        });
        assert_eq!(progress.fired, asked - usize::from(is_stopped));
        assert!(progress.fired + progress.unused <= budget.work);
        assert!(progress.fired <= budget.fires);
        assert_eq!(progress.has_backlog, self.wheel.has_backlog());
        assert!(progress.has_backlog || self.model.due().is_none());
        self.check();
        progress.has_backlog
    }

    /// Looks at the first timer that is due, and gives it what the verdict says; to stop is to let it be.
    fn peek_expired(&mut self, now: u64, verdict: Verdict) {
        self.model.advance(now);
        let due = self.model.due();
        let mut budget = Budget::UNLIMITED;
        let peeked = match now % 2 {
            0 => self.wheel.peek_expired(now),
            _ => self.wheel.peek_expired_with_budget(now, &mut budget),
        };
        let seen = peeked.as_ref().map(|it| (it.index(), it.deadline()));
        assert_eq!(seen, due.map(|due| (due.index, due.deadline)));
        match (peeked, due, verdict) {
            (Some(peeked), Some(due), Verdict::Remove) => {
                assert_eq!(peeked.remove(), due);
                self.model.fired(due);
            }
            (Some(peeked), Some(due), Verdict::Rearm(to)) => {
                peeked.rearm(to);
                self.model.set(due.index, to);
            }
            _ => {}
        }
        self.check();
    }

    /// Looks at the earliest timer, due or not, and perhaps takes it.
    fn first(&mut self, is_taken: bool) {
        let first = self.model.first();
        assert_eq!(self.wheel.peek_first(), first, "the earliest");
        if let Some(first) = first.filter(|_| is_taken) {
            assert_eq!(self.wheel.pop_first(), Some(first), "the earliest");
            self.model.cancel(first.index);
        }
        self.check();
    }

    /// Takes at most so many timers out of a drain, which is dropped then; or clears the wheel.
    fn remove_all(&mut self, most: usize) {
        if most == 0 {
            self.wheel.clear();
        } else {
            let mut drain = self.wheel.drain();
            for due in drain.by_ref().take(most) {
                assert_eq!(self.model.deadline(due.index), Some(due.deadline));
                self.model.cancel(due.index);
            }
            assert_eq!(drain.len(), self.model.timers.len(), "the rest");
        }
        self.model.order.clear();
        self.model.timers.clear();
        self.check();
    }

    /// Goes on with a copy, once the original has fired everything.
    fn clone(&mut self) {
        let copy = self.wheel.clone();
        let all = self.wheel.advance(u64::MAX);
        assert!(all.eq(self.model.ascending()), "the original fires");
        self.wheel.check_invariants();
        self.wheel = copy;
        self.check();
    }

    /// Sleeps until there is something to do, so many times, unless that lies too far ahead.
    fn drive(&mut self, wake_ups: usize, within: u64) {
        for _ in 0..wake_ups {
            let delay = self.wheel.expiration_delay();
            let Some(delay) = delay.filter(|&delay| delay <= within) else {
                break;
            };
            self.pop_expired(self.model.now.saturating_add(delay), usize::MAX);
        }
    }
}

/// Bytes, read one after the other; zeros behind their end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    fn near(&mut self, time: u64) -> u64 {
        time.saturating_add_signed(self.choose(&[-1, 0, 0, 1]))
    }
}

/// Runs the history that the bytes tell, and then lets everything fire.
fn run<G: Geometry>(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let indexes = bytes.choose(&INDEXES);
    let start = match bytes.byte() % 4 {
        0 => 0,
        1 => u64::MAX - unit::<G>(usize::from(bytes.byte()) % 5),
        _ => u64::from(bytes.short()) << (bytes.byte() % 48),
    };
    let pair = Pair::<G>::new(start);
    let mut world = World {
        pair,
        indexes,
        bytes,
    };
    while !world.bytes.0.is_empty() {
        world.step();
    }
    world.pair.pop_expired(u64::MAX, usize::MAX);
    assert!(world.pair.wheel.is_empty());
}

/// Nanoseconds in a bucket of a level.
fn unit<G: Geometry>(level: usize) -> u64 {
    1 << (G::TICK_BITS + G::LEVEL_BITS[..level].iter().sum::<u32>())
}

/// A pair, and the bytes that tell its history.
struct World<'a, G: Geometry> {
    pair: Pair<G>,
    indexes: u32,
    bytes: Bytes<'a>,
}

impl<G: Geometry> World<'_, G> {
    fn step(&mut self) {
        match self.bytes.byte() % 40 {
            0..=2 => self.many(),
            3..=5 => {
                let index = self.any();
                self.pair.cancel(index);
            }
            6..=9 => {
                let most = self.bytes.choose(&[0, 1, 1, 3, 20, usize::MAX]);
                let to = self.jump();
                self.pair.pop_expired(to, most);
            }
            10..=12 => {
                let most = self.bytes.choose(&[0, 1, 5, usize::MAX, usize::MAX]);
                let (to, budget) = (self.jump(), self.budget());
                self.pair.advance(to, budget, most);
            }
            13..=15 => self.advance_with(),
            16 => self.advance_to_end(),
            17..=18 => self.pair.first(self.bytes.byte() % 2 == 0),
            19..=21 => {
                let (to, verdict) = (self.jump(), self.verdict());
                self.pair.peek_expired(to, verdict);
            }
            22 => self.pair.clone(),
            23..=24 => self.shrink_or_reserve(),
            25..=26 => {
                let wake_ups = usize::from(self.bytes.byte() % 16);
                let within = unit::<G>(self.bytes.choose(&[0, 1, 2, 3]));
                self.pair.drive(wake_ups, within);
            }
            // Seldom, so that there are mostly some timers.
            27 if self.bytes.byte() < 64 => {
                let most = self.bytes.choose(&[0, 1, 30, usize::MAX]);
                self.pair.remove_all(most);
            }
            _ => {
                let (index, deadline) = (self.any(), self.deadline());
                self.pair.set(index, deadline);
            }
        }
    }

    fn any(&mut self) -> u32 {
        u32::from(self.bytes.short()) % self.indexes
    }

    /// A time ahead: next to the beginning of a bucket of one of the levels, or up to four buckets away.
    fn ahead(&mut self, levels: &[usize]) -> u64 {
        let (now, unit) = (self.pair.model.now, unit::<G>(self.bytes.choose(levels)));
        let (kind, far) = (self.bytes.byte() % 16, self.bytes.short());
        if kind < 4 {
            let bucket = (now / unit).saturating_add(kind.into());
            return self.bytes.near(bucket.saturating_mul(unit));
        }
        let span = (u128::from(unit) * u128::from(far)) >> 14;
        now.saturating_add(u64::try_from(span).unwrap_or(u64::MAX))
    }

    /// About when a timer is due, one of the first.
    fn like(&mut self) -> u64 {
        let nth = self.bytes.choose(&[0, 0, 1, 5, 30]);
        let timer = self.pair.model.ascending().nth(nth);
        let deadline = timer.map_or(self.pair.model.now, |timer| timer.deadline);
        self.bytes.near(deadline)
    }

    fn past(&mut self) -> u64 {
        let before = self.bytes.short();
        self.pair.model.now.saturating_sub(before.into())
    }

    fn deadline(&mut self) -> u64 {
        match self.bytes.byte() % 12 {
            0 => self.past(),
            1 => u64::MAX - u64::from(self.bytes.byte() % 3),
            2..=4 => self.like(),
            _ => self.ahead(&[0, 1, 1, 2, 2, 3, 4]),
        }
    }

    /// Where to advance to: mostly near, so that the history does not end at the end of time.
    fn jump(&mut self) -> u64 {
        match self.bytes.byte() {
            0..=1 => self.ahead(&[3, 4]),
            2..=19 => self.past(),
            20..=99 => {
                let (within, like) = (unit::<G>(3), self.like());
                like.min(self.pair.model.now.saturating_add(within))
            }
            _ => self.ahead(&[0, 0, 1, 1, 1, 2]),
        }
    }

    fn budget(&mut self) -> Budget {
        let work = self.bytes.choose(&[0, 1, 2, 7, 40, 300, usize::MAX]);
        let fires = self.bytes.choose(&[0, 1, 3, 60, usize::MAX, usize::MAX]);
        Budget::of_work(work).with_fires(fires)
    }

    fn verdict(&mut self) -> Verdict {
        match self.bytes.byte() % 4 {
            0 => Verdict::Stop,
            1 => Verdict::Remove,
            _ => Verdict::Rearm(self.deadline()),
        }
    }

    /// Sets many timers, a step apart, or only those that are scheduled, or cancels them.
    fn many(&mut self) {
        let (from, stride) = (self.any(), 1 + usize::from(self.bytes.byte() % 5));
        let (kind, count) = (self.bytes.byte() % 4, usize::from(self.bytes.byte()) * 4);
        let (mut deadline, step) = (self.deadline(), self.bytes.choose(&[0, 0, 1, 1 << 17]));
        let indexes = (from..self.indexes).chain(0..from);
        for index in indexes.step_by(stride).take(count) {
            let Pair { wheel, model } = &mut self.pair;
            if kind == 0 {
                assert_eq!(wheel.cancel(index), model.cancel(index));
            } else if kind > 1 || wheel.is_scheduled(index) {
                wheel.set(index, deadline);
                model.set(index, deadline);
                deadline = deadline.saturating_add(step);
            }
        }
        self.pair.check();
    }

    /// One call, whose budget bounds how often a timer may be rearmed to a time that has passed.
    fn advance_with(&mut self) {
        let (to, budget) = (self.jump(), self.budget());
        let budget = budget.with_fires(budget.fires.min(50));
        let (again, stop) = (1 + u32::from(self.bytes.byte() % 4), self.bytes.byte());
        let later = self.deadline();
        self.pair.advance_with(to, budget, |nth, due| {
            if nth == usize::from(stop) {
                Verdict::Stop
            } else if due.index % again == 1 {
                Verdict::Rearm(later.saturating_add(due.index.into()))
            } else {
                Verdict::Remove
            }
        });
    }

    /// Calls of one budget until no backlog is left, each of which does something.
    fn advance_to_end(&mut self) {
        let (to, work) = (self.jump(), self.bytes.choose(&[1, 2, 7, 40, 300]));
        let budget = Budget::of_work(work);
        let mut calls = 0..10_000;
        while self.pair.advance_with(to, budget, |_, _| Verdict::Remove) {
            assert!(calls.next().is_some(), "a backlog comes to an end");
        }
    }

    fn shrink_or_reserve(&mut self) {
        let (before, wheel) = (self.pair.wheel.stats().bytes, &mut self.pair.wheel);
        let indexes = usize::from(self.bytes.short()) % 6_000;
        if indexes < 3_000 {
            wheel.shrink_to_fit();
            assert!(wheel.stats().bytes <= before);
        } else {
            wheel.reserve(indexes);
            assert!(wheel.stats().bytes >= 24 * indexes);
        }
        self.pair.check();
    }
}
