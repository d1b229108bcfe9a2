//! A trace made up after a cluster's figures.
//!
//! - **Arrivals** are a Poisson process at the cluster's request rate, in nanoseconds from 0.
//! - **Keys** are as many as the cluster saw in the week it was traced (rate x a week / mean requests a key), but no
//!   more than 2^22 and no more than there are requests: a run is minutes of that week, and would hardly meet the rest.
//!   Their popularity is Zipf's with the cluster's exponent, drawn by the alias method.
//! - **Operations** follow the cluster's mix.
//! - **A TTL belongs to its key**: it is drawn from the cluster's mix when the key is first met, and every write of
//!   the key uses it, as clients use one TTL for one kind of item.
//! - **Misses are filled** (look-aside): a get that misses is followed at once by the write of what the client fetched
//!   elsewhere. A real trace has a line of its own for that; here it is part of the get, on top of the operation mix.
//!
//! The same profile, number of requests and seed give the same trace on every machine: the generator is PCG-64, and
//! logarithms and powers come from `libm` rather than from the platform.

use anyhow::{Result, bail};
use rand::{RngExt, SeedableRng};
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;
use rand_pcg::Pcg64;

use super::profile::Profile;
use super::{KeyId, Operation, Request, Trace};
use crate::interrupt;
use crate::progress::Progress;

const WEEK_S: f64 = 7.0 * 86_400.0;

const KEY_LIMIT: u32 = 1 << 22;

pub(crate) fn generate(profile: &Profile, requests: u64, seed: u64, progress: Progress) -> Result<Trace> {
    let mut trace = Vec::new();
    let room = usize::try_from(requests).ok();
    let Some(room) = room.filter(|&room| trace.try_reserve_exact(room).is_ok()) else {
        bail!("--requests {requests}: more than fit into the memory of this machine");
    };
    let bar = progress.stage("making the trace", requests);
    let mut model = Model::new(profile, population(profile, requests), seed);
    while trace.len() < room {
        interrupt::check()?;
        let batch = interrupt::STEPS_BETWEEN_CHECKS.min(room - trace.len());
        trace.extend((0..batch).map(|_| model.next()));
        bar.inc(batch as u64);
    }
    bar.finish_and_clear();
    let name = format!("synthetic {}, seed {seed}", profile.name);
    Ok(Trace { name, requests: trace, keys: model.ttls_s.len() as u32 })
}

/// How many keys there are to choose from.
fn population(profile: &Profile, requests: u64) -> u32 {
    let of_the_week = profile.rate_kqps * 1e3 * WEEK_S / profile.mean_frequency;
    let met_at_most = requests.min(KEY_LIMIT.into()) as f64;
    of_the_week.min(met_at_most).max(1.0) as u32
}

/// A cluster's clients.
struct Model<'a> {
    rng: Pcg64,
    now_ns: u64,
    mean_gap_ns: f64,
    operations: &'a [(Operation, f64)],
    operation: WeightedAliasIndex<f64>,
    rank: WeightedAliasIndex<f64>,
    /// The number of the key at each rank, once it was met.
    keys: Vec<Option<KeyId>>,
    ttls: &'a [(u32, f64)],
    ttl: WeightedAliasIndex<f64>,
    /// The TTL of each key that was met.
    ttls_s: Vec<u32>,
}

impl<'a> Model<'a> {
    fn new(profile: &'a Profile, population: u32, seed: u64) -> Self {
        let popularity = |rank: u32| libm::pow(f64::from(rank), -profile.zipf_alpha);
        Self {
            rng: Pcg64::seed_from_u64(seed),
            now_ns: 0,
            mean_gap_ns: 1e6 / profile.rate_kqps,
            operations: profile.operations,
            operation: weighted(profile.operations.iter().map(|operation| operation.1)),
            rank: weighted((1..=population).map(popularity)),
            keys: vec![None; population as usize],
            ttls: profile.ttls_s,
            ttl: weighted(profile.ttls_s.iter().map(|ttl| ttl.1)),
            ttls_s: Vec::new(),
        }
    }

    fn next(&mut self) -> Request {
        // 1 - u lies in (0, 1], where the logarithm is finite.
        let gap = -libm::log(1.0 - self.rng.random::<f64>()) * self.mean_gap_ns;
        self.now_ns += libm::round(gap) as u64;
        let operation = self.operations[self.operation.sample(&mut self.rng)].0;
        let rank = self.rank.sample(&mut self.rng);
        let key = match self.keys[rank] {
            Some(key) => key,
            None => {
                let key = KeyId(self.ttls_s.len() as u32);
                self.ttls_s.push(self.ttls[self.ttl.sample(&mut self.rng)].0);
                *self.keys[rank].insert(key)
            }
        };
        Request { at_ns: self.now_ns, ttl_s: self.ttls_s[key.index()], key, operation }
    }
}

fn weighted(weights: impl Iterator<Item = f64>) -> WeightedAliasIndex<f64> {
    WeightedAliasIndex::new(weights.collect()).expect("a profile's weights are positive")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::NS_PER_S;
    use crate::trace::profile::PROFILES;

    #[test]
    fn every_profile_is_a_trace_that_follows_its_figures_and_its_seed() {
        for profile in &PROFILES {
            let (name, requests) = (profile.name, 20_000);
            let trace = |seed| generate(profile, requests, seed, Progress::Hidden).unwrap();
            assert_eq!(trace(3).requests, trace(3).requests);
            assert_ne!(trace(3).requests, trace(4).requests);
            let trace = trace(3);
            let rate = requests as f64 / (trace.end_ns() as f64 / NS_PER_S as f64) / 1e3;
            assert!((rate / profile.rate_kqps - 1.0).abs() < 0.05, "{name}: {rate}");
            assert!(trace.requests.is_sorted_by_key(|request| request.at_ns));
            assert!(trace.requests.iter().all(|request| request.key.0 < trace.keys));
            let (first, weight) = profile.operations[0];
            let share = weight / profile.operations.iter().map(|one| one.1).sum::<f64>();
            let seen = trace.requests.iter().filter(|request| request.operation == first);
            let seen = seen.count() as f64 / requests as f64;
            assert!((seen - share).abs() < 0.02, "{name}: {seen} for {share}");
        }
    }

    #[test]
    fn population_is_the_weeks_keys_within_its_limits() {
        assert_eq!(population(&PROFILES[0], u64::MAX), KEY_LIMIT);
        assert_eq!(population(&PROFILES[0], 1_000), 1_000);
        let small = Profile { rate_kqps: 0.01, mean_frequency: 1e3, ..PROFILES[0] };
        assert_eq!(population(&small, 5_000_000), 6_048);
    }
}
