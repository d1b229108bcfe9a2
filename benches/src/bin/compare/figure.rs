//! What is measured: the workloads, and the figures that each of them gives.

use clap::ValueEnum;

/// A workload, by the name under which every program's figures are laid side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// Schedule into an empty queue
    #[value(name = "W1a")]
    W1a,
    /// Cancel all in a random order
    #[value(name = "W1b")]
    W1b,
    /// Schedule again, into an aged queue
    #[value(name = "W1c")]
    W1c,
    /// Expire over 60 s in steps of a tick
    #[value(name = "W2")]
    W2,
    /// Expire over 60 s in steps of 16 ticks
    #[value(name = "W2j")]
    W2j,
    /// Cancel the oldest, schedule a new one
    #[value(name = "W3")]
    W3,
    /// Postpone a random one
    #[value(name = "W4")]
    W4,
    /// Ask for the next wake-up
    #[value(name = "W5")]
    W5,
    /// Cross an idle hour
    #[value(name = "W5i")]
    W5i,
    /// Expire over an hour, timing every call
    #[value(name = "W6")]
    W6,
    /// W6 with a budget of 256 a call
    #[value(name = "W6b")]
    W6b,
    /// Expire a burst at one nanosecond
    #[value(name = "W7")]
    W7,
    /// Live heap bytes a timer
    #[value(name = "W8")]
    W8,
    /// Caffeine's own shapes
    #[value(name = "W9")]
    W9,
}

impl Workload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::W1a => "W1a",
            Self::W1b => "W1b",
            Self::W1c => "W1c",
            Self::W2 => "W2",
            Self::W2j => "W2j",
            Self::W3 => "W3",
            Self::W4 => "W4",
            Self::W5 => "W5",
            Self::W5i => "W5i",
            Self::W6 => "W6",
            Self::W6b => "W6b",
            Self::W7 => "W7",
            Self::W8 => "W8",
            Self::W9 => "W9",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::W1a => "schedule into an empty queue",
            Self::W1b => "cancel all in a random order",
            Self::W1c => "schedule again, into an aged queue",
            Self::W2 => "expire over 60 s in steps of 2^20 ns",
            Self::W2j => "expire over 60 s in steps of 16 x 2^20 ns",
            Self::W3 => "churn: cancel the oldest, schedule a new one",
            Self::W4 => "refresh: postpone a random one",
            Self::W5 => "ask for the next wake-up, then advance 2^20 ns, for an hour",
            Self::W5i => "cross an hour with 3 timers at 59 min",
            Self::W6 => "expire over an hour in steps of 2^20 ns, every call timed",
            Self::W6b => "the same with a budget of 256 a call",
            Self::W7 => "expire a burst, all at one nanosecond",
            Self::W8 => "live heap bytes a timer",
            Self::W9 => "Caffeine's shapes and geometry, uniform over 5 days",
        }
    }
}

impl Workload {
    /// The one that a drawing of the workload shows against the number of timers. A longest call is
    /// shown calm: otherwise the drawing is one of the machine.
    pub(crate) fn main_figure(self) -> Figure {
        match self {
            Self::W1a => FRESH_SCHEDULE,
            Self::W1b => RANDOM_CANCEL,
            Self::W1c => AGED_SCHEDULE,
            Self::W2 => EXPIRE,
            Self::W2j => EXPIRE_JUMPING,
            Self::W3 => CHURN,
            Self::W4 => REFRESH,
            Self::W5 => WAKE_QUERY,
            Self::W5i => IDLE_JUMP,
            Self::W6 => CALM_LONGEST_CALL,
            Self::W6b => CALM_BUDGETED_LONGEST_CALL,
            Self::W7 => BURST,
            Self::W8 => FRESH_BYTES,
            Self::W9 => CAFFEINE_RESCHEDULE,
        }
    }
}

/// One number of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) workload: Workload,
    /// What it is the number of.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
}

/// What a figure counts: time, or something that is the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Entries,
    Moves,
    Bytes,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Entries => "entries",
            Self::Moves => "moves",
            Self::Bytes => "bytes",
        }
    }
}

