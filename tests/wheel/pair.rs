//! The pair: a wheel and its model, run through the same operations and compared in everything
//! that can be observed. The module above says which wheel, in `subject`.

// By path, as the fuzz targets include this file by path.
#[path = "pair/advances.rs"]
mod advances;
#[path = "pair/comparison.rs"]
mod comparison;
#[path = "pair/operations.rs"]
mod operations;

use std::collections::HashSet;

use timer_wheel::{Budget, Geometry, Lane, TimerKey};

use super::subject::{DueTimer, IS_WHEEL, Subject, reload};
use crate::geometries::{few, rotation_bits};
use crate::model::Model;
use crate::script::{Op, Pick, Road, When, lane};

/// The far timers count as a level.
pub(crate) const LEVELS: usize = 5;

/// Serializes a wheel and reads it back.
pub(crate) type Reload<G> = fn(Subject<G>, Road) -> Subject<G>;

/// Lets a wheel's order numbers run out after that many more; does nothing where the library is not
/// built for it.
pub(crate) type Exhaust<G> = fn(&mut Subject<G>, u8);

/// A wheel and its model. Values are numbers that differ from timer to timer.
pub(crate) struct Pair<G: Geometry> {
    pub(crate) wheel: Subject<G>,
    pub(crate) model: Model<u64>,
    /// Every key ever given out, in that order.
    keys: Vec<TimerKey>,
    /// The same, to find them.
    known: HashSet<TimerKey>,
    reload: Reload<G>,
    exhaust: Exhaust<G>,
    /// The lane that whatever schedules or reschedules names.
    lane: Option<Lane>,
    /// The number of lanes that the wheel has.
    lanes: u8,
    /// Comparisons that found timers in lanes.
    pub(crate) in_lanes: usize,
    /// Comparisons that found timers moved ahead of their time, out of a crowded bucket.
    pub(crate) moved_ahead: usize,
    /// Comparisons that found timers in each of the first three far buckets.
    pub(crate) far: [usize; 3],
    /// Timers that sent the near heap back to the levels, because the earliest had been asked for before.
    pub(crate) sent_back: usize,
    /// What was seen of the wheel, in one number.
    pub(crate) trace: u64,
    /// Wake-ups that the contract allows and that were not used.
    wake_ups: usize,
    /// Whether the last advance was dropped, or its budget used up, before it was done.
    is_behind: bool,
    rounds: usize,
}

impl<G: Geometry> Clone for Pair<G> {
    fn clone(&self) -> Self {
        let (wheel, model) = (self.wheel.clone(), self.model.clone());
        Self { wheel, model, keys: self.keys.clone(), known: self.known.clone(), ..*self }
    }
}

impl<G: Geometry> Pair<G> {
    /// The wake-ups that the contract allows for a timer: one for each level and one to fire. Beyond the levels one for
    /// each bit of its rotation, which half a crowd shares.
    const WAKE_UPS: usize = LEVELS + 1 + (rotation_bits::<G>() as usize).div_ceil(few::<G>() / 2);

    pub(crate) fn new(start: u64) -> Self {
        Self {
            wheel: Subject::with_geometry(start),
            model: Model::new(start),
            keys: Vec::new(),
            known: HashSet::new(),
            reload,
            exhaust: |_, _| {},
            lane: None,
            lanes: 0,
            in_lanes: 0,
            moved_ahead: 0,
            far: [0; 3],
            sent_back: 0,
            trace: 0,
            wake_ups: 0,
            is_behind: false,
            rounds: 0,
        }
    }

    /// A wheel that has a past. Its timers are live, and no other keys are known.
    #[allow(dead_code, reason = "only wheels with keys are stored")]
    pub(crate) fn resume(wheel: Subject<G>) -> Self {
        let (mut pair, mut held, mut released) = (Self::new(wheel.now()), Vec::new(), wheel.clone());
        held.extend(wheel.iter().map(|timer| timer.key).filter(|&key| released.release(key)));
        for timer in released.ascending() {
            pair.know(timer.key, timer.deadline, *timer.value);
        }
        held.into_iter().for_each(|key| pair.model.hold(key));
        Self { wheel, ..pair }
    }

    /// With a way to let the order numbers run out.
    #[allow(dead_code, reason = "for the fuzz targets")]
    pub(crate) fn exhausting(self, exhaust: Exhaust<G>) -> Self {
        Self { exhaust, ..self }
    }

    /// Runs a whole script, and the wheel empty at its end.
    pub(crate) fn run(&mut self, ops: &[Op]) {
        self.compare();
        for op in ops {
            self.apply(op);
        }
        self.finish();
    }

