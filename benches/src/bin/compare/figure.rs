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
        }
    }
}

/// One number of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) workload: Workload,
    pub(crate) unit: &'static str,
}

const fn figure(workload: Workload, unit: &'static str) -> Figure {
    Figure { workload, unit }
}

pub(crate) const FRESH_SCHEDULE: Figure = figure(Workload::W1a, "ns/schedule");
pub(crate) const RANDOM_CANCEL: Figure = figure(Workload::W1b, "ns/cancel");
pub(crate) const AGED_SCHEDULE: Figure = figure(Workload::W1c, "ns/schedule");
pub(crate) const EXPIRE: Figure = figure(Workload::W2, "ns/timer");
pub(crate) const EXPIRE_JUMPING: Figure = figure(Workload::W2j, "ns/timer");
pub(crate) const CHURN: Figure = figure(Workload::W3, "ns/iteration");
pub(crate) const REFRESH: Figure = figure(Workload::W4, "ns/reschedule");
pub(crate) const LONGEST_CALL: Figure = figure(Workload::W6, "ns longest call");
/// The longest call once each is given the fastest of several identical runs.
pub(crate) const CALM_LONGEST_CALL: Figure = figure(Workload::W6, "ns longest call, calm");
pub(crate) const TAIL_CALL: Figure = figure(Workload::W6, "ns p99.99 of calls");
pub(crate) const MOST_ENTRIES: Figure = figure(Workload::W6, "entries in one call");
pub(crate) const WHOLE_HOUR: Figure = figure(Workload::W6, "ns/timer in all");
pub(crate) const BUDGETED_LONGEST_CALL: Figure = figure(Workload::W6b, "ns longest call");
pub(crate) const CALM_BUDGETED_LONGEST_CALL: Figure =
    figure(Workload::W6b, "ns longest call, calm");
pub(crate) const BUDGETED_MOST_ENTRIES: Figure = figure(Workload::W6b, "entries in one call");
pub(crate) const BUDGETED_WHOLE_HOUR: Figure = figure(Workload::W6b, "ns/timer in all");
pub(crate) const BURST: Figure = figure(Workload::W7, "ns/timer");
pub(crate) const BURST_LONGEST_CALL: Figure = figure(Workload::W7, "ns longest call, budget 256");

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
