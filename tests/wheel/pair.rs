//! The pair: a wheel and its model, run through the same operations and compared in everything
//! that can be observed.

use std::collections::{HashSet, VecDeque};

use timer_wheel::inspect::Level;
use timer_wheel::{Budget, Expired, Geometry, TimerKey, Verdict, Wheel};

use crate::geometries::few;
use crate::model::{Model, Timer};
use crate::script::{Op, Pick, Road, Rule, When};

/// The far timers count as a level.
pub(crate) const LEVELS: usize = 5;

/// What one timer may cost while an advance passes it: a visit on each level, the sorting and the firing, all
/// of it once more when it was postponed.
const VISITS: usize = 2 * (LEVELS + 2);

/// Serializes a wheel and reads it back; without that feature, gives back the same wheel.
pub(crate) type Reload<G> = fn(Wheel<u64, G>, Road) -> Wheel<u64, G>;

/// Lets a wheel's order numbers run out after that many more; does nothing where the library is not
/// built for it.
pub(crate) type Exhaust<G> = fn(&mut Wheel<u64, G>, u8);

/// How often a burst of operations has everything checked, counted in operations.
const BURST_CHECK: u16 = 64;

/// A timer that fired: deadline and value.
pub(crate) type Fired = (u64, u64);

/// A wheel and its model. Values are numbers that differ from timer to timer.
pub(crate) struct Pair<G: Geometry> {
    pub(crate) wheel: Wheel<u64, G>,
    pub(crate) model: Model<u64>,
    /// Every key ever given out, in that order.
    keys: Vec<TimerKey>,
    /// The same, to find them.
    known: HashSet<TimerKey>,
    /// Everything that fired, in order.
    pub(crate) fired: Vec<Fired>,
    reload: Reload<G>,
    exhaust: Exhaust<G>,
    /// Comparisons that found timers moved ahead of their time, out of a crowded bucket.
    pub(crate) moved_ahead: usize,
    /// Wake-ups that the contract allows and that were not used.
    wake_ups: usize,
    /// Whether the last advance was dropped, or its budget used up, before it was done.
    is_behind: bool,
    rounds: usize,
}

impl<G: Geometry> Clone for Pair<G> {
    fn clone(&self) -> Self {
        Self {
            wheel: self.wheel.clone(),
            model: self.model.clone(),
            keys: self.keys.clone(),
            known: self.known.clone(),
            fired: self.fired.clone(),
            ..*self
        }
    }
}

/// One budgeted call, and what it left behind.
struct Call {
    yielded: usize,
    used: usize,
    /// Whether the iterator said that there is no more for now.
    ended: bool,
    has_backlog: bool,
}

impl<G: Geometry> Pair<G> {
    pub(crate) fn new(start: u64) -> Self {
        Self::with_reload(start, |wheel, _| wheel)
    }

    pub(crate) fn with_reload(start: u64, reload: Reload<G>) -> Self {
        Self {
            wheel: Wheel::with_geometry(start),
            model: Model::new(start),
            keys: Vec::new(),
            known: HashSet::new(),
            fired: Vec::new(),
            reload,
            exhaust: |_, _| {},
            moved_ahead: 0,
            wake_ups: 0,
            is_behind: false,
            rounds: 0,
        }
    }

