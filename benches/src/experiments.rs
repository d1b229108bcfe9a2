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
use crate::figure::{Figure, call, median, one_ttl, time};
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
    ($($name:ident: $module:ident::$function:ident of $member:ident gives $figures:tt;)+) => {
        /// An experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($name,)+
        }

        impl Kind {
            /// In the order of the workloads, those that have sizes of their own last.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// What it measures, of a queue that has what the figure needs.
            pub const fn figures(self) -> &'static [Figure] {
                match self {
                    $(Self::$name => const { &$figures },)+
                }
            }

            /// Measures a queue once with so many timers, if it can have a figure, and gives the answer.
            pub fn measure<F: Family>(self, n: usize, samples: &mut Samples) -> Result<Option<Parts>, String> {
                match self {
                    $(Self::$name => {
                        if self.figures().iter().all(|figure| figure.is_beyond(F::$member::LACKS)) {
                            return Ok(None);
                        }
                        $module::$function::<F::$member>(n, samples)?.parts::<F::$member>().map(Some)
                    })+
                }
            }
        }
    };
}

const STEADY: &[Need] = &[Cancel, Move, Fire, SingleCalls];
const PEAK: &[Need] = &[Cancel, Clear, SingleCalls];
const SERVER: &[Need] = &[Cancel, Fire, SingleCalls];
const CALLS: &[Need] = &[Fire, SingleCalls];
const BUDGETED: &[Need] = &[Fire, SingleCalls, Budget];

experiments! {
    Fill: fill::measure of Fine gives [
        time("W1a schedule", &[]),
        time("W1b cancel", &[Cancel]),
        time("W1c schedule, aged", &[Cancel]),
    ];
    Expire: expire::measure of Fine gives [time("W2 expire", &[Fire])];
    Churn: churn::measure of Fine gives [time("W3 cancel one, schedule one", &[Cancel])];
    Refresh: refresh::measure of Fine gives [time("W4 reschedule to later", &[Move])];
    Longest: longest::measure of Fine gives [call("W6 calm longest call", CALLS)];
    Budgeted: longest::measure_budgeted of Fine gives [call("W6b calm longest call", BUDGETED)];
    Burst: burst::measure of Fine gives [
        time("W7 expire a burst", &[Fire]),
        time("W7 expire a burst, spread over its tick", &[Fire]),
        call("W7 longest call, budget 256", BUDGETED),
    ];
    Memory: memory::measure of Fine gives [median("W8 after W1a", "bytes", &[])];
    Pause: pause::measure of Milli gives [call("W10 longest advance", STEADY), time("W10 in all", STEADY)];
    Evict: evict::measure of Fine gives [
        time("W13 eviction one TTL", &[First]),
        time("W13 eviction many TTLs", &[First]),
    ];
    Far: far::measure of Micro gives [time("W14 expire, far", &[Fire, Horizon])];
    Peak: peak::measure of Fine gives [
        call("W15 longest schedule", PEAK),
        call("W15 longest cancel of collected", &[Cancel, Clear, SingleCalls, First]),
        call("W15 clear of 10 after the peak", PEAK),
        call("W15 drop of 10 after the peak", PEAK),
    ];
    Caffeine: expire::measure_caffeine of Coarse gives [time("W9 expire in 5 min steps", &[Fire])];
    Hold: hold::measure of Micro gives [
        time("W11 hold exponential", &[First]),
        time("W11 hold uniform", &[First]),
        time("W11 hold bimodal", &[First]),
        time("W11 hold triangular", &[First]),
        time("W11 hold nearly constant", &[First]),
    ];
    Small: small::measure of Milli gives [median("W12 a queue", "bytes", STEADY), time("W12 operation", STEADY)];
    Server: server::measure of Milli gives [
        time("W16 p99 of schedules", SERVER),
        time("W16 p99.9 of schedules", SERVER),
        time("W16 p99 of cancels", SERVER),
        time("W16 p99.9 of cancels", SERVER),
        time("W16 p99 of advances", SERVER),
        time("W16 p99.9 of advances", SERVER),
    ];
    OneTtl: one_ttl::measure_full_life of Fine gives [one_ttl("W19 full life", &[Fire])];
    Evicted: one_ttl::measure_eviction of Fine gives [one_ttl("W19 eviction", &[Fire, First])];
    Renewed: one_ttl::measure_renewal of Fine gives [one_ttl("W19 one renewal a TTL", &[Fire, Move])];
    RenewedOften: one_ttl::measure_four_renewals of Fine gives [one_ttl("W19 four renewals a TTL", &[Fire, Move])];
    Slots: server::measure_slots of Milli gives [
        time("W20 end and begin", &[Cancel, Fire]),
        time("W20 p99 of advances", SERVER),
        call("W20 longest advance", SERVER),
    ];
    Together: together::measure of Fine gives [
        time("W22 arm", &[Fire]),
        time("W22 expire", &[Fire]),
        time("W22 in all", &[Fire]),
    ];
    IdleAdvance: idle::measure of Fine gives [
        time("W23 idle advance, next tick", CALLS),
        time("W23 idle advance, same tick", CALLS),
    ];
}

impl Kind {
    /// The workloads whose figures it gives.
    pub fn workloads(self) -> Vec<&'static str> {
        let mut workloads: Vec<_> = self.figures().iter().map(Figure::workload).collect();
        workloads.dedup();
        workloads
    }

    /// That of a name.
    #[track_caller]
    pub fn figure(self, name: &str) -> &'static Figure {
        self.figures().iter().find(|figure| figure.name == name).expect("the experiment gives the figure")
    }

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
