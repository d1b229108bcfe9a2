//! What is measured: figures, those of the workloads of queues among them, and what each needs of a queue.

use crate::queue::Need::{self, *};
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

impl Figure {
    /// A figure that every subject has. O(1).
    pub const fn new(name: &'static str, unit: &'static str, counts: Counts) -> Self {
        Self { name, unit, counts, needs: &[], is_of_one_ttl: false }
    }

    const fn needing(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
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

/// The figure of queues that has this name. O(figures).
pub fn named(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

const fn time(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure::new(name, "ns", Counts::Median).needing(needs)
}

const fn one_ttl(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure { is_of_one_ttl: true, ..time(name, needs) }
}

/// The time of a single call: what else the machine did made some samples longer, and none shorter.
const fn call(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure::new(name, "ns", Counts::Min).needing(needs)
}

const fn bytes(name: &'static str, needs: &'static [Need]) -> Figure {
    Figure::new(name, "bytes", Counts::Median).needing(needs)
}

const STEADY: &[Need] = &[Cancel, Move, Fire, SingleCalls];
const PEAK: &[Need] = &[Cancel, Clear, SingleCalls];
const SERVER: &[Need] = &[Cancel, Fire, SingleCalls];
const CALLS: &[Need] = &[Fire, SingleCalls];
const BUDGETED: &[Need] = &[Fire, SingleCalls, Budget];

/// Every figure, in the order of the workloads.
#[rustfmt::skip]
pub static FIGURES: &[Figure] = &[
    time("W1a schedule", &[]),
    time("W1b cancel", &[Cancel]),
    time("W1c schedule, aged", &[Cancel]),
    time("W2 expire", &[Fire]),
    time("W3 cancel one, schedule one", &[Cancel]),
    time("W4 reschedule to later", &[Move]),
    call("W6 calm longest call", CALLS),
    call("W6b calm longest call", BUDGETED),
    time("W7 expire a burst", &[Fire]),
    time("W7 expire a burst, spread over its tick", &[Fire]),
    call("W7 longest call, budget 256", BUDGETED),
    bytes("W8 after W1a", &[]),
    time("W9 expire in 5 min steps", &[Fire]),
    call("W10 longest advance", STEADY),
    time("W10 in all", STEADY),
    time("W11 hold exponential", &[First]),
    time("W11 hold uniform", &[First]),
    time("W11 hold bimodal", &[First]),
    time("W11 hold triangular", &[First]),
    time("W11 hold nearly constant", &[First]),
    bytes("W12 a queue", STEADY),
    time("W12 operation", STEADY),
    time("W13 eviction one TTL", &[First]),
    time("W13 eviction many TTLs", &[First]),
    time("W14 expire, far", &[Fire, Horizon]),
    call("W15 longest schedule", PEAK),
    call("W15 longest cancel of collected", &[Cancel, Clear, SingleCalls, First]),
    call("W15 clear of 10 after the peak", PEAK),
    call("W15 drop of 10 after the peak", PEAK),
    time("W16 p99 of schedules", SERVER),
    time("W16 p99.9 of schedules", SERVER),
    time("W16 p99 of cancels", SERVER),
    time("W16 p99.9 of cancels", SERVER),
    time("W16 p99 of advances", SERVER),
    time("W16 p99.9 of advances", SERVER),
    one_ttl("W19 full life", &[Fire]),
    one_ttl("W19 eviction", &[Fire, First]),
    one_ttl("W19 one renewal a TTL", &[Fire, Move]),
    one_ttl("W19 four renewals a TTL", &[Fire, Move]),
    time("W20 end and begin", &[Cancel, Fire]),
    time("W20 p99 of advances", SERVER),
    call("W20 longest advance", SERVER),
    time("W22 arm", &[Fire]),
    time("W22 expire", &[Fire]),
    time("W22 in all", &[Fire]),
    time("W23 idle advance, next tick", CALLS),
    time("W23 idle advance, same tick", CALLS),
];
