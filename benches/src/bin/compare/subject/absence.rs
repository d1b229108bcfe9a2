//! Why a subject lacks a figure that others have.

use crate::figure::{self, Figure};

/// Why a subject does not have some figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absence {
    figures: &'static [Figure],
    pub(super) reason: &'static str,
}

impl Absence {
    pub(super) const fn new(figures: &'static [Figure], reason: &'static str) -> Self {
        Self { figures, reason }
    }

    pub(super) fn covers(&self, figure: Figure) -> bool {
        self.figures.contains(&figure)
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
