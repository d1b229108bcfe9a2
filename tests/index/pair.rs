//! The pair: an index wheel and its model, run through the scripts of the wheel and compared after each operation.

use timer_wheel::index::{Due, DueIndex, IndexWheel};
use timer_wheel::{Budget, Geometry, Lane};

use crate::model::Model;
use crate::script::{MAX_LANES, Op, Pick, Rule, Script, Verdict, When, lane};

/// How many indexes a script may use. The last is enough for a crowd in each geometry.
pub(crate) const INDEXES: [u32; 4] = [6, 60, 250, 1_000];

/// A wheel and its model.
pub(crate) struct Pair<G: Geometry> {
    wheel: IndexWheel<G>,
    model: Model<(), u32>,
    indexes: u32,
    /// The lane that whatever sets an index names.
    lane: Option<Lane>,
    /// The number of lanes that the wheel has.
    lanes: u8,
    /// The index that is set next, whether it is scheduled or not.
    next: u32,
}

/// Runs a script with so many indexes, and lets everything fire in the end.
pub(crate) fn run<G: Geometry>(script: &Script, indexes: u32) {
    let (wheel, model) = (IndexWheel::with_geometry(script.start), Model::new(script.start));
    let mut pair = Pair::<G> { wheel, model, indexes, lane: None, lanes: 0, next: 0 };
    pair.compare();
    for op in &script.ops {
        pair.apply(op);
        pair.compare();
    }
    pair.advance(u64::MAX, Budget::unlimited(), usize::MAX);
    pair.compare();
    assert!(pair.wheel.is_empty());
}

