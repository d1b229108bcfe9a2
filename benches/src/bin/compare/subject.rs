//! What can be measured: the register of subjects.
//!
//! To add a subject, write a file beside the others that implements [`Queue`], and of the other traits
//! in [`queue`] those whose operation it offers, and that names the experiments it takes part in and
//! says why it takes no part in others; then list it in [`ALL`]. An operation that a queue lacks is not
//! made up for: a figure would be the substitute's.

mod absence;
mod bitwheel;
mod btree;
mod btree_queue;
mod btree_slab;
mod delay_queue;
mod heap;
mod hhwt;
mod ora_timer;
mod priority_queue;
mod queue;
mod slab;
mod textbook;
mod ticks;
mod wheel;

use crate::answer::WrongAnswer;
use crate::experiment::{
    budgeted, burst, caffeine, churn, evict, expire, far, fill, hold, idle, longest, memory, moves,
    pause, peak, refresh, server, small, wake,
};
use crate::figure::{Figure, Sample};
use crate::ledger::Ledger;

use absence::{
    Absence, NO_BUDGET, NO_CANCEL, NO_CLEAR, NO_COUNT, NO_FIRST, NO_MOVE, NO_ORDER, OTHER_HORIZON,
};

pub(crate) use queue::{
    Budgeted, Cancel, Clear, Instalment, Ordered, PopExpired, PopFirst, Queue, Reschedule, Wakes,
    Work,
};

/// Every subject, in the order of the tables. The first is the one that the others are held against.
pub(crate) const ALL: [Subject; 12] = [
    wheel::SUBJECT,
    textbook::SUBJECT,
    slab::SUBJECT,
    btree::SUBJECT,
    btree_slab::SUBJECT,
    btree_queue::SUBJECT,
    heap::SUBJECT,
    delay_queue::SUBJECT,
    hhwt::SUBJECT,
    ora_timer::SUBJECT,
    priority_queue::SUBJECT,
    bitwheel::SUBJECT,
];

/// Not measured unless asked for: it is there to show what its promises cost.
pub(crate) const ON_REQUEST: &str = btree_queue::SUBJECT.name;

/// Measures a subject once on an input.
pub(crate) type Measure<Input> = fn(&Input) -> Result<Vec<Sample>, WrongAnswer>;

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
    const fn unbudgeted<Q: Cancel + Reschedule, C: Reschedule>() -> Self {
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
    const fn mixed<Q: Cancel + Reschedule>(self) -> Self {
        Self {
            pause: Some(pause::measure::<Q>),
            small: Some(small::measure::<Q>),
            weigh_small: Some(small::weigh::<Q>),
            server: Some(server::measure::<Q>),
            ..self
        }
    }

    /// The same, able to give its earliest timer: `F` is the same queue in the geometry `Micros`.
    const fn popping<Q: PopFirst, F: PopFirst>(self) -> Self {
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
    const fn clearing<Q: Cancel + PopExpired + Clear>(self) -> Self {
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

/// Refuses a subject that lacks a figure which another one has, and does not say why.
pub(crate) fn check_complete(
    subjects: &[&'static Subject],
    n: usize,
    ledger: &Ledger,
) -> Result<(), WrongAnswer> {
    for figure in ledger.figures() {
        for subject in subjects {
            let is_measured = ledger.find(n, subject.name, figure).is_some();
            if !is_measured && subject.reason_to_lack(figure).is_none() {
                let (workload, figure) = (figure.workload.name(), figure.name);
                let fault = format!("lacks {workload}, {figure}, and gives no reason");
                return Err(WrongAnswer::new(subject.name, fault));
            }
        }
    }
    Ok(())
}

/// The same as [`ALL`], with an address.
pub(crate) fn all() -> &'static [Subject] {
    static SUBJECTS: [Subject; ALL.len()] = ALL;
    &SUBJECTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure;

    #[test]
    fn subject_without_a_figure_and_without_a_reason_is_refused() {
        let subjects = [&all()[0], &all()[6]];
        assert_eq!((subjects[0].name, subjects[1].name), ("wheel", "heap"));
        let mut ledger = Ledger::new();
        ledger.record(10, "wheel", figure::CHURN.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_ok());
        ledger.record(10, "wheel", figure::EXPIRE.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_err());
        ledger.record(10, "heap", figure::EXPIRE.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_ok());
    }

    #[test]
    fn names_are_distinct() {
        let is_repeated = |at: usize| ALL[..at].iter().any(|it| it.name == ALL[at].name);
        assert!(!(0..ALL.len()).any(is_repeated));
    }
}
