//! What can be measured: the traits that a queue is driven through, and the register of subjects.
//!
//! To add a subject, write a file beside the others that implements [`Queue`], and [`Cancel`] or
//! [`Budgeted`] if it can, and that names the experiments it takes part in; then list it in [`ALL`].

mod btree;
mod btree_queue;
mod btree_slab;
mod slab;
mod textbook;
mod wheel;

use crate::answer::{Promise, WrongAnswer};
use crate::experiment::{budgeted, burst, churn, expire, fill, longest, refresh};
use crate::figure::Sample;

/// Every subject, in the order of the tables. The first is the one that the others are held against.
pub(crate) const ALL: [Subject; 6] = [
    wheel::SUBJECT,
    textbook::SUBJECT,
    slab::SUBJECT,
    btree::SUBJECT,
    btree_slab::SUBJECT,
    btree_queue::SUBJECT,
];

/// Those measured unless others are asked for: the last of [`ALL`] is there to show what its promises
/// cost.
pub(crate) const DEFAULT: [&str; 5] = ["wheel", "textbook", "slab", "btree", "btree+slab"];

/// A queue of timers with `u32` values, as the timed loops drive it: without indirection.
pub(crate) trait Queue {
    const NAME: &'static str;
    const PROMISE: Promise;
    type Key: Copy;

    /// An empty queue at time zero.
    fn new() -> Self;

    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key;

    /// Fires every timer due by `now`.
    fn advance(&mut self, now: u64, fire: impl FnMut(u32));

    /// The same, and says how many entries it handled: those fired and those moved on the way.
    fn advance_counting(&mut self, now: u64, mut fire: impl FnMut(u32)) -> usize {
        let mut fired = 0;
        self.advance(now, |value| {
            fired += 1;
            fire(value);
        });
        fired
    }
}

/// A queue whose timers can be cancelled and postponed.
pub(crate) trait Cancel: Queue {
    fn cancel(&mut self, key: Self::Key) -> Option<u32>;

    /// Moves a timer; `key` is brought up to date by a queue whose keys do not outlive a move.
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool;
}

/// A queue that can stop an advance part way and resume it.
pub(crate) trait Budgeted: Queue {
    fn advance_with_budget(&mut self, now: u64, budget: usize, fire: impl FnMut(u32))
    -> Instalment;
}

/// What one call with a budget did.
pub(crate) struct Instalment {
    pub(crate) used: usize,
    pub(crate) has_backlog: bool,
}

/// Measures a subject once on an input.
pub(crate) type Measure<Input> = fn(&Input) -> Result<Vec<Sample>, WrongAnswer>;

/// A queue and the experiments it takes part in. The functions are instances of the generic ones for
/// its type, so that what is chosen at run time is an experiment, never an operation.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) fill: Option<Measure<fill::Input>>,
    pub(crate) expire: Option<Measure<expire::Input>>,
    pub(crate) churn: Option<Measure<churn::Input>>,
    pub(crate) refresh: Option<Measure<refresh::Input>>,
    pub(crate) longest: Option<Measure<longest::Input>>,
    pub(crate) budgeted: Option<Measure<longest::Input>>,
    pub(crate) burst: Option<Measure<burst::Input>>,
    pub(crate) budgeted_burst: Option<Measure<burst::Input>>,
}

impl Subject {
    /// A subject that takes part in nothing.
    const fn named(name: &'static str) -> Self {
        Self {
            name,
            fill: None,
            expire: None,
            churn: None,
            refresh: None,
            longest: None,
            budgeted: None,
            burst: None,
            budgeted_burst: None,
        }
    }

    /// A subject that takes part in all that needs no budget.
    const fn unbudgeted<Q: Cancel>() -> Self {
        Self {
            fill: Some(fill::measure::<Q>),
            expire: Some(expire::measure::<Q>),
            churn: Some(churn::measure::<Q>),
            refresh: Some(refresh::measure::<Q>),
            longest: Some(longest::measure::<Q>),
            burst: Some(burst::measure::<Q>),
            ..Self::named(Q::NAME)
        }
    }

    /// A subject that takes part in everything.
    const fn complete<Q: Cancel + Budgeted>() -> Self {
        Self {
            budgeted: Some(budgeted::measure::<Q>),
            budgeted_burst: Some(burst::measure_budgeted::<Q>),
            ..Self::unbudgeted::<Q>()
        }
    }
}
