//! The experiments: each makes an input, the same for all queues, and measures a queue once on it.

mod churn;
mod expire;
mod first;
mod idle;
mod one_ttl;
mod schedule;
mod steady;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::answer::{Answer, Parts};
use crate::figure::{Figure, call, median, one_ttl, time};
use crate::queue::Need::{self, Budget, Cancel, Fire, First, Horizon, Move, SingleCalls};
use crate::queue::Queue;

pub use one_ttl::TTL;

/// An answer that is the same for every queue that is right, and a number for each figure, as far as the queue has
/// them; or the fault of a queue that is wrong by itself.
type Measured = Result<(Answer, Vec<f64>), String>;

/// The same, with what the queue promises of its answer, or nothing of a queue that lacks what all figures need.
pub type Outcome = Result<Option<(Parts, Vec<f64>)>, String>;

/// The same queue in four geometries, or with four ticks.
pub trait Family {
    /// `Millis`, or a tick of 2^20 ns.
    type Fine: Queue;
    /// That of Caffeine.
    type Coarse: Queue;
    /// `Micros`, if it has any choice.
    type Micro: Queue;
    /// A tick of a millisecond, if it has any choice.
    type Milli: Queue;
}

macro_rules! experiments {
    ($($name:ident: $module:ident::$function:ident of $member:ident gives $figures:tt;)+) => {
        /// An experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($name,)+
        }

        impl Kind {
            /// In the order of the tables.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// What it measures, of a queue that has what the figure needs.
            pub const fn figures(self) -> &'static [Figure] {
                match self {
                    $(Self::$name => const { &$figures },)+
                }
            }

            /// Measures a queue once with so many timers, if it can have a figure.
            pub fn measure<F: Family>(self, n: usize) -> Outcome {
                match self {
                    $(Self::$name => {
                        if self.figures().iter().all(|figure| figure.is_beyond(F::$member::LACKS)) {
                            return Ok(None);
                        }
                        let (answer, samples) = $module::$function::<F::$member>(n)?;
                        Ok(Some((answer.parts::<F::$member>()?, samples)))
                    })+
                }
            }
        }
    };
}

const STEADY: &[Need] = &[Cancel, Move, Fire, SingleCalls];
const PEAK: &[Need] = &[Cancel, SingleCalls];
const SERVER: &[Need] = &[Cancel, Fire, SingleCalls];

// The figures of an experiment that a queue may lack come last.
experiments! {
    Fill: schedule::fill of Fine gives [
        time("W1a schedule", &[]),
        time("W1b cancel", &[Cancel]),
        time("W1c schedule, aged", &[Cancel]),
    ];
    Expire: expire::minute of Fine gives [time("W2 expire", &[Fire])];
    Churn: churn::churn of Fine gives [time("W3 cancel one, schedule one", &[Cancel])];
    Refresh: churn::refresh of Fine gives [time("W4 reschedule to later", &[Move])];
    Budgeted: expire::budgeted of Fine gives [call("W6b calm longest call", &[Fire, SingleCalls, Budget])];
    AtOnce: expire::at_once of Fine gives [time("W7 expire a burst", &[Fire])];
    Memory: schedule::memory of Fine gives [median("W8 after W1a", "bytes", &[])];
    Caffeine: expire::caffeine of Coarse gives [time("W9 expire in 5 min steps", &[Fire])];
    Pause: steady::pause of Milli gives [call("W10 longest advance", STEADY), time("W10 in all", STEADY)];
    Hold: first::hold of Micro gives [
        time("W11 hold exponential", &[First]),
        time("W11 hold bimodal", &[First]),
    ];
    Small: steady::small of Milli gives [median("W12 a queue", "bytes", STEADY), time("W12 operation", STEADY)];
    Evict: first::evict of Fine gives [time("W13 eviction many TTLs", &[First])];
    Far: expire::far of Micro gives [time("W14 expire, far", &[Fire, Horizon])];
    Peak: schedule::peak of Fine gives [
        call("W15 longest schedule", PEAK),
        call("W15 longest cancel of collected", &[Cancel, SingleCalls, First]),
    ];
    OneTtl: one_ttl::full_life of Fine gives [one_ttl("W19 full life", &[Fire])];
    Evicted: one_ttl::eviction of Fine gives [one_ttl("W19 eviction", &[Fire, First])];
    Renewed: one_ttl::renewal of Fine gives [one_ttl("W19 one renewal a TTL", &[Fire, Move])];
    RenewedOften: one_ttl::four_renewals of Fine gives [one_ttl("W19 four renewals a TTL", &[Fire, Move])];
    Slots: steady::server of Milli gives [
        time("W20 end and begin", &[Cancel, Fire]),
        time("W20 p99 of advances", SERVER),
        call("W20 longest advance", SERVER),
    ];
    Burst: expire::burst of Fine gives [
        time("W22 arm", &[Fire]),
        time("W22 expire", &[Fire]),
        time("W22 in all", &[Fire]),
    ];
    Idle: idle::measure of Fine gives [
        time("W23 idle advance, next tick", &[Fire, SingleCalls]),
        time("W23 idle advance, same tick", &[Fire, SingleCalls]),
    ];
}

impl Kind {
    /// The workloads whose figures it gives.
    pub fn workloads(self) -> Vec<&'static str> {
        let mut workloads: Vec<_> = self.figures().iter().map(Figure::workload).collect();
        workloads.dedup();
        workloads
    }

    /// On how many timers it runs where these are asked for: its own sizes up to the largest, or those asked for.
    pub fn sizes(self, asked: &[usize]) -> Vec<usize> {
        let own: &[usize] = match self {
            Self::Caffeine => return vec![expire::CAFFEINE],
            Self::Hold => &[100, 1_000, 10_000, 100_000, 1_000_000],
            Self::Small | Self::Idle => &[10_000],
            Self::Burst => &[100, 1_000, 4_096, 10_000, 100_000],
            _ => asked,
        };
        let most = asked.iter().max();
        let sizes: Vec<usize> = own.iter().copied().filter(|n| Some(n) <= most).collect();
        // So that a quick look stays one.
        if sizes.is_empty() { asked.to_vec() } else { sizes }
    }

    /// Whether what another queue has left of the memory would show in the figures.
    pub fn wants_fresh_process(self) -> bool {
        matches!(self, Self::Memory | Self::Small | Self::Peak)
    }
}

/// How often to repeat an experiment within one measurement, so that a small one lasts long enough for the clock.
fn passes(n: usize) -> usize {
    const WORTH_TIMING: usize = 200_000;
    (WORTH_TIMING / n).clamp(1, 20)
}

/// Room for `n` keys whose memory has been touched: writing them is to cost the same the first time.
fn room_for_keys<Q: Queue>(n: usize) -> Vec<Q::Key> {
    let placeholder = Q::new(0).schedule(0, 0);
    vec![placeholder; n]
}

/// Nanoseconds for each of `operations`.
fn ns_each(elapsed: Duration, operations: usize) -> f64 {
    elapsed.as_nanos() as f64 / operations as f64
}

/// How many values there were, and their sum: what a timed loop can afford.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, value: u32) {
        self.count += 1;
        self.sum += u64::from(value);
    }

    fn give(self, answer: &mut Answer) {
        answer.give(self.count);
        answer.give(self.sum);
    }
}

/// Fires all that is left, in one advance.
fn fire_rest<Q: Queue>(queue: &mut Q, now: u64, answer: &mut Answer) {
    answer.begin();
    queue.advance(now, |deadline, value| answer.fire(0, deadline, value));
}