    /// Runs one operation on both and compares everything observable.
    pub(crate) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Schedule(at) => self.schedule(self.resolve(at)),
            Op::Storm(from, step, count) => self.storm(self.resolve(from), step, count),
            Op::Cancel(pick) => self.cancel(self.pick(pick)),
            Op::CancelMany(stride) => {
                let keys = self.every(stride).into_iter();
                keys.for_each(|key| self.cancel(Some(key)));
            }
            Op::Reschedule(pick, to) => self.reschedule(self.pick(pick), self.resolve(to)),
            Op::RescheduleMany(stride, to) => {
                let (keys, to) = (self.every(stride).into_iter(), self.resolve(to));
                keys.for_each(|key| self.reschedule(Some(key), to));
            }
            Op::RescheduleOrInsert(pick, to) => {
                self.reschedule_or_insert(self.pick(pick), self.resolve(to));
            }
            Op::Churn { from, step, count, lag, keep } => self.churn(self.resolve(from), step, count, lag, keep),
            Op::Retain(stride) => self.retain(u64::from(stride) + 1),
            Op::Advance(to) => self.advance(self.resolve(to)),
            Op::AdvanceDropped(to, taken) => self.pull(self.resolve(to), taken.into()),
            Op::AdvanceBudgeted(to, budget, calls) => {
                let to = self.resolve(to);
                for _ in 0..=calls {
                    self.advance_budgeted(to, budget);
                    self.compare();
                }
            }
            Op::AdvanceToEnd(to, work) => self.advance_to_end(self.resolve(to), work.max(1)),
            Op::AdvanceWith(to, budget, rule) => self.advance_with(self.resolve(to), budget, rule, usize::MAX),
            Op::Hold(..) | Op::Release(..) if !IS_WHEEL => {}
            Op::Hold(to, count) => self.hold(self.resolve(to), count),
            Op::Release(nth, pick) => {
                let held = self.model.held();
                let nth = usize::from(nth).checked_rem(held.len());
                self.release(nth.map_or_else(|| self.pick(pick), |nth| Some(held[nth])));
            }
            Op::Prepare(to, work) => self.prepare(self.resolve(to), work),
            Op::Pop(to) => self.pull(self.resolve(to), 1),
            Op::PeekExpired(to, nth, rule) => {
                self.advance_with(self.resolve(to), Budget::unlimited(), rule, nth.into());
            }
            Op::PopFirst => self.pop_first(),
            Op::PeekFirst => self.peek_first(),
            Op::Overtake(count) => self.overtake(count),
            Op::Evict(at, count) => {
                for _ in 0..count {
                    self.pop_first();
                    self.schedule(self.resolve(at));
                }
            }
            Op::PopAndSchedule(to, count) => self.pop_and_schedule(self.resolve(to), count),
            Op::Drive(wake_ups, within) => self.drive(wake_ups, within),
            Op::Clear => self.clear(),
            Op::Drain(taken) => self.drain(taken),
            Op::Shrink => self.wheel.shrink_to_fit(),
            Op::Reserve(additional) => self.reserve(usize::from(additional)),
            Op::Reload(road) => self.pass_through(road),
            Op::Exhaust(left) => (self.exhaust)(&mut self.wheel, left),
            Op::Touch(pick) => self.touch(self.pick(pick)),
            Op::AddLane => self.add_lane(),
            Op::Lane(number) => self.lane = number.map(lane),
        }
        self.compare();
    }

    /// Looks at every key ever given out, fires all that is left and looks at what remains.
    pub(crate) fn finish(&mut self) {
        for at in 0..self.keys.len() {
            self.compare_key(self.keys[at]);
        }
        self.advance(u64::MAX);
        self.compare();
        self.model.held().into_iter().for_each(|key| self.release(Some(key)));
        self.compare();
        self.advance(u64::MAX);
        self.compare();
        assert!(self.wheel.is_empty(), "a timer outlived the end of time");
        for &key in &self.keys {
            assert!(!self.wheel.contains(key), "{key:?} is alive when all fired");
            assert_eq!(self.wheel.cancel(key), None, "{key:?} cancelled when fired");
        }
        self.compare();
    }

    pub(crate) fn resolve(&self, when: When) -> u64 {
        when.resolve(self.model.now(), |nth| {
            let key = self.model.nth(nth)?;
            self.model.get(key).map(|timer| timer.deadline)
        })
    }

    fn pick(&self, pick: Pick) -> Option<TimerKey> {
        match pick {
            Pick::Live(nth) => self.model.nth(usize::from(nth)),
            Pick::Any(age) => {
                let back = usize::from(age).checked_rem(self.keys.len())?;
                Some(self.keys[self.keys.len() - 1 - back])
            }
        }
    }

    fn every(&self, stride: u8) -> Vec<TimerKey> {
        let keys = self.model.ascending().map(|(key, _)| key);
        keys.step_by(usize::from(stride) + 1).collect()
    }
}
