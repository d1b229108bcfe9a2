//! Why a subject lacks a figure that others have.

use crate::figure::{self, Figure, Workload};

/// Why a subject does not have some figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absence {
    of: Missing,
    pub(super) reason: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Missing {
    Figures(&'static [Figure]),
    Workloads(&'static [Workload]),
    /// All that no other reason is given for.
    Rest,
}

impl Absence {
    pub(super) const fn new(figures: &'static [Figure], reason: &'static str) -> Self {
        let of = Missing::Figures(figures);
        Self { of, reason }
    }

    pub(super) const fn from(workloads: &'static [Workload], reason: &'static str) -> Self {
        let of = Missing::Workloads(workloads);
        Self { of, reason }
    }

    pub(super) const fn of_the_rest(reason: &'static str) -> Self {
        let of = Missing::Rest;
        Self { of, reason }
    }

    pub(super) fn covers(&self, figure: Figure) -> bool {
        match self.of {
            Missing::Figures(figures) => figures.contains(&figure),
            Missing::Workloads(workloads) => workloads.contains(&figure.workload),
            Missing::Rest => true,
        }
    }
}

/// What only a queue with a budget has.
const BUDGETED: &[Figure] = &[
    figure::BUDGETED_LONGEST_CALL,
    figure::CALM_BUDGETED_LONGEST_CALL,
    figure::BUDGETED_MOST_ENTRIES,
    figure::BUDGETED_WHOLE_HOUR,
    figure::BURST_LONGEST_CALL,
];
pub(super) const NO_BUDGET: Absence = Absence::new(BUDGETED, "an advance cannot be bounded");
pub(super) const NO_ORDER: Absence = Absence::new(
    &[figure::ASCENDING, figure::DESCENDING],
    "its timers cannot be listed in order",
);
pub(super) const NO_COUNT: Absence = Absence::new(
    &[figure::MOVES, figure::MOST_ENTRIES],
    "it does not say how many timers it moves",
);
pub(super) const NO_FIRST: Absence = Absence::from(
    &[Workload::W11, Workload::W13],
    "its earliest timer cannot be taken before it is due",
);
pub(super) const NO_CANCEL: Absence = Absence::from(
    &[Workload::W10, Workload::W12, Workload::W15, Workload::W16],
    "a timer cannot be cancelled",
);
pub(super) const NO_MOVE: Absence =
    Absence::from(&[Workload::W10, Workload::W12], "a timer cannot be moved");
pub(super) const NO_CLEAR: Absence =
    Absence::from(&[Workload::W15], "it cannot be emptied at one go");
pub(super) const OTHER_HORIZON: Absence = Absence::from(&[Workload::W14], "its horizon is another");