    /// A wheel that has a past, and the model of what lives in it.
    #[allow(dead_code, reason = "for the fuzz targets")]
    pub(crate) fn resume(wheel: Wheel<u64, G>, model: Model<u64>, reload: Reload<G>) -> Self {
        let keys: Vec<TimerKey> = model.ascending().map(|(key, _)| key).collect();
        let fresh = Self::with_reload(model.now(), reload);
        Self {
            wheel,
            model,
            known: keys.iter().copied().collect(),
            wake_ups: keys.len() * (LEVELS + 1),
            keys,
            ..fresh
        }
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
            Op::Bunch { at, count } => self.storm(self.resolve(at), 0, count),
            Op::Storm { from, step, count } => self.storm(self.resolve(from), step, count),
            Op::FillToLimit { at, room } => self.fill_to_limit(self.resolve(at), room),
            Op::Cancel(pick) => self.cancel(self.pick(pick)),
            Op::CancelMany { stride } => {
                for key in self.every(stride) {
                    self.cancel(Some(key));
                }
            }
            Op::CancelTail { count } => {
                for key in self.tail(usize::from(count)) {
                    self.cancel(Some(key));
                }
            }
            Op::Reschedule(pick, to) => self.reschedule(self.pick(pick), self.resolve(to)),
            Op::Churn {
                from,
                step,
                count,
                lag,
                keep,
            } => {
                let from = self.resolve(from);
                self.churn(
                    |nth| from.saturating_add(step.saturating_mul(nth % 16)),
                    count,
                    lag,
                    keep,
                );
            }
            Op::Swing {
                stride,
                there,
                back,
                count,
            } => self.swing(stride, [self.resolve(there), self.resolve(back)], count),
            Op::RescheduleMany { stride, to } => {
                let deadline = self.resolve(to);
                for key in self.every(stride) {
                    self.reschedule(Some(key), deadline);
                }
            }
            Op::Set(pick, to) => self.set(self.pick(pick), self.resolve(to)),
            Op::Retain { stride } => self.retain(u64::from(stride) + 1),
            Op::Advance(to) => self.advance(self.resolve(to)),
            Op::AdvanceDropped { to, taken } => {
                self.advance_dropped(self.resolve(to), usize::from(taken));
            }
            Op::AdvanceBudgeted { to, budget, calls } => {
                let to = self.resolve(to);
                for _ in 0..=calls {
                    self.advance_budgeted(to, budget);
                    self.compare();
                }
            }
            Op::AdvanceToEnd { to, budget } => {
                self.advance_to_end(self.resolve(to), budget.max(1));
            }
            Op::AdvanceWith { to, budget, rule } => {
                self.advance_with(self.resolve(to), budget, rule);
            }
            Op::AdvanceFires { to, budget } => {
                self.advance_budgeted(self.resolve(to), budget);
            }
            Op::AdvanceWithFires { to, budget, rule } => {
                self.advance_with(self.resolve(to), budget, rule);
            }
            Op::AdvanceUntil { to, budget, nth } => {
                self.advance_until(self.resolve(to), budget, usize::from(nth));
            }
            Op::Pop(to) => self.pop(self.resolve(to)),
            Op::PeekExpired { to, nth, rule } => {
                self.peek_expired(self.resolve(to), usize::from(nth), rule);
            }
            Op::PopFirst => self.pop_first(),
            Op::PeekFirst => self.peek_first(),
            Op::Evict { at, count } => {
                for _ in 0..count {
                    self.pop_first();
                    self.schedule(self.resolve(at));
                }
            }
            Op::PopAndSchedule { to, count } => self.pop_and_schedule(self.resolve(to), count),
            Op::Drive { wake_ups, within } => self.drive(wake_ups, within),
            Op::Clear => self.clear(),
            Op::Drain { taken } => self.drain(taken),
            Op::Shrink => self.wheel.shrink_to_fit(),
            Op::Reserve(additional) => self.reserve(usize::from(additional)),
            Op::Reload(road) => self.pass_through(road),
            Op::Exhaust(left) => (self.exhaust)(&mut self.wheel, left),
            Op::Touch(pick) => self.touch(self.pick(pick)),
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

    fn tail(&self, count: usize) -> Vec<TimerKey> {
        let now = self.model.now();
        let is_due = |timer: &Timer<u64>| timer.deadline <= now || !self.model.has_due();
        let rest = self.model.ascending().filter(|(_, timer)| is_due(timer));
        let rest: Vec<TimerKey> = rest.map(|(key, _)| key).collect();
        rest.into_iter().rev().take(count).collect()
    }

    fn every(&self, stride: u8) -> Vec<TimerKey> {
        let keys = self.model.ascending().map(|(key, _)| key);
        keys.step_by(usize::from(stride) + 1).collect()
    }
}

/// The operations, each on both.
impl<G: Geometry> Pair<G> {
    pub(crate) fn schedule(&mut self, deadline: u64) {
        let value = self.keys.len() as u64;
        let key = if value % 2 == 0 {
            self.wheel.schedule(deadline, value)
        } else {
            let mut promised = None;
            let with = |key| {
                promised = Some(key);
                value
            };
            let key = self.wheel.schedule_with(deadline, with);
            assert_eq!(promised, Some(key), "schedule_with promised another key");
            key
        };
        self.know(key, deadline, value);
    }

