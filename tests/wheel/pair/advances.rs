//! Time passes and timers fire, on both.

use timer_wheel::{Budget, Expired, Geometry, Lane, TimerKey};

use super::{DueTimer, IS_WHEEL, LEVELS, Pair};
use crate::geometries::rotation_bits;
use crate::model::Model;
use crate::script::{Rule, Verdict};

/// What was done with one budget, and what it left behind.
struct Call {
    yielded: usize,
    used: usize,
    /// Whether the wheel said that there is no more for now.
    ended: bool,
    has_backlog: bool,
}

impl<G: Geometry> Pair<G> {
    pub(super) fn advance(&mut self, to: u64) {
        self.pull(to, usize::MAX);
        assert!(!self.wheel.has_backlog(), "an unbounded advance left work");
    }

    /// Pulls up to `most` items of an advance, and drops it.
    pub(super) fn pull(&mut self, to: u64, most: usize) {
        self.is_behind = true;
        self.model.set_clock(to);
        let mut pulled = 0;
        for item in self.wheel.advance(to).take(most) {
            fire(&mut self.model, item);
            pulled += 1;
        }
        if pulled < most {
            self.check_progress();
        }
    }

    /// One budget, used up or to no further purpose: by one advance, or by one for each timer. Says how much work that
    /// was, and whether a backlog is left.
    pub(super) fn advance_budgeted(&mut self, to: u64, budget: Budget) -> (usize, bool) {
        self.model.set_clock(to);
        let (mut yielded, mut left) = (0, budget);
        drop(self.wheel.advance_with_budget(to, &mut left));
        assert_eq!(left, budget, "budget used before any work");
        if self.rounds % 2 == 0 {
            let mut advance = self.wheel.advance_with_budget(to, &mut left);
            for item in advance.by_ref() {
                fire(&mut self.model, item);
                yielded += 1;
            }
            for _ in 0..3 {
                assert!(advance.next().is_none(), "an item after the end");
            }
        } else {
            loop {
                let before = left;
                let Some(item) = self.wheel.advance_with_budget(to, &mut left).next() else {
                    assert!(left.work <= before.work, "budget came back");
                    break;
                };
                fire(&mut self.model, item);
                yielded += 1;
                assert!(left.work < before.work, "an item for no budget");
                assert!(self.wheel.has_backlog() || !self.model.has_due(), "a backlog is denied");
            }
        }
        assert_eq!(left.fires, budget.fires - yielded, "fires that were paid for");
        let call = Call {
            yielded,
            used: budget.work - left.work,
            ended: left.work > 0 && left.fires > 0,
            has_backlog: self.wheel.has_backlog(),
        };
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
        // A visit on each level, and for each bit of the rotation, and the fire. All of it once more when it was postponed.
        let visits = 2 * (LEVELS + rotation_bits::<G>() as usize + 1);
        // And as many buckets are opened, at most.
        let bound = 2 * visits * (self.model.len() + 2);
        for _ in 0..bound {
            let (used, has_backlog) = self.advance_budgeted(to, Budget::of_work(work));
            if !has_backlog {
                return;
            }
            assert_eq!(used, work, "a backlog, and budget not used");
        }
        panic!("still a backlog after {bound} calls");
    }

