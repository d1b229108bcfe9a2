//! What is measured: each queue with the experiments it takes part in, and why in no others.
//!
//! To add a queue, adapt it in `timer_wheel_bench::rivals` to the traits whose operations it offers, and
//! list it here.

mod absence;

use timer_wheel::{Caffeine as Coarse, Micros, Millis, Wheel};
use timer_wheel_bench::queue::{Budgeted, Cancel, Ordered, Pop, Queue, Reschedule, Wakes};
use timer_wheel_bench::rivals::{BareSlab, BitWheel, Delays, HashWheel, Heap, Indexed, Ora, ticks};
use timer_wheel_bench::{BTreeQueue, BareSet, LeanBTreeQueue, TextbookWheel};

use crate::experiment::{
    Measure, budgeted, burst, caffeine, churn, evict, expire, far, fill, hold, idle, longest,
    memory, moves, pause, peak, refresh, server, small, wake,
};
use crate::figure::{self, Figure, Workload};

use absence::{
    Absence, NO_BUDGET, NO_CANCEL, NO_CLEAR, NO_COUNT, NO_FIRST, NO_MOVE, NO_ORDER, OTHER_HORIZON,
};

/// Every subject, in the order of the tables. The first is the one that the others are held against.
pub(crate) static ALL: [Subject; 12] = [
    WHEEL,
    TEXTBOOK,
    SLAB,
    BTREE,
    BTREE_SLAB,
    BTREE_QUEUE,
    HEAP,
    DELAY_QUEUE,
    HASH_WHEEL,
    ORA,
    INDEXED,
    BIT_WHEEL,
];

/// Not measured unless asked for: it is there to show what its promises cost.
pub(crate) const ON_REQUEST: &str = BTREE_QUEUE.name;

const WHEEL: Subject = Subject::moving::<Wheel<u32, Millis>, Wheel<u32, Coarse>>()
    .waking::<Wheel<u32, Millis>, Wheel<u32, Coarse>>()
    .ordered::<Wheel<u32, Coarse>>()
    .budgeted::<Wheel<u32, Millis>>()
    .mixed::<Wheel<u32, Millis>>()
    .popping::<Wheel<u32, Millis>, Wheel<u32, Micros>>()
    .far::<Wheel<u32, Micros>>()
    .clearing::<Wheel<u32, Millis>>();

const TEXTBOOK: Subject = Subject::moving::<TextbookWheel<u32>, TextbookWheel<u32, Coarse>>()
    .waking::<TextbookWheel<u32>, TextbookWheel<u32, Coarse>>()
    .mixed::<TextbookWheel<u32>>()
    .far::<TextbookWheel<u32, Micros>>()
    .lacking(&[NO_BUDGET, NO_ORDER, NO_FIRST, NO_CLEAR]);

const BTREE: Subject = Subject::tree::<BareSet>()
    .ordered::<BareSet>()
    .budgeted::<BareSet>();

const BTREE_SLAB: Subject = Subject::tree::<LeanBTreeQueue<u32>>()
    .ordered::<LeanBTreeQueue<u32>>()
    .budgeted::<LeanBTreeQueue<u32>>();

const BTREE_QUEUE: Subject = Subject::tree::<BTreeQueue<u32>>().lacking(&[NO_BUDGET, NO_ORDER]);

const INDEXED: Subject = Subject::tree::<Indexed>().lacking(&[NO_BUDGET, NO_ORDER]);

const HEAP: Subject = Subject {
    fill: Some(fill::measure_fresh::<Heap>),
    memory: Some(memory::measure_fresh::<Heap>),
    ..Subject::firing::<Heap, Heap>()
        .waking::<Heap, Heap>()
        .popping::<Heap, Heap>()
        .far::<Heap>()
        .lacking(&[
            NO_BUDGET,
            NO_ORDER,
            NO_CANCEL,
            Absence::new(figure::OF_CANCELLING, CANNOT_CANCEL),
        ])
};

const ORA: Subject = Subject {
    fill: Some(fill::measure_fresh::<Ora<{ ticks::FINE }>>),
    memory: Some(memory::measure_fresh::<Ora<{ ticks::FINE }>>),
    ..Subject::firing::<Ora<{ ticks::FINE }>, Ora<{ ticks::COARSE }>>()
        .waking::<Ora<{ ticks::FINE }>, Ora<{ ticks::COARSE }>>()
        .lacking(&[
            NO_BUDGET,
            NO_COUNT,
            NO_ORDER,
            NO_CANCEL,
            NO_FIRST,
            OTHER_HORIZON,
            Absence::new(figure::OF_CANCELLING, CANNOT_CANCEL),
        ])
};

const CANNOT_CANCEL: &str = "a timer cannot be cancelled or moved";

