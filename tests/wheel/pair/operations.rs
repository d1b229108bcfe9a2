//! Timers come, go and move, one by one and all at once, on both.

use std::collections::VecDeque;

use timer_wheel::{Geometry, TimerKey};

use super::advances::{parts, write};
use super::comparison::check_delay;
use super::{IS_WHEEL, Pair, Subject};
use crate::script::{MAX_LANES, Road, lane};

/// How often a burst of operations has everything checked, counted in operations.
const BURST_CHECK: u16 = 64;

impl<G: Geometry> Pair<G> {
    pub(crate) fn schedule(&mut self, deadline: u64) {
        let value = self.keys.len() as u64;
        let key = if let Some(lane) = self.lane {
            self.wheel.schedule_in(lane, deadline, value)
        } else if value % 2 == 0 {
            self.wheel.schedule(deadline, value)
        } else {
            let mut promised = None;
            let key = self.wheel.schedule_with(deadline, |key| {
                promised = Some(key);
                value
            });
            assert_eq!(promised, Some(key), "schedule_with promised another key");
            key
        };
        self.know(key, deadline, value);
    }

    /// Tells the model of a timer that the wheel accepted.
    pub(super) fn know(&mut self, key: TimerKey, deadline: u64, value: u64) {
        self.model.schedule(key, deadline, value);
        assert!(self.known.insert(key), "{key:?} was given out twice");
        self.keys.push(key);
        self.wake_ups += Self::WAKE_UPS;
    }

    pub(super) fn storm(&mut self, from: u64, step: u64, count: u8) {
        for nth in 0..u64::from(count) {
            self.schedule(from.saturating_add(step.saturating_mul(nth)));
        }
    }

    /// Timers that come and go, most of them in the order in which they came.
    pub(super) fn churn(&mut self, from: u64, step: u64, count: u16, lag: u8, keep: u8) {
        let mut lingering = VecDeque::new();
        for nth in 0..count {
            self.schedule(from.saturating_add(step.saturating_mul(u64::from(nth) % 16)));
            lingering.extend(self.keys.last().copied());
            if lingering.len() > usize::from(lag) {
                let oldest = lingering.pop_front();
                if keep == 0 || nth % u16::from(keep) != 0 {
                    self.cancel(oldest);
                }
            }
            let exact = self.model.next_deadline();
            let exact = exact.map(|deadline| deadline.saturating_sub(self.model.now()));
            check_delay(self.wheel.expiration_delay(), exact, "expiration_delay");
            assert_eq!(self.wheel.len(), self.model.len(), "len");
            if nth % BURST_CHECK == BURST_CHECK - 1 {
                self.compare();
            }
        }
    }

    pub(super) fn cancel(&mut self, key: Option<TimerKey>) {
        let Some(key) = key else { return };
        let cancelled = (self.wheel.cancel(key), self.model.cancel(key));
        assert_eq!(cancelled.0, cancelled.1, "cancel({key:?})");
    }

    pub(super) fn reschedule(&mut self, key: Option<TimerKey>, deadline: u64) {
        let Some(key) = key else { return };
        let moved = match self.lane {
            Some(lane) => self.wheel.reschedule_in(lane, key, deadline),
            None => self.wheel.reschedule(key, deadline),
        };
        assert_eq!(moved, self.model.reschedule(key, deadline), "{key:?}");
        self.wake_ups += Self::WAKE_UPS;
    }

    pub(super) fn reschedule_or_insert(&mut self, key: Option<TimerKey>, deadline: u64) {
        let value = self.keys.len() as u64;
        let (mut place, mut is_new) = (key, false);
        let set = self.wheel.reschedule_or_insert(&mut place, deadline, || {
            is_new = true;
            value
        });
        assert_eq!(place, Some(set), "the key is not written down");
        let is_live = key.is_some_and(|key| self.model.reschedule(key, deadline));
        assert_eq!(is_new, !is_live, "{key:?}");
        if is_new {
            self.know(set, deadline, value);
        } else {
            assert_eq!(place, key, "a live timer got another key");
            self.wake_ups += Self::WAKE_UPS;
        }
    }

    pub(super) fn retain(&mut self, stride: u64) {
        let (mut cancelled, mut seen) = (Vec::new(), 0);
        let model = &mut self.model;
        self.wheel.retain(|key, deadline, value| {
            write(value);
            write(model.get_mut(key).expect("retain shows a dead timer"));
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
        cancelled.into_iter().for_each(|key| _ = self.model.cancel(key));
    }

    pub(super) fn touch(&mut self, key: Option<TimerKey>) {
        let Some(key) = key else { return };
        let (value, modelled) = (self.wheel.get_mut(key), self.model.get_mut(key));
        assert_eq!(value, modelled, "get_mut({key:?})");
        value.into_iter().chain(modelled).for_each(write);
    }

    pub(super) fn pop_first(&mut self) {
        let item = self.wheel.pop_first().map(parts);
        let first = self.model.nth(0).map(|key| {
            let deadline = self.model.get(key).expect("it lives").deadline;
            (key, deadline, self.model.cancel(key).expect("it lives"))
        });
        assert_eq!(item, first, "pop_first");
    }

    pub(super) fn peek_first(&mut self) {
        let first = self.wheel.peek_first();
        let first = first.map(|timer| (timer.key, timer.deadline, *timer.value));
        let expected = self.model.ascending().next();
        let expected = expected.map(|(key, timer)| (key, timer.deadline, timer.value));
        assert_eq!(first, expected, "peek_first");
        let next = self.wheel.next_deadline();
        assert_eq!(next, self.model.next_deadline(), "looking changed it");
    }

    pub(super) fn overtake(&mut self, count: u8) {
        self.peek_first();
        let (now, first) = (self.model.now(), self.model.next_deadline());
        let step = first.unwrap_or(now).saturating_sub(now) / u64::from(count.max(1));
        for nth in 0..u64::from(count) {
            let before = self.wheel.stats().near;
            self.schedule(now + nth * step);
            self.sent_back += usize::from(self.wheel.stats().near < before);
        }
    }

    pub(super) fn clear(&mut self) {
        self.wheel.clear();
        self.model.clear();
    }

    pub(super) fn drain(&mut self, taken: u8) {
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
        let is_complete = drained < taken;
        assert!(!is_complete || self.model.is_empty(), "drain lost a timer");
        self.model.clear();
    }

    pub(super) fn add_lane(&mut self) {
        if self.lanes != MAX_LANES {
            self.lane = Some(self.wheel.add_lane());
            assert_eq!(self.lane, Some(lane(self.lanes)), "lanes are numbered");
            self.lanes += 1;
        }
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.wheel.reserve(additional);
        let room = self.wheel.capacity() - self.model.len();
        assert!(room >= additional, "capacity after reserve");
    }

    pub(super) fn pass_through(&mut self, road: Road) {
        let start = self.model.now();
        let wheel = std::mem::replace(&mut self.wheel, Subject::with_geometry(start));
        self.wheel = (self.reload)(wheel, road);
        if IS_WHEEL {
            self.lanes = 0;
        }
        self.is_behind = true;
        self.wake_ups += self.model.len() * Self::WAKE_UPS;
    }
}