impl<G: Geometry> Pair<G> {
    /// Panics when the two can be told apart.
    fn compare(&self) {
        let (wheel, model) = (&self.wheel, &self.model);
        wheel.check_invariants();
        assert_eq!((wheel.now(), wheel.len()), (model.now(), model.len()));
        assert_eq!(wheel.is_empty(), model.is_empty());
        let next = model.next_deadline();
        assert_eq!(wheel.next_deadline(), next);
        let delay = wheel.expiration_delay();
        let wake_at = delay.map(|delay| model.now() + delay);
        assert_eq!(wheel.wake_at(), wake_at);
        assert_eq!(delay.is_some(), next.is_some(), "a delay says whether");
        assert!(wake_at <= next.map(|next| next.max(model.now())), "late");
        assert_eq!(wheel.has_backlog(), delay == Some(0), "a backlog");
        assert!(wheel.has_backlog() || !model.has_due(), "it is denied");
        assert_eq!(wheel.ascending().len(), model.len());
        let order = || model.ascending().map(|(index, it)| due(index, it.deadline));
        assert!(wheel.ascending().eq(order()), "ascending");
        for index in (0..=self.indexes).chain([u32::MAX]) {
            let deadline = model.get(index).map(|timer| timer.deadline);
            assert_eq!(wheel.deadline(index), deadline, "{index}");
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Schedule(at) | Op::RescheduleOrInsert(_, at) => {
                self.storm(self.resolve(at), 0, 1);
            }
            Op::Storm(from, step, count) => self.storm(self.resolve(from), step, count.into()),
            Op::Cancel(pick) => self.cancel(self.pick(pick)),
            Op::CancelMany(stride) | Op::Retain(stride) => {
                let indexes = self.every(stride).into_iter();
                indexes.for_each(|index| self.cancel(Some(index)));
            }
            Op::Reschedule(pick, to) => {
                let (index, to) = (self.pick(pick), self.resolve(to));
                index.into_iter().for_each(|index| self.set(index, to));
            }
            Op::RescheduleMany(stride, to) => {
                let (indexes, to) = (self.every(stride).into_iter(), self.resolve(to));
                indexes.for_each(|index| self.set(index, to));
            }
            Op::Churn { from, step, count, lag, .. } => {
                let from = self.resolve(from);
                for nth in 0..u64::from(count) {
                    self.storm(from.saturating_add(step.saturating_mul(nth % 16)), 0, 1);
                    let before = self.next + self.indexes - 1 - u32::from(lag) % self.indexes;
                    self.cancel(Some(before % self.indexes));
                }
            }
            Op::Advance(to) => _ = self.advance(self.resolve(to), Budget::unlimited(), usize::MAX),
            Op::AdvanceDropped(to, taken) => {
                self.advance(self.resolve(to), Budget::unlimited(), taken.into());
            }
            Op::AdvanceBudgeted(to, budget, _) => {
                self.advance(self.resolve(to), budget, usize::MAX);
            }
            Op::AdvanceToEnd(to, work) => {
                let (to, budget) = (self.resolve(to), Budget::of_work(work.max(1)));
                let mut calls = 0..100_000;
                while self.advance(to, budget, usize::MAX) {
                    assert!(calls.next().is_some(), "a backlog comes to an end");
                }
            }
            Op::AdvanceWith(to, budget, rule) => self.advance_with(self.resolve(to), budget, rule, usize::MAX),
            Op::Pop(to) => _ = self.advance(self.resolve(to), Budget::unlimited(), 1),
            Op::PeekExpired(to, nth, rule) => {
                self.advance_with(self.resolve(to), Budget::unlimited(), rule, nth.into());
            }
            Op::PopFirst => self.first(true),
            Op::PeekFirst => self.first(false),
            Op::Overtake(count) => {
                self.first(false);
                let (now, first) = (self.model.now(), self.model.next_deadline());
                let step = first.unwrap_or(now).saturating_sub(now) / u64::from(count.max(1));
                self.storm(now, step, count.into());
            }
            Op::Evict(at, count) => {
                for _ in 0..count {
                    self.first(true);
                    self.storm(self.resolve(at), 0, 1);
                }
            }
            Op::PopAndSchedule(to, count) => {
                let to = self.resolve(to);
                for nth in 0..u64::from(count) {
                    self.advance(to, Budget::unlimited(), 1);
                    self.storm(self.model.now().saturating_add(nth % 3), 0, 1);
                }
                while self.advance(to, Budget::unlimited(), 1) {}
            }
            Op::Drive(wake_ups, within) => {
                for _ in 0..wake_ups {
                    let delay = self.wheel.expiration_delay();
                    let Some(delay) = delay.filter(|&delay| delay <= within) else {
                        return;
                    };
                    let to = self.model.now() + delay;
                    self.advance(to, Budget::unlimited(), usize::MAX);
                }
            }
            Op::Clear | Op::Drain(_) => {
                self.wheel.clear();
                self.model.clear();
            }
            Op::Shrink => {
                let before = self.wheel.stats().bytes;
                self.wheel.shrink_to_fit();
                assert!(self.wheel.stats().bytes <= before);
            }
            Op::Reserve(additional) => {
                let additional = usize::from(additional) * 16;
                let indexes = self.wheel.stats().slots + additional;
                self.wheel.reserve(additional);
                assert!(self.wheel.stats().bytes >= 24 * indexes);
            }
            // Goes on with a copy, once the original has fired everything.
            Op::Reload(_) => {
                let copy = self.wheel.clone();
                let all = self.wheel.advance(u64::MAX);
                let order = self.model.ascending();
                assert!(all.eq(order.map(|(index, it)| due(index, it.deadline))));
                self.wheel.check_invariants();
                self.wheel = copy;
            }
            Op::AddLane if self.lanes != MAX_LANES => {
                self.lane = Some(self.wheel.add_lane());
                self.lanes += 1;
            }
            Op::Lane(number) => self.lane = number.map(lane),
            Op::AddLane | Op::Exhaust(_) | Op::Touch(_) | Op::Hold(..) | Op::Release(..) | Op::Prepare(..) => {}
        }
    }

    fn resolve(&self, when: When) -> u64 {
        when.resolve(self.model.now(), |nth| {
            let index = self.model.nth(nth)?;
            self.model.get(index).map(|timer| timer.deadline)
        })
    }

    fn pick(&self, pick: Pick) -> Option<u32> {
        match pick {
            Pick::Live(nth) => self.model.nth(nth.into()),
            Pick::Any(age) => Some(u32::from(age) % self.indexes),
        }
    }