const HASH_WHEEL: Subject = Subject {
    server: Some(server::measure::<HashWheel<{ ticks::MILLISECOND }>>),
    ..Subject::cancelling::<HashWheel<{ ticks::FINE }>, HashWheel<{ ticks::COARSE }>>()
        .waking::<HashWheel<{ ticks::FINE }>, HashWheel<{ ticks::COARSE }>>()
        .lacking(&[
            NO_BUDGET,
            NO_COUNT,
            NO_ORDER,
            NO_MOVE,
            NO_FIRST,
            NO_CLEAR,
            OTHER_HORIZON,
            Absence::new(
                &[figure::REFRESH, figure::CAFFEINE_RESCHEDULE],
                "a timer cannot be moved",
            ),
        ])
};

const DELAY_QUEUE: Subject = Subject {
    longest: None,
    idle: None,
    ..Subject::moving::<Delays<{ ticks::FINE }>, Delays<{ ticks::COARSE }>>().lacking(&[
        NO_BUDGET,
        NO_COUNT,
        NO_ORDER,
        NO_FIRST,
        OTHER_HORIZON,
        Absence::new(
            &[
                figure::LONGEST_CALL,
                figure::CALM_LONGEST_CALL,
                figure::TAIL_CALL,
                figure::WHOLE_HOUR,
                figure::IDLE_JUMP,
                figure::IDLE_STEPS,
            ],
            ONE_OF_TWO,
        ),
        Absence::from(
            &[Workload::W10, Workload::W12, Workload::W15, Workload::W16],
            ONE_OF_TWO,
        ),
        Absence::new(
            &[
                figure::WAKE_QUERY,
                figure::WAKE_QUERY_AND_ADVANCE,
                figure::CAFFEINE_WAKE,
            ],
            "it arms a timer of the runtime and tells nobody for when",
        ),
        Absence::new(
            &[figure::CHURN, figure::CHURN_BYTES],
            "so many timers fire before they are cancelled, and their keys are used again",
        ),
    ])
};

const ONE_OF_TWO: &str = "a single call cannot be told from the turn of the runtime that it needs";

const BIT_WHEEL: Subject = Subject {
    server: Some(server::measure::<BitWheel>),
    ..Subject::named(BitWheel::NAME).lacking(&[Absence::of_the_rest(
        "its timers are as late as its gears are coarse",
    )])
};

const SLAB: Subject = Subject {
    fill: Some(fill::measure::<BareSlab>),
    churn: Some(churn::measure::<BareSlab>),
    refresh: Some(refresh::measure::<BareSlab>),
    memory: Some(memory::measure::<BareSlab>),
    caffeine: Caffeine {
        reschedule: Some(caffeine::measure_reschedule::<BareSlab>),
        ..Subject::named(BareSlab::NAME).caffeine
    },
    ..Subject::named(BareSlab::NAME).lacking(&[Absence::of_the_rest("nothing in it is ever due")])
};

/// A queue and the experiments it takes part in. The functions are instances of the generic ones for
/// its type, so that what is chosen at run time is an experiment, never an operation.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    absences: &'static [Absence],
    pub(crate) fill: Option<Measure<fill::Input>>,
    pub(crate) expire: Option<Measure<expire::Input>>,
    pub(crate) moves: Option<Measure<expire::Input>>,
    pub(crate) churn: Option<Measure<churn::Input>>,
    pub(crate) refresh: Option<Measure<refresh::Input>>,
    pub(crate) longest: Option<Measure<longest::Input>>,
    pub(crate) budgeted: Option<Measure<longest::Input>>,
    pub(crate) burst: Option<Measure<burst::Input>>,
    pub(crate) budgeted_burst: Option<Measure<burst::Input>>,
    pub(crate) memory: Option<Measure<memory::Input>>,
    pub(crate) wake: Option<Measure<wake::Input>>,
    pub(crate) idle: Option<Measure<idle::Input>>,
    pub(crate) caffeine: Caffeine,
    pub(crate) pause: Option<Measure<pause::Input>>,
    pub(crate) hold: Option<Measure<hold::Input>>,
    pub(crate) small: Option<Measure<small::Input>>,
    pub(crate) weigh_small: Option<Measure<small::Input>>,
    pub(crate) evict: Option<Measure<evict::Input>>,
    pub(crate) far: Option<Measure<far::Input>>,
    pub(crate) peak: Option<Measure<peak::Input>>,
    pub(crate) server: Option<Measure<server::Input>>,
}

/// The parts of W9, in which a queue that has a geometry is given Caffeine's.
#[derive(Clone, Copy)]
pub(crate) struct Caffeine {
    pub(crate) reschedule: Option<Measure<caffeine::Input>>,
    pub(crate) expire: Option<Measure<caffeine::Input>>,
    pub(crate) wake: Option<Measure<caffeine::Input>>,
    pub(crate) order: Option<Measure<caffeine::Input>>,
}

