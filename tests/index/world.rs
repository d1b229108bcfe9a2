//! Random histories of index wheels: bytes that say what is called, and what the answers are compared with.

use std::collections::BTreeMap;

use timer_wheel::index::{IndexWheel, Timer, Timers};
use timer_wheel::{Budget, Geometry, Verdict};

use crate::shelf::Shelf;

/// Records that the store may lie about. Those behind them are honest.
const LIARS: u32 = 12;
const HONEST: u32 = 60;

/// What a store may do besides what it has to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lies {
    /// Nothing.
    None,
    /// Whatever comes to mind with some of the records: free, replace, swap, keep for later, schedule them
    /// elsewhere too.
    OfSome,
    /// The same with all of them, and the wrong store is passed.
    OfAll,
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

    /// A span of time of any order of magnitude.
    fn span(&mut self) -> u64 {
        let (bits, low) = (self.byte(), self.byte());
        let power = 1_u64 << (bits % 64);
        match bits / 64 {
            0 => power,
            1 => power - 1,
            2 => power.saturating_add(low.into()),
            _ => u64::from(low) << (bits % 40),
        }
    }
}

/// Two wheels, two stores, and what the first wheel is to do for the honest records of the first store.
struct World<G: Geometry> {
    lies: Lies,
    wheels: [IndexWheel<G>; 2],
    stores: [Shelf; 2],
    /// The honest timers by deadline and when they were last scheduled.
    model: BTreeMap<(u64, u64), u32>,
    scheduled: u64,
    kept: Vec<Timer>,
}

/// Runs the history that the bytes tell, and then lets everything fire.
pub(crate) fn run<G: Geometry>(lies: Lies, bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let start = match bytes.byte() % 4 {
        0 => 0,
        1 => 1 << 40,
        2 => bytes.span(),
        _ => u64::MAX - bytes.span(),
    };
    let new = || IndexWheel::with_geometry(start);
    let mut world = World::<G> {
        lies,
        wheels: [new(), new()],
        stores: [Shelf::new(LIARS + HONEST), Shelf::new(LIARS)],
        model: BTreeMap::new(),
        scheduled: 0,
        kept: Vec::new(),
    };
    while !bytes.0.is_empty() {
        world.step(&mut bytes);
    }
    world.end();
}