    fn storm(&mut self, from: u64, step: u64, count: u8) {
        for nth in 0..u64::from(count) {
            self.schedule(from.saturating_add(step.saturating_mul(nth)));
        }
    }

    /// Timers that come and go, most of them in the order in which they came.
    fn churn(&mut self, deadline: impl Fn(u64) -> u64, count: u16, lag: u8, keep: u8) {
        let mut lingering = VecDeque::new();
        for nth in 0..count {
            self.schedule(deadline(u64::from(nth)));
            lingering.extend(self.keys.last().copied());
            if lingering.len() > usize::from(lag) {
                let oldest = lingering.pop_front();
                if keep == 0 || nth % u16::from(keep) != 0 {
                    self.cancel(oldest);
                }
            }
            self.compare_within_burst(nth);
        }
    }

    fn swing(&mut self, stride: u8, to: [u64; 2], count: u16) {
        let keys = self.every(stride);
        for (nth, &key) in (0..count).zip(keys.iter().cycle()) {
            let round = usize::from(nth) / keys.len();
            self.reschedule(Some(key), to[round % 2]);
            self.compare_within_burst(nth);
        }
    }

    /// What can be compared at little cost, and everything now and then.
    fn compare_within_burst(&mut self, nth: u16) {
        let exact = self.model.next_deadline();
        let exact = exact.map(|deadline| deadline.saturating_sub(self.model.now()));
        check_delay(self.wheel.expiration_delay(), exact, "expiration_delay");
        assert_eq!(self.wheel.len(), self.model.len(), "len");
        if nth % BURST_CHECK == BURST_CHECK - 1 {
            self.compare();
        }
    }

    fn fill_to_limit(&mut self, deadline: u64, room: u8) {
        self.wheel.set_limit(self.model.len() + usize::from(room));
        for _ in 0..room {
            let value = self.keys.len() as u64;
            match self.wheel.try_schedule(deadline, value) {
                Ok(key) => self.know(key, deadline, value),
                Err(_) => panic!("try_schedule refused below the limit"),
            }
        }
        match self.wheel.try_schedule(deadline, u64::MAX) {
            Ok(_) => panic!("try_schedule went past the limit"),
            Err(full) => assert_eq!(full.0, u64::MAX, "another value handed back"),
        }
        self.wheel.set_limit(usize::MAX);
    }

    /// Tells the model of a timer that the wheel accepted.
    fn know(&mut self, key: TimerKey, deadline: u64, value: u64) {
        self.model.schedule(key, deadline, value);
        assert!(self.known.insert(key), "{key:?} was given out twice");
        self.keys.push(key);
        self.wake_ups += LEVELS + 1;
    }

    fn cancel(&mut self, key: Option<TimerKey>) {
        let Some(key) = key else { return };
        assert_eq!(
            self.wheel.cancel(key),
            self.model.cancel(key),
            "cancel({key:?})"
        );
    }

    fn reschedule(&mut self, key: Option<TimerKey>, deadline: u64) {
        let Some(key) = key else { return };
        assert_eq!(
            self.wheel.reschedule(key, deadline),
            self.model.reschedule(key, deadline),
            "reschedule({key:?}, {deadline})"
        );
        self.wake_ups += LEVELS + 1;
    }

    fn set(&mut self, key: Option<TimerKey>, deadline: u64) {
        let value = self.keys.len() as u64;
        let mut place = key;
        let mut is_new = false;
        let set = self.wheel.reschedule_or_insert(&mut place, deadline, || {
            is_new = true;
            value
        });
        assert_eq!(place, Some(set), "the key is not written down");
        let is_live = key.is_some_and(|key| self.model.reschedule(key, deadline));
        assert_eq!(is_new, !is_live, "set({key:?})");
        if is_new {
            self.know(set, deadline, value);
        } else {
            assert_eq!(place, key, "a live timer got another key");
            self.wake_ups += LEVELS + 1;
        }
    }

