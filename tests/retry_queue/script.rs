//! Histories of a retry queue as data: settings, a clock, and operations.

use std::time::Duration;

use timer_wheel::retry::RetryConfig;

use crate::bytes::{Decoder, Draw};

/// One operation. Times count from the caller's clock. A value is named by its place among those in the queue and a
/// few that have left it; where there is none, nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Push {
        attempts: u8,
        ahead: u64,
    },
    Overdue {
        age: u64,
    },
    Pass(u64),
    /// The caller's clock goes backwards.
    Back(u64),
    /// Polls until nothing is left, of the values due or of so many units of work.
    Poll {
        units: u8,
    },
    /// Lets time pass until the wake-up, and polls once.
    Sleep,
    Done(u8),
    Failed(u8),
    Configure(Setup),
    /// Stores the queue, and loads it again.
    Reload,
    /// Moves all values to a new queue.
    Refill,
}

/// What is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Setup {
    patience: u8,
    attempts: u8,
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) setup: Setup,
    pub(crate) start: u64,
    pub(crate) ops: Vec<Op>,
}

impl Setup {
    pub(crate) fn config(self) -> RetryConfig {
        let (delay, timeout) = [(1, 1), (1_000_000_000, 10_000_000_000), (1 << 30, 3)][usize::from(self.patience % 3)];
        let mut config = RetryConfig::default();
        config.retry_delay = Duration::from_nanos(delay);
        config.pending_timeout = Duration::from_nanos(timeout);
        config.attempts = [1, 2, 5, u32::MAX][usize::from(self.attempts % 4)];
        config
    }
}

impl Draw for Script {
    type Script = Self;

    fn begin(decoder: &mut Decoder<'_>) -> Self {
        let setup = Setup { patience: decoder.below(3), attempts: decoder.below(4) };
        Self { setup, start: decoder.choose(&[0, 1 << 40, u64::MAX - (1 << 33)]), ops: Vec::new() }
    }

    fn extend(script: &mut Self, decoder: &mut Decoder<'_>) {
        let (kind, number) = (decoder.byte(), decoder.byte());
        let span = u64::from(number % 8) << (number / 8);
        script.ops.push(match kind % 32 {
            0..=5 => Op::Push { attempts: 0, ahead: span },
            6..=8 => Op::Overdue { age: span },
            9 => Op::Push { attempts: kind / 32, ahead: span },
            10..=13 => Op::Pass(span),
            14 => Op::Back(span),
            15..=19 => Op::Poll { units: number },
            20..=22 => Op::Sleep,
            23..=24 => Op::Done(number),
            25..=28 => Op::Failed(number),
            29 => Op::Configure(Setup { patience: number % 3, attempts: number / 3 % 4 }),
            30 => Op::Reload,
            _ => Op::Refill,
        });
    }
}
