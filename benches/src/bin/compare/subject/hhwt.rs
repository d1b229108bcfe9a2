//! `hierarchical_hash_wheel_timer`, in its variant whose timers can be cancelled.
//!
//! Its cheapest entry is an id in an `Rc`, here the value itself; the delay is handed over beside it
//! rather than kept in it. The time unit is the caller's: a tick of the wheel it is compared with.

use std::rc::Rc;
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::Skip;
use hierarchical_hash_wheel_timer::wheels::cancellable::{
    CancellableTimerEntry, QuadWheelWithOverflow,
};

use super::{Absence, Cancel, NO_BUDGET, NO_COUNT, Queue, Subject, Work, ticks};
use crate::answer::Promise;
use crate::figure;

pub(super) const SUBJECT: Subject = Subject {
    absences: &[
        NO_BUDGET,
        NO_COUNT,
        Absence::new(&[figure::REFRESH], "a timer cannot be moved"),
    ],
    ..Subject::cancelling::<HashWheel>()
};

#[derive(Debug)]
struct Entry {
    id: u32,
}

impl CancellableTimerEntry for Entry {
    type Id = u32;

    #[inline]
    fn id(&self) -> &u32 {
        &self.id
    }
}

struct HashWheel {
    now: u64,
    wheel: QuadWheelWithOverflow<Entry>,
}

impl Queue for HashWheel {
    const NAME: &'static str = "hhwt";
    const PROMISE: Promise = Promise::StepOrder;
    const WORK: Work = Work::Untold;
    type Key = u32;

    #[inline]
    fn new() -> Self {
        Self {
            now: 0,
            wheel: QuadWheelWithOverflow::new(),
        }
    }

    /// A deadline that has come is refused by the wheel, and is put off to the next tick instead.
    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let delay = ticks::due_at(deadline).saturating_sub(self.now).max(1);
        let entry = Rc::new(Entry { id: value });
        let _ = self
            .wheel
            .insert_ref_with_delay(entry, Duration::from_millis(delay));
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        let now = ticks::reached_by(now);
        while self.now < now {
            let left = u32::try_from(now - self.now).unwrap_or(u32::MAX);
            let skipped = match self.wheel.can_skip() {
                Skip::Empty => left,
                Skip::Millis(most) => most.min(left),
                Skip::None => 0,
            };
            if skipped > 0 {
                self.wheel.skip(skipped);
                self.now += u64::from(skipped);
            } else {
                for entry in self.wheel.tick() {
                    fire(entry.id);
                }
                self.now += 1;
            }
        }
    }
}

impl Cancel for HashWheel {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.wheel.cancel(&key).ok().map(|()| key)
    }
}