impl<G: Geometry> World<G> {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.byte() % 24 {
            0..=5 => self.schedule(bytes),
            6..=7 => self.cancel(bytes),
            8..=10 => self.advance(bytes),
            11 => self.advance_with(bytes),
            12 => self.take_first(),
            13 => self.rearm(bytes),
            14 => self.wheels[0].shrink_to_fit(&mut self.stores[0]),
            _ if self.lies != Lies::None => self.lie(bytes),
            _ => {}
        }
        self.check();
    }

    /// The order of the honest timers is exact, whatever the others do.
    fn is_exact(&self) -> bool {
        self.lies != Lies::OfAll
    }

    fn check(&mut self) {
        let wheel = &self.wheels[0];
        if self.lies == Lies::None {
            wheel.check_invariants(&mut self.stores[0]);
            assert_eq!(wheel.len(), self.model.len());
        }
        if self.is_exact() {
            assert!(wheel.len() >= self.model.len(), "no honest timer is lost");
            if let Some((&(first, _), _)) = self.model.first_key_value() {
                let delay = wheel.expiration_delay().expect("there are timers");
                let due = wheel.now().saturating_add(delay);
                assert!(due <= first.max(wheel.now()), "the wake-up is not late");
            }
        }
        assert_eq!(wheel.is_empty(), wheel.expiration_delay().is_none());
    }

    fn schedule(&mut self, bytes: &mut Bytes<'_>) {
        let index = LIARS + u32::from(bytes.byte()) % HONEST;
        let deadline = self.deadline(bytes);
        self.forget(index);
        if self.stores[0].timer(index).is_none() {
            self.stores[0].replace(index, Some(Timer::new()));
        }
        self.wheels[0].schedule(&mut self.stores[0], index, deadline);
        self.remember(index, deadline);
        let timer = self.stores[0].timer(index).expect("it was just scheduled");
        assert_eq!(timer.deadline(), Some(deadline));
    }

    fn deadline(&self, bytes: &mut Bytes<'_>) -> u64 {
        match bytes.byte() % 8 {
            0 => bytes.span(),
            1 => u64::MAX - bytes.span(),
            // Often the same, so that there are crowds.
            2..=4 => {
                self.wheels[0]
                    .now()
                    .saturating_add(1 << (bytes.byte() % 34))
                    | 0xffff
            }
            _ => self.wheels[0].now().saturating_add(bytes.span()),
        }
    }

    fn remember(&mut self, index: u32, deadline: u64) {
        self.model.insert((deadline, self.scheduled), index);
        self.scheduled += 1;
    }

    fn forget(&mut self, index: u32) -> bool {
        let before = self.model.len();
        self.model.retain(|_, &mut it| it != index);
        self.model.len() != before
    }

    fn cancel(&mut self, bytes: &mut Bytes<'_>) {
        let index = LIARS + u32::from(bytes.byte()) % HONEST;
        let was_scheduled = self.forget(index);
        let cancelled = self.wheels[0].cancel(&mut self.stores[0], index);
        assert!(cancelled == was_scheduled || !self.is_exact());
    }

    /// Takes note of a timer that fired.
    fn fired(&mut self, index: u32, deadline: u64) {
        if index < LIARS || !self.is_exact() {
            return;
        }
        let first = self.model.pop_first();
        let ((expected, _), first) = first.expect("what fires was scheduled");
        assert_eq!((index, deadline), (first, expected), "the order is exact");
    }

    /// Nothing honest is left that is due.
    fn assert_fired_until(&self, now: u64) {
        let first = self.model.first_key_value();
        let is_due = first.is_some_and(|(&(deadline, _), _)| deadline <= now);
        assert!(!is_due || !self.is_exact(), "all that is due fires");
    }

    fn advance(&mut self, bytes: &mut Bytes<'_>) {
        let most = self.wheels[0].now().saturating_add(bytes.span());
        let pops = usize::from(bytes.byte());
        for pop in 0.. {
            if pop == pops {
                return;
            }
            let [wheel, _] = &mut self.wheels;
            let Some((index, deadline)) = wheel.pop_expired(&mut self.stores[0], most) else {
                break;
            };
            assert!(deadline <= wheel.now() || !self.is_exact());
            self.fired(index, deadline);
        }
        self.assert_fired_until(self.wheels[0].now());
    }

    fn advance_with(&mut self, bytes: &mut Bytes<'_>) {
        let now = self.wheels[0].now().saturating_add(bytes.span());
        let budget = Budget::of_work(usize::from(bytes.byte())).with_fires(20);
        let (again, later) = (bytes.byte(), bytes.span());
        let mut verdicts = Vec::new();
        let [wheel, _] = &mut self.wheels;
        let progress =
            wheel.advance_with(&mut self.stores[0], now, budget, |_, index, deadline| {
                let rearmed = index % 7 == u32::from(again) % 7;
                let to = rearmed.then(|| now.saturating_add(later));
                verdicts.push((index, deadline, to));
                to.map_or(Verdict::Remove, Verdict::Rearm)
            });
        let has_backlog = progress.has_backlog;
        assert_eq!(progress.fired, verdicts.len());
        for (index, deadline, to) in verdicts {
            self.fired(index, deadline);
            if let Some(to) = to.filter(|_| index >= LIARS) {
                self.remember(index, to);
            }
        }
        if !has_backlog {
            self.assert_fired_until(self.wheels[0].now());
        }
    }

    fn take_first(&mut self) {
        let [wheel, _] = &mut self.wheels;
        let peeked = wheel.peek_first(&mut self.stores[0]);
        let popped = wheel.pop_first(&mut self.stores[0]);
        assert_eq!(peeked, popped);
        match popped {
            Some((index, deadline)) => self.fired(index, deadline),
            None => assert!(self.wheels[0].is_empty()),
        }
    }

    fn rearm(&mut self, bytes: &mut Bytes<'_>) {
        let (now, to) = (self.wheels[0].now(), bytes.span());
        let to = now.saturating_add(to);
        let [wheel, _] = &mut self.wheels;
        let Some(due) = wheel.peek_expired(&mut self.stores[0], now) else {
            return self.assert_fired_until(now);
        };
        let (index, deadline) = (due.index(), due.deadline());
        if to % 3 == 0 {
            return; // It stays due.
        }
        due.rearm(to);
        self.fired(index, deadline);
        if index >= LIARS {
            self.remember(index, to);
        }
    }

    /// What a store must not do.
    fn lie(&mut self, bytes: &mut Bytes<'_>) {
        let (kind, any) = (bytes.byte(), self.lies == Lies::OfAll);
        let records = if any { LIARS + HONEST } else { LIARS };
        let (a, b) = (
            u32::from(bytes.byte()) % records,
            u32::from(bytes.byte()) % records,
        );
        // A wheel moves other records than the one it is told of: with the wrong store it is lied to about
        // every one of them.
        let (wheel, store) = match (kind / 16) % 4 {
            0 => (0, 0),
            1 => (1, 0),
            2 if any => (0, 1),
            _ => (1, 1),
        };
        let deadline = self.deadline(bytes);
        let stores = &mut self.stores;
        let in_store = stores[store].timer(a).is_some();
        match kind % 16 {
            0..=3 if in_store => self.wheels[wheel].schedule(&mut stores[store], a, deadline),
            4 => drop(self.wheels[wheel].cancel(&mut stores[store], a)),
            5 => drop(stores[0].replace(a, None)),
            6..=7 => drop(stores[0].replace(a, Some(Timer::new()))),
            8 => stores[0].swap(a, b),
            9 => self.kept.extend(stores[0].replace(a, None)),
            10 => drop(stores[0].replace(a, self.kept.pop())),
            11 if a < LIARS => {
                let of_other = stores[1].replace(a, None);
                let of_this = stores[0].replace(a, of_other);
                stores[1].replace(a, of_this);
            }
            12 => drop(self.wheels[1].pop_first(&mut stores[store])),
            13 => drop(self.wheels[1].pop_expired(&mut stores[store], deadline)),
            14 => self.wheels[1].shrink_to_fit(&mut stores[store]),
            15 if any => self.wheels[wheel].clear(&mut stores[store]),
            _ => {}
        }
    }

    /// Lets everything fire. The entries of liars are dropped by then at the latest.
    fn end(mut self) {
        let mut left = self.wheels[0].len();
        loop {
            let [wheel, _] = &mut self.wheels;
            let Some((index, deadline)) = wheel.pop_expired(&mut self.stores[0], u64::MAX) else {
                break;
            };
            left = left.checked_sub(1).expect("each entry fires once");
            self.fired(index, deadline);
        }
        self.assert_fired_until(u64::MAX);
        let [wheel, other] = &mut self.wheels;
        assert!(wheel.is_empty() && wheel.expiration_delay().is_none());
        let mut left = other.len();
        while other.pop_first(&mut self.stores[1]).is_some() {
            left = left.checked_sub(1).expect("each entry fires once");
        }
        assert_eq!(other.len(), 0);
    }
}