    fn retain(&mut self, stride: u64) {
        let mut cancelled = Vec::new();
        let mut seen = 0;
        let model = &mut self.model;
        self.wheel.retain(|key, deadline, value| {
            let modelled = model.get_mut(key).expect("retain shows a dead timer");
            *value = value.wrapping_add(1 << 32);
            *modelled = modelled.wrapping_add(1 << 32);
            let timer = model.get(key).expect("it lives");
            assert_eq!((deadline, *value), (timer.deadline, timer.value));
            seen += 1;
            let is_kept = (*value as u32 as u64) % stride == 0;
            if !is_kept {
                cancelled.push(key);
            }
            is_kept
        });
        assert_eq!(seen, self.model.len(), "retain shows each once");
        for key in cancelled {
            self.model.cancel(key);
        }
    }

    fn touch(&mut self, key: Option<TimerKey>) {
        let Some(key) = key else { return };
        let value = self.wheel.get_mut(key);
        let modelled = self.model.get_mut(key);
        assert_eq!(value, modelled, "get_mut({key:?})");
        if let (Some(value), Some(modelled)) = (value, modelled) {
            *value = value.wrapping_add(1 << 32);
            *modelled = modelled.wrapping_add(1 << 32);
        }
    }

    fn advance(&mut self, to: u64) {
        self.model.set_clock(to);
        let mut advance = self.wheel.advance(to);
        for item in advance.by_ref() {
            fire(&mut self.model, &mut self.fired, item);
        }
        assert!(!advance.has_backlog(), "an unbounded advance left work");
        assert!(advance.next().is_none(), "an item after the end");
        drop(advance);
        self.check_progress();
    }

    fn advance_dropped(&mut self, to: u64, taken: usize) {
        self.is_behind = true;
        self.model.set_clock(to);
        for item in self.wheel.advance(to).take(taken) {
            fire(&mut self.model, &mut self.fired, item);
        }
    }

    /// One call with a budget, pulled to its end.
    fn advance_budgeted(&mut self, to: u64, budget: impl Into<Budget>) -> Call {
        let budget = budget.into();
        self.model.set_clock(to);
        let mut advance = self.wheel.advance_with_budget(to, budget);
        assert_eq!(advance.unused(), budget.work, "budget used before any work");
        let mut yielded = 0;
        let mut unused = budget.work;
        while let Some(item) = advance.next() {
            fire(&mut self.model, &mut self.fired, item);
            yielded += 1;
            assert!(
                advance.unused() < unused,
                "an item was yielded for no budget"
            );
            unused = advance.unused();
            let due = self.model.has_due();
            assert!(advance.has_backlog() || !due, "a backlog is denied");
        }
        assert!(advance.unused() <= unused, "budget came back");
        let call = Call {
            yielded,
            used: budget.work - advance.unused(),
            ended: advance.unused() > 0 && yielded < budget.fires,
            has_backlog: advance.has_backlog(),
        };
        for _ in 0..3 {
            assert!(advance.next().is_none(), "an item after the end");
        }
        assert_eq!(
            call.used,
            budget.work - advance.unused(),
            "work after the end"
        );
        drop(advance);
        assert!(yielded <= budget.fires, "more fires than the budget has");
        self.check_call(&call);
        call
    }

    fn check_call(&mut self, call: &Call) {
        assert!(call.yielded <= call.used, "more items than units of budget");
        if call.ended {
            assert!(!call.has_backlog, "stopped with a backlog and budget left");
        }
        if !call.has_backlog {
            self.check_progress();
            // With the last unit the last timer may have fired, and nobody has looked what is next.
            self.is_behind = !call.ended;
            return;
        }
        self.is_behind = true;
        let delay = self.wheel.expiration_delay();
        assert_eq!(delay, Some(0), "told to sleep on a backlog");
    }

    /// With no backlog, nothing due is left, and the next wake-up lies ahead.
    fn check_progress(&mut self) {
        self.is_behind = false;
        assert!(!self.model.has_due(), "no backlog, but a timer is due");
        assert_ne!(
            self.wheel.expiration_delay(),
            Some(0),
            "asked to wake up again at once, with nothing to do"
        );
    }

