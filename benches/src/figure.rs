//! What is measured: figures, and what each needs of a queue.

use crate::queue::Need::{self, Delays};
use crate::results::{Counts, Row, Spread};

/// One number of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The workload and what it is the number of: `W1a schedule`.
    pub name: &'static str,
    /// What it counts: `ns`, `bytes`.
    pub unit: &'static str,
    /// Which of its samples is quoted.
    pub counts: Counts,
    needs: &'static [Need],
    /// Whether a queue of timers with one delay has it.
    is_of_one_ttl: bool,
}

pub(crate) const fn median(name: &'static str, unit: &'static str, needs: &'static [Need]) -> Figure {
    Figure { name, unit, counts: Counts::Median, needs, is_of_one_ttl: false }
}

pub(crate) const fn time(name: &'static str, needs: &'static [Need]) -> Figure {
    median(name, "ns", needs)
}

pub(crate) const fn one_ttl(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure { is_of_one_ttl: true, ..time(name, needs) }
}

/// The time of a single call: what else the machine did made some samples longer, and none shorter.
pub(crate) const fn call(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure { counts: Counts::Min, ..time(name, needs) }
}

impl Figure {
    /// `W1a`.
    pub fn workload(&self) -> &'static str {
        self.name.split(' ').next().unwrap_or_default()
    }

    /// What was measured of it at a size. O(1).
    pub fn row(&self, n: u64, subjects: Vec<(String, Spread)>) -> Row {
        Row { figure: self.name.to_owned(), n, unit: self.unit.to_owned(), counts: self.counts, subjects }
    }

    /// Whether a queue that lacks so much has no such figure. O(1).
    pub fn is_beyond(&self, lacks: &[Need]) -> bool {
        let is_needed = |lack: &Need| self.needs.contains(lack) || *lack == Delays && !self.is_of_one_ttl;
        lacks.iter().any(is_needed)
    }
}
