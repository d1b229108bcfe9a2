//! The experiments: each makes an input, the same for all queues, and measures a queue once on it.
//!
//! One experiment may serve several workloads, where one leaves the queue as the next one needs it.

mod burst;
mod churn;
mod evict;
mod expire;
mod far;
mod fill;
mod hold;
mod idle;
mod longest;
mod memory;
mod one_ttl;
mod pause;
mod peak;
mod refresh;
mod server;
mod small;
#[cfg(test)]
mod tests;
mod together;

use std::time::Duration;

use crate::answer::{Answer, Parts};
use crate::queue::Need::{self, Budget, Cancel, Clear, Fire, First, Horizon, Move, SingleCalls};
use crate::queue::Queue;

pub use one_ttl::TTL;

/// Figures by name, with what was measured.
pub type Samples = Vec<(&'static str, f64)>;

/// What an experiment gives beside the samples: an answer that is the same for every queue that is right, or the fault
/// of a queue that is wrong by itself.
type Answered = Result<Answer, String>;

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
    ($($name:ident $workloads:tt $function:path, $member:ident, $needs:tt;)+) => {
        /// An experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(
                #[doc = concat!("Serves ", stringify!($workloads), ".")]
                $name,
            )+
        }

        impl Kind {
            /// In the order of the workloads, those that have sizes of their own last.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The workloads whose figures it gives.
            pub fn workloads(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &$workloads,)+
                }
            }

            /// Measures a queue once with so many timers, if it has what the experiment needs, and gives the answer.
            pub fn measure<F: Family>(self, n: usize, samples: &mut Samples) -> Result<Option<Parts>, String> {
                match self {
                    $(Self::$name => {
                        const NEEDS: &[Need] = &$needs;
                        let is_of_one_ttl = Self::$name.workloads() == ["W19"];
                        if !NEEDS.iter().all(|&need| F::$member::has(need))
                            || !is_of_one_ttl && !F::$member::has(Need::Delays)
                        {
                            return Ok(None);
                        }
                        $function(n, samples)?.parts::<F::$member>().map(Some)
                    })+
                }
            }
        }
    };
}

experiments! {
    Fill ["W1a", "W1b", "W1c"] fill::measure::<F::Fine>, Fine, [];
    Expire ["W2"] expire::measure::<F::Fine>, Fine, [Fire];
    Churn ["W3"] churn::measure::<F::Fine>, Fine, [Cancel];
    Refresh ["W4"] refresh::measure::<F::Fine>, Fine, [Move];
    Longest ["W6"] longest::measure::<F::Fine>, Fine, [Fire, SingleCalls];
    Budgeted ["W6b"] longest::measure_budgeted::<F::Fine>, Fine, [Fire, SingleCalls, Budget];
    Burst ["W7"] burst::measure::<F::Fine>, Fine, [Fire];
    Memory ["W8"] memory::measure::<F::Fine>, Fine, [];
    Pause ["W10"] pause::measure::<F::Milli>, Milli, [Cancel, Move, Fire, SingleCalls];
    Evict ["W13"] evict::measure::<F::Fine>, Fine, [First];
    Far ["W14"] far::measure::<F::Micro>, Micro, [Fire, Horizon];
    Peak ["W15"] peak::measure::<F::Fine>, Fine, [Cancel, Clear, SingleCalls];
    Caffeine ["W9"] expire::measure_caffeine::<F::Coarse>, Coarse, [Fire];
    Hold ["W11"] hold::measure::<F::Micro>, Micro, [First];
    Small ["W12"] small::measure::<F::Milli>, Milli, [Cancel, Move, Fire, SingleCalls];
    Server ["W16"] server::measure::<F::Milli>, Milli, [Cancel, Fire, SingleCalls];
    OneTtl ["W19"] one_ttl::measure_full_life::<F::Fine>, Fine, [Fire];
    Evicted ["W19"] one_ttl::measure_eviction::<F::Fine>, Fine, [Fire, First];
    Renewed ["W19"] one_ttl::measure_renewal::<F::Fine>, Fine, [Fire, Move];
    RenewedOften ["W19"] one_ttl::measure_four_renewals::<F::Fine>, Fine, [Fire, Move];
    Slots ["W20"] server::measure_slots::<F::Milli>, Milli, [Cancel, Fire];
    Together ["W22"] together::measure::<F::Fine>, Fine, [Fire];
    IdleAdvance ["W23"] idle::measure::<F::Fine>, Fine, [Fire, SingleCalls];
}

impl Kind {
    /// On how many timers it runs where these are asked for: its own sizes, or those asked for.
    pub fn sizes(self, asked: &[usize]) -> Vec<usize> {
        let most = asked.iter().copied().max().unwrap_or_default();
        let up_to = |sizes: &[usize]| {
            let sizes: Vec<usize> = sizes.iter().copied().filter(|&n| n <= most).collect();
            // So that a quick look stays one.
            if sizes.is_empty() { asked.to_vec() } else { sizes }
        };
        match self {
            Self::Caffeine => vec![expire::CAFFEINE],
            // The smallest shows what a wheel itself weighs.
            Self::Memory if most > 1_000 && !asked.contains(&1_000) => [&[1_000], asked].concat(),
            Self::Hold => up_to(&[100, 1_000, 10_000, 100_000, 1_000_000]),
            Self::Small => up_to(&[10_000]),
            Self::Together => up_to(&together::SIZES),
            Self::IdleAdvance => up_to(&[idle::N]),
            Self::Server => up_to(&[10_000, 100_000]),
            Self::Churn => asked.iter().copied().filter(|&n| n <= churn::MOST).collect(),
            _ => asked.to_vec(),
        }
    }

    /// How many timers a full run has beyond a million: where the longest calls and the cost of memory show.
    pub fn large_sizes(self) -> &'static [usize] {
        match self {
            Self::Fill | Self::Expire | Self::Peak => &[10_000_000],
            Self::Pause => &[4_000_000, 10_000_000],
            _ => &[],
        }
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

/// Fires what is due in each of so many steps.
#[inline(never)]
fn fire_in_steps<Q: Queue>(queue: &mut Q, steps: u64, step_ns: u64, answer: &mut Answer) {
    for step in 1..=steps {
        queue.advance(step * step_ns, |deadline, value| answer.fire(step, deadline, value));
    }
}

/// Fires all that is left, in one advance.
fn fire_rest<Q: Queue>(queue: &mut Q, now: u64, answer: &mut Answer) {
    answer.begin();
    queue.advance(now, |deadline, value| answer.fire(0, deadline, value));
}
