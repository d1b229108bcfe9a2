//! An ordered set alone: deadlines and numbers, no values and no handles.

use std::collections::BTreeSet;

use super::{
    Cancel, Clear, NO_BUDGET, Ordered, PopExpired, PopFirst, Queue, Reschedule, Subject, Wakes,
    Work,
};
use crate::answer::Promise;

pub(super) const SUBJECT: Subject = Subject::unbudgeted::<BareSet, BareSet>()
    .waking::<BareSet, BareSet>()
    .ordered::<BareSet>()
    .mixed::<BareSet>()
    .popping::<BareSet, BareSet>()
    .far::<BareSet>()
    .clearing::<BareSet>()
    .lacking(&[NO_BUDGET]);

struct BareSet(BTreeSet<(u64, u32)>);

impl Queue for BareSet {
    const NAME: &'static str = "btree";
    const PROMISE: Promise = Promise::DeadlineOrder;
    const WORK: Work = Work::FiresOnly;
    type Key = (u64, u32);

    #[inline]
    fn new() -> Self {
        Self(BTreeSet::new())
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> (u64, u32) {
        self.0.insert((deadline, value));
        (deadline, value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        while self.0.first().is_some_and(|&(deadline, _)| deadline <= now) {
            if let Some((_, value)) = self.0.pop_first() {
                fire(value);
            }
        }
    }
}

impl Cancel for BareSet {
    #[inline]
    fn cancel(&mut self, key: (u64, u32)) -> Option<u32> {
        self.0.remove(&key).then_some(key.1)
    }
}

impl Reschedule for BareSet {
    #[inline]
    fn reschedule(&mut self, key: &mut (u64, u32), deadline: u64) -> bool {
        let was_live = self.0.remove(key);
        if was_live {
            key.0 = deadline;
            self.0.insert(*key);
        }
        was_live
    }
}

impl Wakes for BareSet {
    #[inline]
    fn next_wake(&self) -> Option<u64> {
        self.0.first().map(|&(deadline, _)| deadline)
    }
}

impl Ordered for BareSet {
    #[inline]
    fn ascending(&self, mut visit: impl FnMut(u32)) {
        self.0.iter().for_each(|&(_, value)| visit(value));
    }

    #[inline]
    fn descending(&self, mut visit: impl FnMut(u32)) {
        self.0.iter().rev().for_each(|&(_, value)| visit(value));
    }
}

impl PopFirst for BareSet {
    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop_first()
    }
}

impl PopExpired for BareSet {
    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<u32> {
        let &(deadline, _) = self.0.first()?;
        if deadline > now {
            return None;
        }
        self.0.pop_first().map(|(_, value)| value)
    }
}

impl Clear for BareSet {
    fn clear(&mut self) {
        self.0.clear();
    }
}