    fn every(&self, stride: u8) -> Vec<u32> {
        let indexes = self.model.ascending().map(|(index, _)| index);
        indexes.step_by(usize::from(stride) + 1).collect()
    }

    fn set(&mut self, index: u32, deadline: u64) {
        match self.lane {
            Some(lane) => self.wheel.set_in(lane, index, deadline),
            None => self.wheel.set(index, deadline),
        }
        if !self.model.reschedule(index, deadline) {
            self.model.schedule(index, deadline, ());
        }
    }

    fn storm(&mut self, from: u64, step: u64, count: u64) {
        for nth in 0..count {
            self.set(self.next, from.saturating_add(step.saturating_mul(nth)));
            self.next = (self.next + 1) % self.indexes;
        }
    }

    fn cancel(&mut self, index: Option<u32>) {
        let Some(index) = index else { return };
        assert_eq!(self.wheel.cancel(index), self.model.cancel(index).is_some());
    }

    /// Pulls at most so many items of an advance, and says whether a backlog is left.
    fn advance(&mut self, now: u64, budget: Budget, most: usize) -> bool {
        self.model.set_clock(now);
        let (mut fired, mut left) = (0, budget);
        for item in self.wheel.advance_with_budget(now, &mut left).take(most) {
            let expected = self.model.pop_due();
            assert_eq!(Some(item), expected.map(|(index, at, ())| due(index, at)));
            fired += 1;
        }
        assert!(fired + left.work <= budget.work && left.fires == budget.fires - fired);
        let has_backlog = self.wheel.has_backlog();
        let is_complete = fired < most && !has_backlog;
        assert!(!is_complete || !self.model.has_due(), "what is due");
        let is_stopped = fired == most || left.fires == 0 || left.work == 0;
        assert!(is_stopped || !has_backlog, "a backlog and budget left");
        has_backlog
    }

    /// Looks twice at each timer that is due, and does what the rule says, until `stop` have fired.
    fn advance_with(&mut self, now: u64, budget: Budget, rule: Rule, stop: usize) {
        self.model.set_clock(now);
        let most = 2 * self.model.len() + 50;
        let (mut asked, mut is_stopped, mut left) = (0, false, budget);
        let model = &mut self.model;
        while let Some(shown) = self.wheel.peek_expired_with_budget(now, &mut left) {
            let (index, deadline) = (shown.index(), shown.deadline());
            assert_eq!(model.first_due(), Some(index), "the first that is due");
            assert_eq!(model.get(index).map(|it| it.deadline), Some(deadline));
            let shown = self.wheel.peek_expired(now).expect("it is still due");
            assert_eq!((shown.index(), shown.deadline()), (index, deadline));
            let verdict = if asked == stop { Verdict::Stop } else { rule.answer(asked, deadline, model.now()) };
            asked += 1;
            match verdict {
                Verdict::Stop => {
                    is_stopped = true;
                    break;
                }
                Verdict::Rearm(to) if asked <= most => {
                    rearm(shown, self.lane, to);
                    model.reschedule(index, to);
                }
                _ => {
                    assert_eq!(shown.remove(), due(index, deadline));
                    model.cancel(index);
                }
            }
        }
        assert!(asked + left.work <= budget.work && left.fires == budget.fires - asked);
        assert!(self.wheel.has_backlog() || !is_stopped);
    }

    /// Looks at the earliest timer, due or not, and perhaps takes it.
    fn first(&mut self, is_taken: bool) {
        let first = self.model.ascending().next();
        let first = first.map(|(index, it)| due(index, it.deadline));
        assert_eq!(self.wheel.peek_first(), first, "the earliest");
        if let Some(first) = first.filter(|_| is_taken) {
            assert_eq!(self.wheel.pop_first(), Some(first), "the earliest");
            self.model.cancel(first.index);
        }
    }
}

fn rearm<G: Geometry>(due: DueIndex<'_, G>, lane: Option<Lane>, deadline: u64) {
    match lane {
        Some(lane) => due.rearm_in(lane, deadline),
        None => due.rearm(deadline),
    }
}

fn due(index: u32, deadline: u64) -> Due {
    Due { index, deadline }
}