    fn advance_to_end(&mut self, to: u64, budget: usize) {
        // Every far rotation reached may look at every postponed timer again.
        let rotations = self.model.len() + 2;
        let bound = 2 * VISITS * (self.model.len() + 2) * rotations;
        for _ in 0..bound {
            let call = self.advance_budgeted(to, budget);
            if !call.has_backlog {
                return;
            }
            assert_eq!(call.used, budget, "a backlog, and budget not used");
        }
        panic!("still a backlog after {bound} calls");
    }

    fn advance_with(&mut self, to: u64, budget: impl Into<Budget>, rule: Rule) {
        let budget = budget.into();
        self.model.set_clock(to);
        let now = self.model.now();
        let most = 2 * self.model.len() + 50;
        let mut calls = Vec::new();
        let progress = self.wheel.advance_with(to, budget, |key, deadline, value| {
            let verdict = match calls.len() {
                nth if nth < most => rule.answer(nth, deadline, now),
                _ => Verdict::Remove,
            };
            assert!(calls.len() <= 4 * most, "a removed timer fires for ever");
            calls.push((key, deadline, *value, again(&verdict)));
            *value = value.wrapping_add(1 << 32);
            verdict
        });
        assert_eq!(progress.fired, calls.len(), "timers counted as fired");
        for (key, deadline, value, again) in calls {
            assert_eq!(self.model.first_due(), Some(key), "fired out of order");
            let timer = self.model.get(key).expect("due timers are live");
            assert_eq!((timer.deadline, timer.value), (deadline, value));
            self.fired.push((deadline, value));
            if let Some(modelled) = self.model.get_mut(key) {
                *modelled = modelled.wrapping_add(1 << 32);
            }
            match again {
                Some(next) => {
                    self.model.reschedule(key, next);
                    self.wake_ups += LEVELS + 1;
                }
                None => assert!(self.model.cancel(key).is_some()),
            }
        }
        assert!(progress.unused <= budget.work, "more budget than was given");
        assert!(progress.fired <= budget.fires, "more fires than given");
        self.check_call(&Call {
            yielded: progress.fired,
            used: budget.work - progress.unused,
            ended: progress.unused > 0 && progress.fired < budget.fires,
            has_backlog: progress.has_backlog,
        });
    }

    fn advance_until(&mut self, to: u64, budget: Budget, nth: usize) {
        self.is_behind = true;
        self.model.set_clock(to);
        let (mut asked, mut is_stopped) = (0, false);
        let progress = self.wheel.advance_with(to, budget, |key, _, value| {
            assert!(!is_stopped, "asked again after a stop");
            assert_eq!(self.model.first_due(), Some(key), "asked out of order");
            is_stopped = asked == nth;
            asked += 1;
            if is_stopped {
                return Verdict::Stop;
            }
            assert_eq!(self.model.pop_due().map(|due| due.2), Some(*value));
            Verdict::Remove
        });
        let fired = asked - usize::from(is_stopped);
        assert_eq!(progress.fired, fired, "what stopped it counts as fired");
        let used = budget.work - progress.unused;
        assert!(fired <= used && fired <= budget.fires, "over the budget");
        assert!(progress.has_backlog || !is_stopped, "a stop left no work");
        let ended = progress.unused > 0 && fired < budget.fires && !is_stopped;
        assert!(!ended || !self.model.has_due(), "stopped without a stop");
    }

