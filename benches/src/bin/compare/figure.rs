//! What is measured: the figures, and what each of them counts.

mod workload;

use timer_wheel_bench::results::Counts;

pub(crate) use workload::Workload;

/// One number of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    pub(crate) workload: Workload,
    /// What it is the number of.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) counts: Counts,
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
    const ALL: [Self; 4] = [Self::Nanoseconds, Self::Entries, Self::Moves, Self::Bytes];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

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
        counts: Counts::Median,
    }
}

const fn time(workload: Workload, name: &'static str) -> Figure {
    figure(workload, name, Unit::Nanoseconds)
}

/// The time of a single call.
const fn call(workload: Workload, name: &'static str) -> Figure {
    Figure {
        counts: Counts::Min,
        ..time(workload, name)
    }
}

pub(crate) const FRESH_SCHEDULE: Figure = time(Workload::W1a, "schedule");
pub(crate) const RANDOM_CANCEL: Figure = time(Workload::W1b, "cancel");
pub(crate) const AGED_SCHEDULE: Figure = time(Workload::W1c, "schedule, aged");
pub(crate) const EXPIRE: Figure = time(Workload::W2, "expire");
pub(crate) const MOVES: Figure = figure(Workload::W2, "moves a timer", Unit::Moves);
pub(crate) const EXPIRE_JUMPING: Figure = time(Workload::W2j, "expire, 16 ticks a step");
pub(crate) const CHURN: Figure = time(Workload::W3, "cancel one, schedule one");
pub(crate) const REFRESH: Figure = time(Workload::W4, "reschedule to later");
/// What the queries add to the advances.
pub(crate) const WAKE_QUERY: Figure = time(Workload::W5, "query");
pub(crate) const WAKE_QUERY_AND_ADVANCE: Figure = time(Workload::W5, "query and advance");
pub(crate) const IDLE_JUMP: Figure = time(Workload::W5i, "in all, one advance");
pub(crate) const IDLE_STEPS: Figure = time(Workload::W5i, "in all, steps of 2^20 ns");
pub(crate) const LONGEST_CALL: Figure = call(Workload::W6, "longest call");
/// The longest call once each is given the fastest of several identical runs.
pub(crate) const CALM_LONGEST_CALL: Figure = call(Workload::W6, "calm longest call");
pub(crate) const TAIL_CALL: Figure = time(Workload::W6, "p99.99 of calls");
pub(crate) const MOST_ENTRIES: Figure =
    figure(Workload::W6, "most entries in one call", Unit::Entries);
pub(crate) const WHOLE_HOUR: Figure = time(Workload::W6, "expire, in all");
pub(crate) const BUDGETED_LONGEST_CALL: Figure = call(Workload::W6b, "longest call");
pub(crate) const CALM_BUDGETED_LONGEST_CALL: Figure = call(Workload::W6b, "calm longest call");
pub(crate) const BUDGETED_MOST_ENTRIES: Figure =
    figure(Workload::W6b, "most entries in one call", Unit::Entries);
pub(crate) const BUDGETED_WHOLE_HOUR: Figure = time(Workload::W6b, "expire, in all");
pub(crate) const BURST: Figure = time(Workload::W7, "expire a burst");
pub(crate) const BURST_LONGEST_CALL: Figure = call(Workload::W7, "longest call, budget 256");
pub(crate) const FRESH_BYTES: Figure = figure(Workload::W8, "after W1a", Unit::Bytes);
pub(crate) const CANCELLED_BYTES: Figure = figure(Workload::W8, "after W1b", Unit::Bytes);
/// The same, once all that was cancelled would have come down to the lowest level.
pub(crate) const ROTATED_BYTES: Figure =
    figure(Workload::W8, "after W1b and a rotation", Unit::Bytes);
pub(crate) const CHURN_BYTES: Figure = figure(Workload::W8, "worst during W3", Unit::Bytes);
pub(crate) const CAFFEINE_RESCHEDULE: Figure = time(Workload::W9, "reschedule");
pub(crate) const CAFFEINE_EXPIRE: Figure = time(Workload::W9, "expire in 5 min steps");
pub(crate) const CAFFEINE_WAKE: Figure = time(Workload::W9, "query of the expiration delay");
pub(crate) const ASCENDING: Figure = time(Workload::W9, "timer, in ascending order");
pub(crate) const DESCENDING: Figure = time(Workload::W9, "timer, in descending order");
pub(crate) const PAUSE_LONGEST: Figure = call(Workload::W10, "longest advance");
pub(crate) const PAUSE_TAIL: Figure = time(Workload::W10, "p99.99 of advances");
pub(crate) const PAUSE_WHOLE: Figure = time(Workload::W10, "in all");
/// A figure for each distribution of the increments.
pub(crate) const HOLDS: [Figure; 5] = [
    time(Workload::W11, "hold exponential"),
    time(Workload::W11, "hold uniform"),
    time(Workload::W11, "hold bimodal"),
    time(Workload::W11, "hold triangular"),
    time(Workload::W11, "hold nearly constant"),
];
pub(crate) const SMALL_BYTES: Figure = figure(Workload::W12, "a queue", Unit::Bytes);
pub(crate) const SMALL_OPERATION: Figure = time(Workload::W12, "operation");
pub(crate) const EVICTION: Figure = time(Workload::W13, "eviction one TTL");
pub(crate) const EVICTION_OF_MANY_TTLS: Figure = time(Workload::W13, "eviction many TTLs");
pub(crate) const FAR: Figure = time(Workload::W14, "expire, far");
pub(crate) const PEAK_LONGEST_SCHEDULE: Figure = call(Workload::W15, "longest schedule");
pub(crate) const PEAK_LONGEST_CANCEL: Figure = call(Workload::W15, "longest cancel of collected");
pub(crate) const PEAK_CLEAR: Figure = call(Workload::W15, "clear of 10 after the peak");
pub(crate) const PEAK_DROP: Figure = call(Workload::W15, "drop of 10 after the peak");
pub(crate) const SERVER_SCHEDULES: [Figure; 4] = [
    time(Workload::W16, "p50 of schedules"),
    time(Workload::W16, "p99 of schedules"),
    time(Workload::W16, "p99.9 of schedules"),
    time(Workload::W16, "p99.99 of schedules"),
];
pub(crate) const SERVER_CANCELS: [Figure; 4] = [
    time(Workload::W16, "p50 of cancels"),
    time(Workload::W16, "p99 of cancels"),
    time(Workload::W16, "p99.9 of cancels"),
    time(Workload::W16, "p99.99 of cancels"),
];
pub(crate) const SERVER_ADVANCES: [Figure; 4] = [
    time(Workload::W16, "p50 of advances"),
    time(Workload::W16, "p99 of advances"),
    time(Workload::W16, "p99.9 of advances"),
    time(Workload::W16, "p99.99 of advances"),
];
pub(crate) const SERVER_WHOLE: Figure = time(Workload::W16, "in all");

/// What only a queue has whose timers can be cancelled and moved.
pub(crate) const OF_CANCELLING: &[Figure] = &[
    RANDOM_CANCEL,
    AGED_SCHEDULE,
    CHURN,
    REFRESH,
    CANCELLED_BYTES,
    ROTATED_BYTES,
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
