//! Figures of real cache clusters, from which synthetic traces are made.
//!
//! Source: the per-cluster statistics of twitter/cache-trace, CC BY 4.0, published with Yang, Yue,
//! Rashmi, "A large scale analysis of hundreds of in-memory cache clusters at Twitter", OSDI 2020. Each
//! figure is copied as it stands there. The lists of TTLs and operations name the common ones only and
//! need not add up to one, so that both are used as weights.

const MINUTE_S: u32 = 60;
const HOUR_S: u32 = 60 * MINUTE_S;
const DAY_S: u32 = 24 * HOUR_S;

/// A TTL in tenths of an hour or a day, as the source has "1.8h".
const fn tenths(count: u32, unit_s: u32) -> u32 {
    count * (unit_s / 10)
}

/// One cluster's figures.
#[derive(Debug)]
pub(crate) struct Profile {
    /// The cluster's name in the source.
    pub(crate) name: &'static str,
    /// Requests arriving, in thousands a second.
    pub(crate) rate_kqps: f64,
    /// Requests a key sees in the week that was traced, on average.
    pub(crate) mean_frequency: f64,
    /// The exponent of the keys' popularity; 0 is all alike.
    pub(crate) zipf_alpha: f64,
    /// TTLs in seconds, with weights.
    pub(crate) ttls_s: &'static [(u32, f64)],
    /// Operations by their memcached names, with weights.
    pub(crate) operations: &'static [(&'static str, f64)],
    /// What it stands for among the others.
    pub(crate) character: &'static str,
}

/// The cluster that is modelled when none is named.
pub(crate) const DEFAULT: &str = "cluster4";

/// The clusters that can be modelled.
pub(crate) static PROFILES: [Profile; 11] = [
    Profile {
        name: "cluster4",
        rate_kqps: 5.26,
        mean_frequency: 26.5,
        zipf_alpha: 1.1004,
        ttls_s: &[
            (60, 0.39),
            (300, 0.24),
            (HOUR_S, 0.13),
            (600, 0.12),
            (4 * HOUR_S, 0.09),
            (DAY_S, 0.03),
        ],
        operations: &[("get", 0.93), ("set", 0.07)],
        character: "six TTLs from a minute to a day, mostly reads",
    },
    Profile {
        name: "cluster7",
        rate_kqps: 1.62,
        mean_frequency: 72.9,
        zipf_alpha: 1.0666,
        ttls_s: &[
            (tenths(18, HOUR_S), 0.28),
            (tenths(17, HOUR_S), 0.24),
            (tenths(19, HOUR_S), 0.23),
            (tenths(16, HOUR_S), 0.13),
            (2 * HOUR_S, 0.12),
        ],
        operations: &[("get", 0.82), ("set", 0.18)],
        character: "TTLs jittered around 1.8 hours",
    },
    Profile {
        name: "cluster10",
        rate_kqps: 0.22,
        mean_frequency: 2.0,
        zipf_alpha: 0.0,
        ttls_s: &[(2 * HOUR_S, 1.00)],
        operations: &[("add", 0.50), ("get", 0.50)],
        character: "one TTL, no favourite keys, half adds",
    },
    Profile {
        name: "cluster11",
        rate_kqps: 4.16,
        mean_frequency: 45.7,
        zipf_alpha: 1.4891,
        ttls_s: &[(5 * DAY_S, 0.97), (20, 0.03)],
        operations: &[("get", 0.96), ("add", 0.02), ("gets", 0.01), ("cas", 0.01)],
        character: "five days beside 20 seconds, very skewed",
    },
    Profile {
        name: "cluster12",
        rate_kqps: 4.36,
        mean_frequency: 1.3,
        zipf_alpha: 0.3048,
        ttls_s: &[(300, 0.98), (299, 0.02)],
        operations: &[("set", 0.80), ("get", 0.20)],
        character: "mostly writes, five minutes, keys seen once",
    },
    Profile {
        name: "cluster14",
        rate_kqps: 5.81,
        mean_frequency: 35.4,
        zipf_alpha: 1.2959,
        ttls_s: &[(DAY_S, 1.00)],
        operations: &[("get", 0.65), ("delete", 0.22), ("set", 0.13)],
        character: "a day, and many deletes before it is over",
    },
    Profile {
        name: "cluster15",
        rate_kqps: 9.02,
        mean_frequency: 1.0,
        zipf_alpha: 0.0242,
        ttls_s: &[(30, 1.00)],
        operations: &[("set", 1.00)],
        character: "nothing but writes that live 30 seconds",
    },
    Profile {
        name: "cluster23",
        rate_kqps: 8.69,
        mean_frequency: 3.9,
        zipf_alpha: 0.274,
        ttls_s: &[(120, 0.93), (2700, 0.05), (5, 0.03)],
        operations: &[
            ("set", 0.31),
            ("get", 0.36),
            ("incr", 0.30),
            ("delete", 0.02),
        ],
        character: "counters, two minutes, flat popularity",
    },
    Profile {
        name: "cluster27",
        rate_kqps: 24.55,
        mean_frequency: 9.0,
        zipf_alpha: 1.065,
        ttls_s: &[
            (tenths(926, DAY_S), 0.28),
            (DAY_S, 0.25),
            (HOUR_S, 0.20),
            (4 * HOUR_S, 0.18),
            (6 * HOUR_S, 0.06),
            (12 * HOUR_S, 0.02),
        ],
        operations: &[("get", 0.85), ("set", 0.15)],
        character: "TTLs from an hour to three months, high rate",
    },
    Profile {
        name: "cluster37",
        rate_kqps: 4.15,
        mean_frequency: 3.8,
        zipf_alpha: 0.4251,
        ttls_s: &[(20, 0.91), (300, 0.06), (2 * HOUR_S, 0.02), (600, 0.01)],
        operations: &[("set", 0.37), ("get", 0.63)],
        character: "20 seconds, constant expiry",
    },
    Profile {
        name: "cluster53",
        rate_kqps: 1.38,
        mean_frequency: 27.6,
        zipf_alpha: 1.2061,
        ttls_s: &[(30 * DAY_S, 0.66), (21 * DAY_S, 0.34)],
        operations: &[("get", 0.89), ("set", 0.03), ("prepend", 0.09)],
        character: "weeks: timers are set and nothing expires",
    },
];

/// The profile of that name.
pub(crate) fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_sane_figures_and_distinct_names() {
        assert!(named(DEFAULT).is_some());
        for profile in &PROFILES {
            assert!(std::ptr::eq(named(profile.name).unwrap(), profile));
            assert!(profile.rate_kqps > 0.0 && profile.mean_frequency >= 1.0);
            for total in [
                profile.ttls_s.iter().map(|ttl| ttl.1).sum::<f64>(),
                profile
                    .operations
                    .iter()
                    .map(|operation| operation.1)
                    .sum::<f64>(),
            ] {
                assert!((0.9..=1.02).contains(&total), "{}: {total}", profile.name);
            }
        }
    }
}
