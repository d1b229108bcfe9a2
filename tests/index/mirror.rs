//! The wheel of the pair when that is about `IndexWheel`: a `Wheel` and an index wheel that does the same, under the index
//! of each timer's slot. [`check_invariants`](Mirror::check_invariants) compares the two, and the pair the first with the model.

use std::iter;
use std::ops::{Deref, DerefMut};

use timer_wheel::index::{Due, DueIndex, IndexWheel};
use timer_wheel::{Budget, Expired, Geometry, Lane, TimerKey, Wheel};

use crate::script::Road;

pub(crate) type Subject<G> = Mirror<G>;

/// An index wheel holds no timers, and is not stored.
pub(crate) const IS_WHEEL: bool = false;

pub(crate) struct Mirror<G: Geometry> {
    wheel: Wheel<u64, G>,
    index: IndexWheel<G>,
}

/// What looks at a wheel or at values is the wheel's.
impl<G: Geometry> Deref for Mirror<G> {
    type Target = Wheel<u64, G>;

    fn deref(&self) -> &Wheel<u64, G> {
        &self.wheel
    }
}

impl<G: Geometry> DerefMut for Mirror<G> {
    fn deref_mut(&mut self) -> &mut Wheel<u64, G> {
        &mut self.wheel
    }
}

impl<G: Geometry> Clone for Mirror<G> {
    fn clone(&self) -> Self {
        Self { wheel: self.wheel.clone(), index: self.index.clone() }
    }
}

fn index_of(key: TimerKey) -> u32 {
    (key.to_bits() >> 32) as u32
}

fn due(key: TimerKey, deadline: u64) -> Due {
    Due { index: index_of(key), deadline }
}

/// Goes on with a copy, once the original has fired everything.
pub(crate) fn reload<G: Geometry>(mut wheel: Mirror<G>, _: Road) -> Mirror<G> {
    let copy = wheel.clone();
    assert_eq!(wheel.advance(u64::MAX).count(), copy.len());
    wheel.check_invariants();
    copy
}

impl<G: Geometry> Mirror<G> {
    pub(crate) fn with_geometry(now: u64) -> Self {
        Self { wheel: Wheel::with_geometry(now), index: IndexWheel::with_geometry(now) }
    }

    pub(crate) fn check_invariants(&self) {
        let Self { wheel, index } = self;
        wheel.check_invariants();
        index.check_invariants();
        assert_eq!((index.now(), index.len(), index.is_empty()), (wheel.now(), wheel.len(), wheel.is_empty()));
        let next = wheel.next_deadline();
        assert_eq!(index.next_deadline(), next);
        let (wake_at, delay) = (index.wake_at(), index.expiration_delay());
        assert_eq!(wake_at, delay.map(|delay| index.now() + delay));
        assert!(wake_at.is_some() == next.is_some() && wake_at <= next.map(|next| next.max(index.now())), "late");
        assert_eq!(index.has_backlog(), delay == Some(0), "a backlog");
        let timers = wheel.ascending().map(|timer| due(timer.key, timer.deadline));
        assert_eq!(index.ascending().len(), timers.len());
        assert!(index.ascending().eq(timers), "ascending");
        let live = (0..=wheel.stats().slots as u32).filter(|&nth| index.deadline(nth).is_some());
        assert_eq!((live.count(), index.deadline(u32::MAX)), (wheel.len(), None));
        assert!(wheel.iter().all(|timer| index.deadline(index_of(timer.key)) == Some(timer.deadline)));
    }

    fn set(&mut self, lane: Option<Lane>, key: TimerKey, deadline: u64) {
        match lane {
            Some(lane) => self.index.set_in(lane, index_of(key), deadline),
            None => self.index.set(index_of(key), deadline),
        }
    }

    pub(crate) fn schedule(&mut self, deadline: u64, value: u64) -> TimerKey {
        self.schedule_with(deadline, |_| value)
    }

    pub(crate) fn schedule_with(&mut self, deadline: u64, value: impl FnOnce(TimerKey) -> u64) -> TimerKey {
        let key = self.wheel.schedule_with(deadline, value);
        self.set(None, key, deadline);
        key
    }

    pub(crate) fn schedule_in(&mut self, lane: Lane, deadline: u64, value: u64) -> TimerKey {
        let key = self.wheel.schedule_in(lane, deadline, value);
        self.set(Some(lane), key, deadline);
        key
    }

    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<u64> {
        let cancelled = self.wheel.cancel(key);
        assert!(cancelled.is_none() || self.index.cancel(index_of(key)) && !self.index.cancel(index_of(key)));
        cancelled
    }

    pub(crate) fn reschedule(&mut self, key: TimerKey, deadline: u64) -> bool {
        let is_live = self.wheel.reschedule(key, deadline);
        is_live.then(|| self.set(None, key, deadline)).is_some()
    }

    pub(crate) fn reschedule_in(&mut self, lane: Lane, key: TimerKey, deadline: u64) -> bool {
        let is_live = self.wheel.reschedule_in(lane, key, deadline);
        is_live.then(|| self.set(Some(lane), key, deadline)).is_some()
    }

    pub(crate) fn reschedule_or_insert(
        &mut self,
        timer: &mut Option<TimerKey>,
        deadline: u64,
        value: impl FnOnce() -> u64,
    ) -> TimerKey {
        let key = self.wheel.reschedule_or_insert(timer, deadline, value);
        self.set(None, key, deadline);
        key
    }

