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
            Self::W6 => "W6",
            Self::W6b => "W6b",
            Self::W7 => "W7",
            Self::W8 => "W8",
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
            Self::W6 => "expire over an hour in steps of 2^20 ns, every call timed",
            Self::W6b => "the same with a budget of 256 a call",
            Self::W7 => "expire a burst, all at one nanosecond",
            Self::W8 => "live heap bytes a timer",
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