    fn peek_expired(&mut self, to: u64, nth: usize, rule: Rule) {
        self.model.set_clock(to);
        let now = self.model.now();
        // A rule may rearm for the present for ever.
        let most = nth.min(2 * self.model.len() + 50);
        for fired in 0..=most {
            let Some(mut timer) = self.wheel.peek_expired(to) else {
                self.check_progress();
                return;
            };
            self.is_behind = true;
            let (key, deadline) = (timer.key(), timer.deadline());
            assert_eq!(self.model.first_due(), Some(key), "shown out of order");
            *timer.get_mut() = timer.get().wrapping_add(1 << 32);
            drop(timer);
            let modelled = self.model.get_mut(key).expect("due timers are live");
            *modelled = modelled.wrapping_add(1 << 32);
            self.wheel.check_invariants();
            assert!(self.wheel.has_backlog(), "what was looked at is due");
            let timer = self.wheel.peek_expired(to).expect("it is still due");
            let shown = (timer.key(), timer.deadline(), *timer.get());
            let modelled = self.model.get(key).expect("due timers are live");
            assert_eq!(shown, (key, modelled.deadline, modelled.value));
            if fired == most {
                return;
            }
            self.fired.push((deadline, modelled.value));
            match again(&rule.answer(fired, deadline, now)) {
                Some(next) => {
                    timer.rearm(next);
                    self.model.reschedule(key, next);
                    self.wake_ups += LEVELS + 1;
                }
                None => {
                    let item = timer.remove();
                    let removed = (item.key, item.deadline, item.value);
                    assert_eq!(Some(removed), self.model.pop_due());
                }
            }
        }
    }

    fn pop(&mut self, to: u64) {
        self.model.set_clock(to);
        match self.wheel.pop_expired(to) {
            Some(item) => {
                self.is_behind = true;
                fire(&mut self.model, &mut self.fired, item);
            }
            None => self.check_progress(),
        }
    }

    fn pop_first(&mut self) {
        let item = self.wheel.pop_first();
        let item = item.map(|item| (item.key, item.deadline, item.value));
        let first = self.model.nth(0).map(|key| {
            let deadline = self.model.get(key).map(|timer| timer.deadline);
            let value = self.model.cancel(key);
            (key, deadline.expect("it lives"), value.expect("it lives"))
        });
        assert_eq!(item, first, "pop_first");
        self.fired
            .extend(item.map(|(_, deadline, value)| (deadline, value)));
    }

    fn peek_first(&mut self) {
        let first = self.model.nth(0);
        let timer = self.wheel.peek_first();
        assert_eq!(timer.as_ref().map(|timer| timer.key), first, "peek_first");
        if let Some(timer) = timer {
            let modelled = self.model.get(timer.key).expect("it lives");
            let timer = (timer.deadline, *timer.value);
            assert_eq!(timer, (modelled.deadline, modelled.value), "peek_first");
        }
        assert!(
            self.wheel.next_deadline() == self.model.next_deadline(),
            "looking changed what comes first"
        );
    }

    fn pop_and_schedule(&mut self, to: u64, count: u8) {
        for nth in 0..count {
            self.pop(to);
            // Due at once, due last of all that is due, and not due.
            let offset = u64::from(nth % 3);
            self.schedule(self.model.now().saturating_add(offset).saturating_sub(1));
        }
        while self.model.has_due() {
            self.pop(to);
        }
        self.pop(to);
    }

    fn drive(&mut self, wake_ups: u8, within: u64) {
        for _ in 0..wake_ups {
            let delay = match self.wheel.expiration_delay() {
                Some(delay) if delay <= within => delay,
                _ => return,
            };
            assert!(self.wake_ups > 0, "woke up more often than allowed");
            self.wake_ups -= 1;
            self.advance(self.model.now().saturating_add(delay));
            self.compare();
        }
    }

    fn clear(&mut self) {
        self.wheel.clear();
        self.model.clear();
    }

    fn drain(&mut self, taken: u8) {
        let taken = match taken {
            u8::MAX => usize::MAX,
            some => usize::from(some),
        };
        let mut drained = 0;
        for item in self.wheel.drain().take(taken) {
            let timer = self.model.get(item.key).expect("a live timer, once");
            assert_eq!((timer.deadline, timer.value), (item.deadline, item.value));
            self.model.cancel(item.key);
            drained += 1;
        }
        if drained < taken {
            assert!(self.model.is_empty(), "drain lost a timer");
        }
        self.model.clear();
    }

    fn reserve(&mut self, additional: usize) {
        self.wheel.reserve(additional);
        assert!(
            self.wheel.capacity() >= self.model.len() + additional,
            "capacity after reserve"
        );
    }