    /// Looks twice at each timer that is due, writes to it, and does what the rule says, until `stop` have fired.
    pub(super) fn advance_with(&mut self, to: u64, budget: Budget, rule: Rule, stop: usize) {
        self.model.set_clock(to);
        let now = self.model.now();
        let most = 2 * self.model.len() + 50;
        let (mut nth, mut is_stopped, mut left) = (0, false, budget);
        while let Some(mut due) = self.wheel.peek_expired_with_budget(to, &mut left) {
            assert!(nth <= 4 * most, "a removed timer fires for ever");
            let (key, deadline) = (due.key(), due.deadline());
            assert_eq!(self.model.first_due(), Some(key), "shown out of order");
            write(due.get_mut());
            write(self.model.get_mut(key).expect("due timers are live"));
            assert!(self.wheel.has_backlog(), "what was looked at is due");
            let due = self.wheel.peek_expired(to).expect("it is still due");
            let modelled = self.model.get(key).expect("due timers are live");
            let shown = (due.key(), due.deadline(), *due.get());
            assert_eq!(shown, (key, modelled.deadline, modelled.value));
            let verdict = if nth == stop { Verdict::Stop } else { rule.answer(nth, deadline, now) };
            nth += 1;
            if verdict == Verdict::Stop {
                is_stopped = true;
                break;
            }
            let verdict = if verdict == Verdict::Hold && !IS_WHEEL { Verdict::Remove } else { verdict };
            match verdict {
                Verdict::Hold => {
                    assert_eq!(due.hold(), key);
                    self.model.hold(key);
                }
                Verdict::Rearm(next) if nth <= most => {
                    rearm(due, self.lane, next);
                    self.model.reschedule(key, next);
                    self.wake_ups += Self::WAKE_UPS;
                }
                _ => assert_eq!(Some(parts(due.remove())), self.model.pop_due()),
            }
        }
        // The timer at which the loop stops has been paid for, as it was shown.
        let shown = usize::from(is_stopped);
        assert_eq!(left.fires, budget.fires - nth, "fires that were paid for");
        assert!(self.wheel.has_backlog() || !is_stopped, "a stop left no work");
        self.check_call(&Call {
            yielded: nth - shown,
            used: budget.work - left.work - shown,
            ended: left.work > 0 && left.fires > 0 && !is_stopped,
            has_backlog: self.wheel.has_backlog(),
        });
    }

    pub(super) fn hold(&mut self, to: u64, count: u8) {
        self.model.set_clock(to);
        self.is_behind = true;
        for _ in 0..count {
            let due = self.wheel.peek_expired(to);
            assert_eq!(due.as_ref().map(|due| due.key()), self.model.first_due());
            let Some(due) = due else {
                return self.check_progress();
            };
            let key = due.hold();
            self.model.hold(key);
        }
    }

    pub(super) fn release(&mut self, key: Option<TimerKey>) {
        let Some(key) = key else { return };
        assert_eq!(self.wheel.release(key), self.model.release(key), "release({key:?})");
        self.wake_ups += Self::WAKE_UPS;
    }

    /// Prepares for a time. If the budget sufficed, an advance to there only fires.
    pub(super) fn prepare(&mut self, to: u64, work: usize) {
        let mut left = Budget::of_work(work);
        self.wheel.prepare(to, &mut left);
        self.note((work - left.work) as u64);
        assert_eq!(left, Budget::of_work(left.work), "nothing fires");
        if left.work > 0 && to >= self.model.now() {
            let due = self.model.ascending().take_while(|(_, timer)| timer.deadline <= to).count();
            let mut ahead = self.wheel.clone();
            assert_eq!(ahead.advance_with_budget(to, &mut Budget::of_work(due)).count(), due, "all was prepared");
        }
    }

    pub(super) fn pop_and_schedule(&mut self, to: u64, count: u8) {
        for nth in 0..count {
            self.pull(to, 1);
            // Due at once, due last of all that is due, and not due.
            let offset = u64::from(nth % 3);
            self.schedule(self.model.now().saturating_add(offset).saturating_sub(1));
        }
        self.pull(to, 1);
        while self.model.has_due() {
            self.pull(to, 1);
        }
        self.pull(to, 1);
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

fn rearm<G: Geometry>(due: DueTimer<'_, G>, lane: Option<Lane>, deadline: u64) {
    match lane {
        Some(lane) => due.rearm_in(lane, deadline),
        None => due.rearm(deadline),
    }
}

/// The model's next due timer is the one that the wheel yielded.
fn fire(model: &mut Model<u64>, item: Expired<u64>) {
    assert_eq!(Some(parts(item)), model.pop_due(), "wheel left, model right");
}
