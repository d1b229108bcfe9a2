//! The guides, as pages of this documentation. They are the files of `docs/` and `examples/`.
//!
//! | | |
//! |---|---|
//! | [`choosing`] | which type you want |
//! | [`promises`] | what a wheel promises, each promise with its limits and an example |
//! | [`embedding`] | a wheel in a cache: who owns the key, replace, remove and evict, threads, budgets |
//! | [`replacing`] | a wheel in the place of another crate's timers |
//! | [`programs`] | whole programs, to read and to copy |
//!
//! ```
//! # use timer_wheel::Wheel;
//! let mut wheel = Wheel::new(0); // The snippets of the guides are tests, as this one is.
//! wheel.schedule(1_000, "value");
//! ```

// Each page is a file of the repository, where its links lead to files. Here they lead to what is defined before the
// file: of two definitions the first counts. What is no page leads to the list of documents on the front page, and
// what is not there for want of a feature to the list of features.

#[doc = "[`Wheel`]: crate::Wheel"]
#[cfg_attr(feature = "timer", doc = "[`Timer`]: crate::Timer")]
#[cfg_attr(feature = "timer", doc = "[`KeyedTimer`]: crate::KeyedTimer")]
#[cfg_attr(feature = "timer", doc = "[drivers.md]: crate::timer")]
#[cfg_attr(feature = "tokio", doc = "[`DelayQueue`]: crate::DelayQueue")]
#[cfg_attr(feature = "tokio", doc = "[delay-queue.md]: crate::delay_queue")]
#[doc = "[`IndexWheel`]: crate::index::IndexWheel"]
#[cfg_attr(feature = "ttl", doc = "[`TtlSet`]: crate::ttl::TtlSet")]
#[cfg_attr(feature = "ttl", doc = "[`TtlQueue`]: crate::ttl::TtlQueue")]
#[cfg_attr(feature = "ttl", doc = "[ttl.md]: crate::ttl")]
#[doc = "[embedding.md]: crate::guide::embedding"]
#[doc = "[`Timer`]: crate#features"]
#[doc = "[`KeyedTimer`]: crate#features"]
#[doc = "[`DelayQueue`]: crate#features"]
#[doc = "[`TtlSet`]: crate#features"]
#[doc = "[`TtlQueue`]: crate#features"]
#[doc = "[drivers.md]: crate#features"]
#[doc = "[delay-queue.md]: crate#features"]
#[doc = "[ttl.md]: crate#features"]
#[doc = "[performance.md]: crate#documents"]
#[doc = ""]
#[doc = include_str!("../docs/choosing.md")]
pub mod choosing {}

#[doc = "[testing.md]: crate#documents"]
#[doc = "[design.md]: crate#documents"]
#[doc = ""]
#[doc = include_str!("../docs/semantics.md")]
pub mod promises {}

#[doc = "[promise C15]: crate::guide::promises#c15-no-call-takes-long"]
#[doc = "[ttl_cache.rs]: crate::guide::programs#ttl_cache"]
#[doc = "[concurrent_cache.rs]: crate::guide::programs#concurrent_cache"]
#[doc = "[quick_cache_ttl.rs]: crate::guide::programs#quick_cache_ttl"]
#[doc = "[index_cache.rs]: crate::guide::programs#index_cache"]
#[doc = "[reactor.rs]: crate::guide::programs#reactor"]
#[cfg_attr(feature = "timer", doc = "[drivers.md]: crate::timer")]
#[doc = "[drivers.md]: crate#features"]
#[doc = ""]
#[doc = include_str!("../docs/embedding.md")]
pub mod embedding {}

#[doc = "[`Wheel`]: crate::Wheel"]
#[doc = "[`IndexWheel`]: crate::index::IndexWheel"]
#[doc = "[`TimerKey`]: crate::TimerKey"]
#[doc = "[embedding.md]: crate::guide::embedding"]
#[doc = "[promise C15]: crate::guide::promises#c15-no-call-takes-long"]
#[doc = "[quick_cache_ttl.rs]: crate::guide::programs#quick_cache_ttl"]
#[doc = ""]
#[doc = include_str!("../docs/replacing-a-wheel.md")]
pub mod replacing {}

/// Makes a page of the programs of those names.
macro_rules! programs {
    ($($name:literal)+) => {
        /// Whole programs, to read and to copy. Each checks its own result.
        ///
        /// They are in `examples/` of the package: `cargo run --example ttl_cache`.
        $(
            #[doc = concat!("# ", $name)]
            #[doc = "```rust"]
            #[doc = include_str!(concat!("../examples/", $name, ".rs"))]
            #[doc = "```"]
        )+
        // Not as tests: cargo runs them as programs.
        #[cfg(not(doctest))]
        pub mod programs {}
    };
}

programs! {
    "ttl_cache" "index_cache" "concurrent_cache" "quick_cache_ttl" "sleep_loop" "request_timeouts"
    "session_expiry" "heartbeat" "timeouts_async" "delay_queue" "retry_queue" "reactor" "simulation"
}