impl Subject {
    /// A subject that takes part in nothing.
    const fn named(name: &'static str) -> Self {
        Self {
            name,
            absences: &[],
            fill: None,
            expire: None,
            moves: None,
            churn: None,
            refresh: None,
            longest: None,
            budgeted: None,
            burst: None,
            budgeted_burst: None,
            memory: None,
            wake: None,
            idle: None,
            caffeine: Caffeine {
                reschedule: None,
                expire: None,
                wake: None,
                order: None,
            },
            pause: None,
            hold: None,
            small: None,
            weigh_small: None,
            evict: None,
            far: None,
            peak: None,
            server: None,
        }
    }

    /// A subject that can schedule and fire: `C` is the same queue in Caffeine's geometry.
    const fn firing<Q: Queue, C: Queue>() -> Self {
        let named = Self::named(Q::NAME);
        Self {
            expire: Some(expire::measure::<Q>),
            moves: Some(moves::measure::<Q>),
            longest: Some(longest::measure::<Q>),
            burst: Some(burst::measure::<Q>),
            idle: Some(idle::measure::<Q>),
            caffeine: Caffeine {
                expire: Some(caffeine::measure_expire::<C>),
                ..named.caffeine
            },
            ..named
        }
    }

    /// One whose timers can be cancelled too.
    const fn cancelling<Q: Cancel, C: Queue>() -> Self {
        Self {
            fill: Some(fill::measure::<Q>),
            churn: Some(churn::measure::<Q>),
            memory: Some(memory::measure::<Q>),
            ..Self::firing::<Q, C>()
        }
    }

    /// One whose timers can be moved as well.
    const fn moving<Q: Reschedule, C: Reschedule>() -> Self {
        let cancelling = Self::cancelling::<Q, C>();
        Self {
            refresh: Some(refresh::measure::<Q>),
            caffeine: Caffeine {
                reschedule: Some(caffeine::measure_reschedule::<C>),
                ..cancelling.caffeine
            },
            ..cancelling
        }
    }

    /// An ordered set or the like, which can do nearly all, in no geometry.
    const fn tree<Q: Reschedule + Wakes + Pop>() -> Self {
        Self::moving::<Q, Q>()
            .waking::<Q, Q>()
            .mixed::<Q>()
            .popping::<Q, Q>()
            .far::<Q>()
            .clearing::<Q>()
    }

    /// The same, able to say when to be advanced next.
    const fn waking<Q: Wakes, C: Wakes>(self) -> Self {
        Self {
            wake: Some(wake::measure::<Q>),
            caffeine: Caffeine {
                wake: Some(caffeine::measure_wake::<C>),
                ..self.caffeine
            },
            ..self
        }
    }

    /// The same, able to list its timers in order.
    const fn ordered<C: Ordered>(self) -> Self {
        Self {
            caffeine: Caffeine {
                order: Some(caffeine::measure_order::<C>),
                ..self.caffeine
            },
            ..self
        }
    }

    /// The same, able to advance by a budget.
    const fn budgeted<Q: Budgeted>(self) -> Self {
        Self {
            budgeted: Some(budgeted::measure::<Q>),
            budgeted_burst: Some(burst::measure_budgeted::<Q>),
            ..self
        }
    }

    /// The same, in steady use by many and in many small ones.
    const fn mixed<Q: Reschedule>(self) -> Self {
        Self {
            pause: Some(pause::measure::<Q>),
            small: Some(small::measure::<Q>),
            weigh_small: Some(small::weigh::<Q>),
            server: Some(server::measure::<Q>),
            ..self
        }
    }

    /// The same, able to give its earliest timer: `F` is the same queue in the geometry `Micros`.
    const fn popping<Q: Pop, F: Pop>(self) -> Self {
        Self {
            hold: Some(hold::measure::<F>),
            evict: Some(evict::measure::<Q>),
            ..self
        }
    }

    /// The same, beyond the horizon of the geometry `Micros`, which is that of `F`.
    const fn far<F: Queue>(self) -> Self {
        Self {
            far: Some(far::measure::<F>),
            ..self
        }
    }

    /// The same, able to be emptied.
    const fn clearing<Q: Cancel + Pop>(self) -> Self {
        Self {
            peak: Some(peak::measure::<Q>),
            ..self
        }
    }

    /// The same, with the reasons for what it lacks.
    const fn lacking(self, absences: &'static [Absence]) -> Self {
        Self { absences, ..self }
    }

    /// Why the subject lacks a figure, if it says so.
    pub(crate) fn reason_to_lack(&self, figure: Figure) -> Option<&'static str> {
        self.absences
            .iter()
            .find(|absence| absence.covers(figure))
            .map(|absence| absence.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let is_repeated = |at: usize| ALL[..at].iter().any(|it| it.name == ALL[at].name);
        assert!(!(0..ALL.len()).any(is_repeated));
    }
}