    pub(crate) fn retain(&mut self, mut f: impl FnMut(TimerKey, u64, &mut u64) -> bool) {
        let Self { wheel, index } = self;
        wheel.retain(|key, deadline, value| f(key, deadline, value) || !index.cancel(index_of(key)));
    }

    pub(crate) fn advance(&mut self, now: u64) -> impl Iterator<Item = Expired<u64>> + '_ {
        let Self { wheel, index } = self;
        pull(index, now, Budget::unlimited(), wheel.advance(now))
    }

    pub(crate) fn advance_with_budget<'a>(
        &'a mut self,
        now: u64,
        budget: &'a mut Budget,
    ) -> impl Iterator<Item = Expired<u64>> + 'a {
        let Self { wheel, index } = self;
        pull(index, now, *budget, wheel.advance_with_budget(now, budget))
    }

    pub(crate) fn peek_expired(&mut self, now: u64) -> Option<DueTimer<'_, G>> {
        self.peek_expired_with_budget(now, &mut Budget::unlimited())
    }

    pub(crate) fn peek_expired_with_budget(&mut self, now: u64, budget: &mut Budget) -> Option<DueTimer<'_, G>> {
        _ = self.index.peek_expired_with_budget(now, &mut { *budget });
        let timer = self.wheel.peek_expired_with_budget(now, budget)?;
        let index = self.index.peek_expired(now).expect("it is due in both");
        assert_eq!((index.index(), index.deadline()), (index_of(timer.key()), timer.deadline()));
        Some(DueTimer { timer, index })
    }

    /// An index wheel cannot be prepared: nothing is done, and no work is left to say so.
    pub(crate) fn prepare(&mut self, _: u64, budget: &mut Budget) {
        budget.work = 0;
    }

    pub(crate) fn pop_first(&mut self) -> Option<Expired<u64>> {
        let first = self.wheel.pop_first();
        assert_eq!(self.index.pop_first(), first.map(|first| due(first.key, first.deadline)));
        first
    }

    pub(crate) fn peek_first(&mut self) -> Option<timer_wheel::TimerRef<'_, u64>> {
        let first = self.wheel.peek_first();
        assert_eq!(self.index.peek_first(), first.map(|first| due(first.key, first.deadline)));
        first
    }

    pub(crate) fn clear(&mut self) {
        self.wheel.clear();
        self.index.clear();
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Expired<u64>> + '_ {
        self.index.clear();
        self.wheel.drain()
    }

    pub(crate) fn add_lane(&mut self) -> Lane {
        let lane = self.index.add_lane();
        assert_eq!(self.wheel.add_lane(), lane);
        lane
    }

    pub(crate) fn reserve(&mut self, additional: usize) {
        self.wheel.reserve(additional);
        let indexes = self.index.stats().slots + additional;
        self.index.reserve(additional);
        assert!(self.index.stats().bytes >= 24 * indexes);
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.wheel.shrink_to_fit();
        let before = self.index.stats().bytes;
        self.index.shrink_to_fit();
        assert!(self.index.stats().bytes <= before);
    }
}

/// Lets the index wheel fire what the wheel fires, each within the same budget.
fn pull<'a, G: Geometry>(
    index: &'a mut IndexWheel<G>,
    now: u64,
    mut left: Budget,
    mut advance: impl Iterator<Item = Expired<u64>> + 'a,
) -> impl Iterator<Item = Expired<u64>> + 'a {
    drop(index.advance(now));
    iter::from_fn(move || {
        let before = left;
        let Some(item) = advance.next() else {
            _ = index.peek_expired_with_budget(now, &mut left);
            return None;
        };
        let fired = index.advance_with_budget(now, &mut left).next();
        assert!(fired.is_none() || left.work < before.work && left.fires + 1 == before.fires, "a fire is paid for");
        // A page that the wheel alone has given back may make it do upkeep at another time.
        let fired = fired.or_else(|| index.advance(now).next());
        assert_eq!(fired, Some(due(item.key, item.deadline)));
        Some(item)
    })
}

/// The first timer that is due, in both.
pub(crate) struct DueTimer<'a, G: Geometry> {
    timer: timer_wheel::DueTimer<'a, u64, G>,
    index: DueIndex<'a, G>,
}

impl<'a, G: Geometry> Deref for DueTimer<'a, G> {
    type Target = timer_wheel::DueTimer<'a, u64, G>;

    fn deref(&self) -> &Self::Target {
        &self.timer
    }
}

impl<G: Geometry> DerefMut for DueTimer<'_, G> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.timer
    }
}

impl<G: Geometry> DueTimer<'_, G> {
    pub(crate) fn remove(self) -> Expired<u64> {
        let removed = self.timer.remove();
        assert_eq!(self.index.remove(), due(removed.key, removed.deadline));
        removed
    }

    pub(crate) fn rearm(self, deadline: u64) {
        self.timer.rearm(deadline);
        self.index.rearm(deadline);
    }

    pub(crate) fn rearm_in(self, lane: Lane, deadline: u64) {
        self.timer.rearm_in(lane, deadline);
        self.index.rearm_in(lane, deadline);
    }

    pub(crate) fn hold(self) -> TimerKey {
        unreachable!("an index wheel holds no timers")
    }
}
