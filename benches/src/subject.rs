//! What is measured: each queue in the geometries that the experiments ask for.
//!
//! To add a queue, implement [`Queue`] for it, and list it here.

use timer_wheel::ttl::{TtlQueue, TtlSet};
use timer_wheel::{Caffeine, Micros, Wheel};

use crate::btree::{BTreeQueue, LeanBTreeQueue, SplitMap};
use crate::experiments::{Family, Kind, Outcome};
use crate::queue::{Applied, InLane, Indexed, Need, OutOfLine, Queue, TwoSets};
use crate::rivals::{BareSlab, COARSE, Delays, FINE, Handwritten, HashWheel, Heap, Nexus, NexusTimeouts, Ora};
use crate::textbook::TextbookWheel;
use crate::workload::MILLISECOND;

/// A queue. What is chosen at run time is an experiment on it, never an operation.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name under which it stands in tables.
    pub name: &'static str,
    pub lacks: &'static [Need],
    /// Measures it once, if it has what the experiment needs.
    pub measure: fn(Kind, usize) -> Outcome,
}

impl Subject {
    pub const fn of<F: Family>() -> Self {
        Self { name: F::Fine::NAME, lacks: F::Fine::LACKS, measure: Kind::measure::<F> }
    }
}

impl<Fine: Queue, Coarse: Queue, Micro: Queue, Milli: Queue> Family for (Fine, Coarse, Micro, Milli) {
    type Fine = Fine;
    type Coarse = Coarse;
    type Micro = Micro;
    type Milli = Milli;
}

/// A queue in one geometry, or in none.
pub type Same<Q> = (Q, Q, Q, Q);
/// `schedule` and `cancel` are calls, so that their figures do not rise and fall with the number of experiments.
type OfWheel<Q, C, M> = (OutOfLine<Q>, OutOfLine<C>, OutOfLine<M>, OutOfLine<Q>);
type OfTicks<F, C, M> = (F, C, F, M);

/// Not measured unless asked for: what the promises of a set cost, and TTLs, whose rival is one of them.
pub const ON_REQUEST: [&str; 4] = ["btree-queue", "TtlSet", "TtlQueue", "two-sets"];

/// Every subject, in the order of the tables. The others are held against the first.
#[rustfmt::skip]
pub static ALL: &[Subject] = &[
    Subject::of::<OfWheel<Wheel<u32>, Wheel<u32, Caffeine>, Wheel<u32, Micros>>>(),
    Subject::of::<OfWheel<Indexed, Indexed<Caffeine>, Indexed<Micros>>>(),
    Subject::of::<OfWheel<InLane<u32>, InLane<u32, Caffeine>, InLane<u32, Micros>>>(),
    Subject::of::<OfWheel<TextbookWheel<u32>, TextbookWheel<u32, Caffeine>, TextbookWheel<u32, Micros>>>(),
    Subject::of::<Same<BareSlab>>(),
    Subject::of::<Same<LeanBTreeQueue<u32>>>(),
    Subject::of::<Same<SplitMap>>(),
    Subject::of::<Same<BTreeQueue<u32>>>(),
    Subject::of::<Same<Heap>>(),
    Subject::of::<OfTicks<Handwritten<FINE>, Handwritten<COARSE>, Handwritten<MILLISECOND>>>(),
    Subject::of::<OfTicks<Delays<FINE>, Delays<COARSE>, Delays<MILLISECOND>>>(),
    Subject::of::<OfTicks<HashWheel<FINE>, HashWheel<COARSE>, HashWheel<MILLISECOND>>>(),
    Subject::of::<OfTicks<Nexus<FINE>, Nexus<COARSE>, Nexus<MILLISECOND>>>(),
    Subject::of::<Same<NexusTimeouts<FINE>>>(),
    Subject::of::<OfTicks<Ora<FINE>, Ora<COARSE>, Ora<MILLISECOND>>>(),
    Subject::of::<Same<Applied<TtlSet<u32>>>>(),
    Subject::of::<Same<Applied<TtlQueue<u32>>>>(),
    Subject::of::<Same<Applied<TwoSets>>>(),
];
