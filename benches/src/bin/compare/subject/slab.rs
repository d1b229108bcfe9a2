//! A bare slab: what storing and finding the values costs when nothing is ever due.
//!
//! It is the limit, not a queue: it stores a `u32` and nothing else.

use slab::Slab;

use super::{Absence, Caffeine, Cancel, NO_BUDGET, NO_ORDER, Queue, Reschedule, Subject, Work};
use crate::answer::Promise;
use crate::experiment::{caffeine, churn, fill, memory, refresh};
use crate::figure::{self, Workload};

pub(super) const SUBJECT: Subject = Subject {
    absences: &[
        NO_BUDGET,
        NO_ORDER,
        Absence::from(
            &[
                Workload::W10,
                Workload::W11,
                Workload::W12,
                Workload::W13,
                Workload::W14,
                Workload::W15,
                Workload::W16,
            ],
            NOTHING_IS_DUE,
        ),
        Absence::new(
            &[
                figure::EXPIRE,
                figure::WAKE_QUERY,
                figure::WAKE_QUERY_AND_ADVANCE,
                figure::IDLE_JUMP,
                figure::IDLE_STEPS,
                figure::CAFFEINE_EXPIRE,
                figure::CAFFEINE_WAKE,
                figure::MOVES,
                figure::EXPIRE_JUMPING,
                figure::LONGEST_CALL,
                figure::CALM_LONGEST_CALL,
                figure::TAIL_CALL,
                figure::MOST_ENTRIES,
                figure::WHOLE_HOUR,
                figure::BURST,
            ],
            NOTHING_IS_DUE,
        ),
    ],
    fill: Some(fill::measure::<BareSlab>),
    churn: Some(churn::measure::<BareSlab>),
    refresh: Some(refresh::measure::<BareSlab>),
    memory: Some(memory::measure::<BareSlab>),
    caffeine: Caffeine {
        reschedule: Some(caffeine::measure_reschedule::<BareSlab>),
        ..Subject::named(BareSlab::NAME).caffeine
    },
    ..Subject::named(BareSlab::NAME)
};

const NOTHING_IS_DUE: &str = "nothing in it is ever due";

struct BareSlab(Slab<u32>);

impl Queue for BareSlab {
    const NAME: &'static str = "slab";
    const PROMISE: Promise = Promise::NothingExpires;
    const WORK: Work = Work::FiresOnly;
    type Key = u32;

    #[inline]
    fn new() -> Self {
        Self(Slab::new())
    }

    #[inline]
    fn schedule(&mut self, _deadline: u64, value: u32) -> u32 {
        self.0.insert(value) as u32
    }

    #[inline]
    fn advance(&mut self, _now: u64, _fire: impl FnMut(u32)) {}
}

impl Cancel for BareSlab {
    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.0.try_remove(key as usize)
    }
}

impl Reschedule for BareSlab {
    /// Touches the entry: the deadline's low half takes the place of the value.
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let Some(value) = self.0.get_mut(*key as usize) else {
            return false;
        };
        *value = deadline as u32;
        true
    }
}