const fn figure(workload: Workload, name: &'static str, unit: Unit) -> Figure {
    Figure {
        workload,
        name,
        unit,
    }
}

const fn time(workload: Workload, name: &'static str) -> Figure {
    figure(workload, name, Unit::Nanoseconds)
}

pub(crate) const FRESH_SCHEDULE: Figure = time(Workload::W1a, "schedule");
pub(crate) const RANDOM_CANCEL: Figure = time(Workload::W1b, "cancel");
pub(crate) const AGED_SCHEDULE: Figure = time(Workload::W1c, "schedule");
pub(crate) const EXPIRE: Figure = time(Workload::W2, "timer");
pub(crate) const MOVES: Figure = figure(Workload::W2, "moves a timer", Unit::Moves);
pub(crate) const EXPIRE_JUMPING: Figure = time(Workload::W2j, "timer");
pub(crate) const CHURN: Figure = time(Workload::W3, "iteration");
pub(crate) const REFRESH: Figure = time(Workload::W4, "reschedule");
/// What the queries add to the advances.
pub(crate) const WAKE_QUERY: Figure = time(Workload::W5, "query");
pub(crate) const WAKE_QUERY_AND_ADVANCE: Figure = time(Workload::W5, "query and advance");
pub(crate) const IDLE_JUMP: Figure = time(Workload::W5i, "in all, one advance");
pub(crate) const IDLE_STEPS: Figure = time(Workload::W5i, "in all, steps of 2^20 ns");
pub(crate) const LONGEST_CALL: Figure = time(Workload::W6, "longest call");
/// The longest call once each is given the fastest of several identical runs.
pub(crate) const CALM_LONGEST_CALL: Figure = time(Workload::W6, "longest call, calm");
pub(crate) const TAIL_CALL: Figure = time(Workload::W6, "p99.99 of calls");
pub(crate) const MOST_ENTRIES: Figure =
    figure(Workload::W6, "most entries in one call", Unit::Entries);
pub(crate) const WHOLE_HOUR: Figure = time(Workload::W6, "timer, in all");
pub(crate) const BUDGETED_LONGEST_CALL: Figure = time(Workload::W6b, "longest call");
pub(crate) const CALM_BUDGETED_LONGEST_CALL: Figure = time(Workload::W6b, "longest call, calm");
pub(crate) const BUDGETED_MOST_ENTRIES: Figure =
    figure(Workload::W6b, "most entries in one call", Unit::Entries);
pub(crate) const BUDGETED_WHOLE_HOUR: Figure = time(Workload::W6b, "timer, in all");
pub(crate) const BURST: Figure = time(Workload::W7, "timer");
pub(crate) const BURST_LONGEST_CALL: Figure = time(Workload::W7, "longest call, budget 256");
pub(crate) const FRESH_BYTES: Figure = figure(Workload::W8, "after W1a", Unit::Bytes);
pub(crate) const CANCELLED_BYTES: Figure = figure(Workload::W8, "after W1b", Unit::Bytes);
pub(crate) const CHURN_BYTES: Figure = figure(Workload::W8, "worst during W3", Unit::Bytes);
pub(crate) const CAFFEINE_RESCHEDULE: Figure = time(Workload::W9, "reschedule");
pub(crate) const CAFFEINE_EXPIRE: Figure = time(Workload::W9, "timer, expired in 5 min steps");
pub(crate) const CAFFEINE_WAKE: Figure = time(Workload::W9, "query of the expiration delay");
pub(crate) const ASCENDING: Figure = time(Workload::W9, "timer, in ascending order");
pub(crate) const DESCENDING: Figure = time(Workload::W9, "timer, in descending order");

/// What only a queue has whose timers can be cancelled and moved.
pub(crate) const OF_CANCELLING: &[Figure] = &[
    RANDOM_CANCEL,
    AGED_SCHEDULE,
    CHURN,
    REFRESH,
    CANCELLED_BYTES,
    CHURN_BYTES,
    CAFFEINE_RESCHEDULE,
];

/// One measurement of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) figure: Figure,
    pub(crate) value: f64,
}

impl Figure {
    pub(crate) fn sample(self, value: f64) -> Sample {
        Sample {
            figure: self,
            value,
        }
    }
}
