//! The table before, while what it held is moved.

use super::table::{Lead, ShortHash, Table};

/// Places that a call moves on, up to the end of a run: two cache lines. Two places would suffice to
/// be done before the next table is full.
pub(super) const STEP: usize = 16;

/// A table that was full, while its leads are moved to the next one.
///
/// They are moved in the order of the places, run by run, from a free place on and all the way round.
/// Nothing is added any more.
///
/// Invariant: a lead whose home has been passed has been moved, and any other lies behind what has
/// been passed.
#[derive(Clone, Debug)]
pub(super) struct Former {
    pub(super) table: Table,
    /// The place that was passed first, a free one.
    first: usize,
    /// Places that have been passed; the last of them was free.
    pub(super) passed: usize,
}

impl Former {
    pub(super) fn new(table: Table) -> Self {
        let free = (0..table.len()).find(|&place| table.lead(place) == Lead::NONE);
        Self {
            first: free.expect("of four places one is free"),
            table,
            passed: 0,
        }
    }

    /// Whether leads of this hash have not been moved yet.
    #[inline]
    pub(super) fn holds(&self, hash: ShortHash) -> bool {
        let home = self.table.home(hash);
        home.wrapping_sub(self.first) & self.table.mask() >= self.passed
    }

    /// Moves some leads to another table, and says whether there are more.
    pub(super) fn move_some(&mut self, to: &mut Table) -> bool {
        let enough = self.passed + STEP;
        while self.passed < self.table.len() {
            let place = (self.first + self.passed) & self.table.mask();
            let lead = self.table.lead(place);
            self.passed += 1;
            if lead != Lead::NONE {
                to.put(lead);
            } else if self.passed >= enough {
                return true;
            }
        }
        false
    }

    /// Checks the invariants, by name, and says how many leads are left. O(places), if runs are short.
    pub(super) fn check(&self) -> usize {
        let ahead = |place: &usize| place.wrapping_sub(self.first) & self.table.mask();
        let is_left = |place: &usize| ahead(place) >= self.passed;
        let mut leads = 0;
        for place in self.table.taken().filter(is_left) {
            self.table.check(place);
            assert!(
                self.holds(self.table.lead(place).hash()),
                "a lead of a full table is moved when its home is passed"
            );
            leads += 1;
        }
        leads
    }
}
