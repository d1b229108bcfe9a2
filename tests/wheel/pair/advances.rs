//! Time passes and timers fire, on both.

use timer_wheel::{Budget, Expired, Geometry, TimerKey, Verdict};

use super::{Fired, LEVELS, Pair};
use crate::model::Model;
use crate::script::Rule;

/// What one timer may cost while an advance passes it: a visit on each level, the sorting and the firing, all
/// of it once more when it was postponed.
const VISITS: usize = 2 * (LEVELS + 2);

/// One budgeted call, and what it left behind.
struct Call {
    yielded: usize,
    used: usize,
    /// Whether the iterator said that there is no more for now.
    ended: bool,
    has_backlog: bool,
}

impl<G: Geometry> Pair<G> {
    pub(super) fn advance(&mut self, to: u64) {
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

    pub(super) fn advance_dropped(&mut self, to: u64, taken: usize) {
        self.is_behind = true;
        self.model.set_clock(to);
        for item in self.wheel.advance(to).take(taken) {
            fire(&mut self.model, &mut self.fired, item);
        }
    }

    /// One call with a budget, pulled to its end. Says how much work it did, and whether a backlog is left.
    pub(super) fn advance_budgeted(&mut self, to: u64, budget: Budget) -> (usize, bool) {
        self.model.set_clock(to);
        let mut advance = self.wheel.advance_with_budget(to, budget);
        assert_eq!(advance.unused(), budget.work, "budget used before any work");
        let (mut yielded, mut unused) = (0, budget.work);
        while let Some(item) = advance.next() {
            fire(&mut self.model, &mut self.fired, item);
            yielded += 1;
            assert!(advance.unused() < unused, "an item for no budget");
            unused = advance.unused();
            let due = self.model.has_due();
            assert!(advance.has_backlog() || !due, "a backlog is denied");
        }
        assert!(advance.unused() <= unused, "budget came back");
        unused = advance.unused();
        let call = Call {
            yielded,
            used: budget.work - unused,
            ended: unused > 0 && yielded < budget.fires,
            has_backlog: advance.has_backlog(),
        };
        for _ in 0..3 {
            assert!(advance.next().is_none(), "an item after the end");
        }
        assert_eq!(advance.unused(), unused, "work after the end");
        drop(advance);
        assert!(yielded <= budget.fires, "more fires than the budget has");
        self.check_call(&call);
        (call.used, call.has_backlog)
    }

    fn check_call(&mut self, call: &Call) {
        self.note(call.used as u64);
        assert!(call.yielded <= call.used, "more items than units of budget");
        assert!(!call.ended || !call.has_backlog, "stopped with a backlog and budget left");
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
        let delay = self.wheel.expiration_delay();
        assert_ne!(delay, Some(0), "asked to wake up at once, for nothing");
    }

    pub(super) fn advance_to_end(&mut self, to: u64, work: usize) {
        // Every far rotation reached may look at every postponed timer again.
        let rotations = self.model.len() + 2;
        let bound = 2 * VISITS * (self.model.len() + 2) * rotations;
        for _ in 0..bound {
            let (used, has_backlog) = self.advance_budgeted(to, Budget::of_work(work));
            if !has_backlog {
                return;
            }
            assert_eq!(used, work, "a backlog, and budget not used");
        }
        panic!("still a backlog after {bound} calls");
    }

    pub(super) fn advance_with(&mut self, to: u64, budget: Budget, rule: Rule) {
        self.model.set_clock(to);
        let now = self.model.now();
        let most = 2 * self.model.len() + 50;
        let (mut nth, mut is_stopped) = (0, false);
        let (model, fired) = (&mut self.model, &mut self.fired);
        let wake_ups = &mut self.wake_ups;
        let progress = self.wheel.advance_with(to, budget, |key, deadline, value| {
            assert!(!is_stopped, "asked again after a stop");
            assert!(nth <= 4 * most, "a removed timer fires for ever");
            assert_eq!(model.first_due(), Some(key), "fired out of order");
            let timer = model.get(key).expect("due timers are live");
            assert_eq!((timer.deadline, timer.value), (deadline, *value));
            let verdict = match rule.answer(nth, deadline, now) {
                Verdict::Rearm(_) if nth >= most => Verdict::Remove,
                verdict => verdict,
            };
            nth += 1;
            if verdict == Verdict::Stop {
                is_stopped = true;
                return verdict;
            }
            fired.push((deadline, *value));
            write(value);
            write(model.get_mut(key).expect("it lives"));
            match verdict {
                Verdict::Rearm(next) => {
                    model.reschedule(key, next);
                    *wake_ups += LEVELS + 1;
                }
                _ => _ = model.cancel(key),
            }
            verdict
        });
        let yielded = nth - usize::from(is_stopped);
        assert_eq!(progress.fired, yielded, "timers counted as fired");
        assert!(progress.unused <= budget.work, "more budget than was given");
        assert!(yielded <= budget.fires, "more fires than given");
        assert!(progress.has_backlog || !is_stopped, "a stop left no work");
        self.check_call(&Call {
            yielded,
            used: budget.work - progress.unused,
            ended: progress.unused > 0 && yielded < budget.fires && !is_stopped,
            has_backlog: progress.has_backlog,
        });
    }

    pub(super) fn peek_expired(&mut self, to: u64, nth: usize, rule: Rule) {
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
            write(timer.get_mut());
            drop(timer);
            write(self.model.get_mut(key).expect("due timers are live"));
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
            if let Verdict::Rearm(next) = rule.answer(fired, deadline, now) {
                timer.rearm(next);
                self.model.reschedule(key, next);
                self.wake_ups += LEVELS + 1;
            } else {
                let removed = parts(timer.remove());
                assert_eq!(Some(removed), self.model.pop_due());
            }
        }
    }

    pub(super) fn pop(&mut self, to: u64) {
        self.model.set_clock(to);
        match self.wheel.pop_expired(to) {
            Some(item) => {
                self.is_behind = true;
                fire(&mut self.model, &mut self.fired, item);
            }
            None => self.check_progress(),
        }
    }

    pub(super) fn pop_and_schedule(&mut self, to: u64, count: u8) {
        for nth in 0..count {
            self.pop(to);
            // Due at once, due last of all that is due, and not due.
            let offset = u64::from(nth % 3);
            self.schedule(self.model.now().saturating_add(offset).saturating_sub(1));
        }
        self.pop(to);
        while self.model.has_due() {
            self.pop(to);
        }
        self.pop(to);
    }

    pub(super) fn drive(&mut self, wake_ups: u8, within: u64) {
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
}

/// Writes to a value in place, which keeps it different from all others.
pub(super) fn write(value: &mut u64) {
    *value = value.wrapping_add(1 << 32);
}

pub(super) fn parts(item: Expired<u64>) -> (TimerKey, u64, u64) {
    (item.key, item.deadline, item.value)
}

/// The model's next due timer is the one that the wheel yielded.
fn fire(model: &mut Model<u64>, fired: &mut Vec<Fired>, item: Expired<u64>) {
    let yielded = parts(item);
    assert_eq!(Some(yielded), model.pop_due(), "wheel left, model right");
    fired.push((yielded.1, yielded.2));
}
