//! The workloads: their names and their titles.

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
    /// The pause mix, timing every advance
    #[value(name = "W10")]
    W10,
    /// Hold: take the earliest, schedule another
    #[value(name = "W11")]
    W11,
    /// Many small queues
    #[value(name = "W12")]
    W12,
    /// Evict the earliest of a full cache
    #[value(name = "W13")]
    W13,
    /// Stop in every rotation beyond the horizon
    #[value(name = "W14")]
    W14,
    /// The longest calls at a peak
    #[value(name = "W15")]
    W15,
    /// The server mix, timing every call
    #[value(name = "W16")]
    W16,
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
            Self::W10 => "W10",
            Self::W11 => "W11",
            Self::W12 => "W12",
            Self::W13 => "W13",
            Self::W14 => "W14",
            Self::W15 => "W15",
            Self::W16 => "W16",
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
            Self::W10 => "pause mix: steady use for 150 s, every advance timed",
            Self::W11 => "hold: take the earliest, schedule another (Micros)",
            Self::W12 => "small queues of ten timers each, in use for 30 s",
            Self::W13 => "a full cache: evict the earliest for each write",
            Self::W14 => "a timer and a stop in each rotation beyond the horizon (Micros)",
            Self::W15 => "the longest calls at a peak and after it",
            Self::W16 => "server mix: requests with one timeout, every call timed",
        }
    }
}
