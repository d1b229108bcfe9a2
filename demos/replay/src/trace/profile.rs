//! Figures of real cache clusters, from which synthetic traces are made.
//!
//! Source: the per-cluster statistics of twitter/cache-trace, CC BY 4.0, published with Yang, Yue,
//! Rashmi, "A large scale analysis of hundreds of in-memory cache clusters at Twitter", OSDI 2020. Each
//! figure is copied as it stands there. The lists of TTLs and operations name the common ones only and
//! need not add up to one, so both are used as weights. A `get` fetches: a miss is filled.

use super::Operation::{self, Delete, Fetch, Set};

const HOUR: u32 = 3_600;
const DAY: u32 = 24 * HOUR;

#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    /// Requests arriving, in thousands a second.
    pub(crate) rate_kqps: f64,
    /// How many requests a key sees in the week that was traced, on average.
    pub(crate) mean_frequency: f64,
    /// The exponent of the keys' popularity; with 0 all are equally popular.
    pub(crate) zipf_alpha: f64,
    /// Operations, with weights.
    pub(crate) operations: &'static [(Operation, f64)],
    /// TTLs in seconds, with weights.
    pub(crate) ttls_s: &'static [(u32, f64)],
    pub(crate) character: &'static str,
}

/// The clusters that can be modelled, the usual one first.
#[rustfmt::skip]
pub(crate) static PROFILES: [Profile; 4] = [
    Profile { name: "cluster4", rate_kqps: 5.26, mean_frequency: 26.5, zipf_alpha: 1.1004,
        character: "six TTLs from a minute to a day, mostly reads",
        operations: &[(Fetch, 0.93), (Set, 0.07)],
        ttls_s: &[(60, 0.39), (300, 0.24), (HOUR, 0.13), (600, 0.12), (4 * HOUR, 0.09), (DAY, 0.03)] },
    Profile { name: "cluster12", rate_kqps: 4.36, mean_frequency: 1.3, zipf_alpha: 0.3048,
        character: "mostly writes, five minutes, keys seen once",
        operations: &[(Set, 0.80), (Fetch, 0.20)],
        ttls_s: &[(300, 0.98), (299, 0.02)] },
    Profile { name: "cluster14", rate_kqps: 5.81, mean_frequency: 35.4, zipf_alpha: 1.2959,
        character: "a day, and many deletes before it is over",
        operations: &[(Fetch, 0.65), (Delete, 0.22), (Set, 0.13)],
        ttls_s: &[(DAY, 1.0)] },
    Profile { name: "cluster27", rate_kqps: 24.55, mean_frequency: 9.0, zipf_alpha: 1.065,
        character: "TTLs from an hour to three months, high rate",
        operations: &[(Fetch, 0.85), (Set, 0.15)],
        ttls_s: &[(926 * DAY / 10, 0.28), (DAY, 0.25), (HOUR, 0.20), (4 * HOUR, 0.18), (6 * HOUR, 0.06),
            (12 * HOUR, 0.02)] },
];