    fn pass_through(&mut self, road: Road) {
        let start = self.model.now();
        let wheel = std::mem::replace(&mut self.wheel, Wheel::with_geometry(start));
        self.wheel = (self.reload)(wheel, road);
        self.is_behind = true;
        self.wake_ups += self.model.len() * (LEVELS + 1);
    }
}

/// The comparison.
impl<G: Geometry> Pair<G> {
    /// Panics when the wheel can be told from its model.
    pub(crate) fn compare(&mut self) {
        self.rounds += 1;
        assert_eq!(self.wheel.len(), self.model.len(), "len");
        assert_eq!(self.wheel.is_empty(), self.model.is_empty(), "is_empty");
        assert_eq!(self.wheel.now(), self.model.now(), "now");
        assert!(self.wheel.capacity() >= self.wheel.len(), "capacity");
        self.compare_wake_up();
        self.compare_order();
        self.compare_stale_keys();
        self.compare_memory();
        self.wheel.check_invariants();
    }

    fn compare_wake_up(&self) {
        let next = self.model.next_deadline();
        assert_eq!(self.wheel.next_deadline(), next, "next_deadline");
        let exact = next.map(|deadline| deadline.saturating_sub(self.model.now()));
        let delay = self.wheel.expiration_delay();
        check_delay(delay, exact, "expiration_delay");
        let wake_at = delay.map(|delay| self.model.now() + delay);
        assert_eq!(self.wheel.wake_at(), wake_at, "wake_at");
        let has_backlog = self.wheel.has_backlog();
        assert_eq!(
            has_backlog,
            delay == Some(0),
            "a backlog is no reason to sleep"
        );
        assert!(has_backlog || !self.model.has_due(), "a backlog is denied");
        assert!(
            self.is_behind || !has_backlog || self.model.has_due(),
            "a backlog, and nothing is due"
        );
        let ahead = (0..LEVELS).filter_map(|level| self.wheel.peek_ahead(level));
        let ahead = ahead.min();
        check_delay(ahead, exact, "peek_ahead");
        assert!(delay <= ahead, "told to sleep past a bucket that begins");
        // The wheel asks for no wake-up but for a bucket that begins, a timer, or a crowd.
        let levels = self.wheel.levels();
        let mut buckets = levels.iter().flat_map(|level| level.buckets());
        let has_crowds = buckets.any(|timers| timers > few::<G>());
        if !self.is_behind && !has_crowds {
            assert_eq!(delay, ahead, "woken up for nothing");
        }
        for level in [LEVELS, LEVELS + 1, 63, 64, usize::MAX] {
            assert_eq!(self.wheel.peek_ahead(level), None, "level {level}");
        }
    }

    fn compare_order(&mut self) {
        let mut ascending = self.wheel.ascending();
        let mut descending = self.wheel.descending();
        for (key, timer) in self.model.ascending() {
            let item = ascending.next().expect("ascending ends early");
            assert_eq!(item.key, key, "key in ascending order");
            assert_eq!((item.deadline, *item.value), (timer.deadline, timer.value));
            assert_eq!(self.wheel.get(key), Some(&timer.value), "get({key:?})");
            assert_eq!(self.wheel.deadline(key), Some(timer.deadline));
            assert!(self.wheel.contains(key), "contains({key:?})");
        }
        assert!(ascending.next().is_none(), "ascending has one too many");
        for (key, timer) in self.model.ascending().rev() {
            let item = descending.next().expect("descending ends early");
            assert_eq!(item.key, key, "key in descending order");
            assert_eq!((item.deadline, *item.value), (timer.deadline, timer.value));
        }
        assert!(descending.next().is_none(), "descending has one too many");

        let mut places = Vec::with_capacity(self.model.len());
        for item in self.wheel.iter() {
            let timer = self.model.get(item.key).expect("iter gives a dead timer");
            assert_eq!((item.deadline, *item.value), (timer.deadline, timer.value));
            places.push(timer.sequence);
        }
        let shown = self.wheel.iter();
        let shown: Vec<_> = shown.map(|it| (it.key, it.deadline, *it.value)).collect();
        let to_change = self.wheel.iter_mut();
        let to_change = to_change.map(|it| (it.key, it.deadline, *it.value));
        assert!(to_change.eq(shown), "iter_mut and iter differ");
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), self.model.len(), "iter gives each once");
    }

    /// Looks at the latest keys and at a few of every age, and acts on the stale ones.
    fn compare_stale_keys(&mut self) {
        let latest = self.keys.len().saturating_sub(8)..self.keys.len();
        let older = (self.rounds % 31..self.keys.len()).step_by(31).take(12);
        let sample: Vec<TimerKey> = latest.chain(older).map(|at| self.keys[at]).collect();
        for key in sample {
            self.compare_key(key);
            if self.model.get(key).is_none() {
                assert_eq!(self.wheel.get_mut(key), None, "get_mut, stale {key:?}");
                assert_eq!(self.wheel.cancel(key), None, "cancel, stale {key:?}");
                let moved = self.wheel.reschedule(key, self.model.now());
                assert!(!moved, "reschedule, stale {key:?}");
            }
        }
    }

    fn compare_key(&self, key: TimerKey) {
        let timer = self.model.get(key);
        assert_eq!(self.wheel.contains(key), timer.is_some(), "{key:?}");
        assert_eq!(self.wheel.get(key), timer.map(|timer| &timer.value));
        assert_eq!(self.wheel.deadline(key), timer.map(|timer| timer.deadline));
        let found = self.wheel.timer(key);
        let found = found.map(|timer| (timer.key, timer.deadline, *timer.value));
        assert_eq!(found, timer.map(|timer| (key, timer.deadline, timer.value)));
    }

    /// Memory follows the timers that live.
    fn compare_memory(&mut self) {
        let stats = self.wheel.stats();
        let live = self.model.len();
        assert_eq!(stats.timers, live, "timers counted");
        assert!(stats.slots >= live, "fewer slots than timers");
        let buckets: usize = stats.occupied.iter().sum();
        assert!(buckets <= live, "occupied buckets without timers");
        let levels = self.wheel.levels();
        let occupied = levels.map(|level| level.occupied());
        assert_eq!(occupied, stats.occupied, "levels and statistics differ");
        let on_levels: usize = levels.iter().map(Level::timers).sum();
        assert_eq!(
            on_levels + stats.ready,
            live,
            "a timer is in a bucket or ready"
        );
        self.moved_ahead += usize::from(levels.iter().any(|level| {
            let one_rotation = level.buckets().len() / 2;
            level
                .buckets()
                .skip(one_rotation.max(1))
                .any(|timers| timers != 0)
        }));
    }
}

impl Rule {
    /// What to do with the `nth` timer that fires in one call.
    fn answer(self, nth: usize, deadline: u64, now: u64) -> Verdict {
        let (seed, delay) = match self {
            Self::Remove => return Verdict::Remove,
            Self::Every(period) => return Verdict::Rearm(deadline.saturating_add(period)),
            Self::Mixed { seed, delay } => (usize::from(seed), delay),
        };
        match (seed + nth * (seed | 1)) % 11 {
            0 => Verdict::Rearm(now),
            1 => Verdict::Rearm(deadline),
            2 => Verdict::Rearm(deadline.saturating_sub(delay)),
            3 => Verdict::Rearm(now.saturating_add(1)),
            4 => Verdict::Rearm(u64::MAX),
            5 => Verdict::Rearm(deadline.saturating_add(delay)),
            6..=7 => Verdict::Rearm(now.saturating_add(delay)),
            _ => Verdict::Remove,
        }
    }
}

/// The deadline a verdict sets.
fn again(verdict: &Verdict) -> Option<u64> {
    match *verdict {
        Verdict::Rearm(deadline) => Some(deadline),
        _ => None,
    }
}

/// The model's next due timer is the one that the wheel yielded.
fn fire(model: &mut Model<u64>, fired: &mut Vec<Fired>, item: Expired<u64>) {
    let yielded = (item.key, item.deadline, item.value);
    assert_eq!(Some(yielded), model.pop_due(), "wheel left, model right");
    fired.push((item.deadline, item.value));
}

/// Early is allowed, late is not; nothing is said exactly when nothing is awaited.
fn check_delay(delay: Option<u64>, exact: Option<u64>, what: &str) {
    match (delay, exact) {
        (Some(delay), Some(exact)) => assert!(delay <= exact, "{what}: {delay} for {exact}"),
        (None, None) => {}
        other => panic!("{what}: {other:?}"),
    }
}
