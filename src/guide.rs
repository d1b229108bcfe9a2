//! The guides, as pages of this documentation. They are the files of `docs/` and `examples/`.
//!
//! | page | about |
//! |---|---|
//! | [`tutorial`] | the first hour: from an empty project to a store whose sessions expire |
//! | [`choosing`] | which type you want |
//! | [`semantics`] | what a wheel promises, each promise with its limits |
//! | [`embedding`] | a wheel in a cache: who owns the key, replace, remove and evict, threads, budgets |
//! | [`replacing`] | a wheel in place of another crate's timers |
//! | [`drivers`] | `Timer` and `KeyedTimer`: threads, guarantees, awaiting |
//! | [`ttl`] | expiry around a replicated log, and a retry queue |
//! | [`durable`] | more timers than memory holds: a window in front of a store |
//! | [`restart`] | timers that outlive the process: what to store, and which time to count |
//! | [`own_clock`] | tests that never sleep |
//! | [`design`] | how the wheel works, from zero, and which alternatives were rejected |
//! | [`performance`] | what it costs, how that was measured, where it is not ahead |
//! | [`terms`] | the terms |
//! | [`programs`] | complete programs, to read and to copy |
//!
//! ```
//! # use timer_wheel::Wheel;
//! let mut wheel = Wheel::new(0); // The snippets of the guides are tests, as this one is.
//! wheel.schedule(1_000, "value");
//! ```

/// Makes a page of each document.
///
/// The documents are files of the repository, and their links lead to files there. The definitions before the file make
/// the links lead to pages, because the first of two definitions counts. Links to files without a page lead to the list
/// of documents on the front page. Links to items whose feature is off lead to the list of features.
///
/// rustdoc copies no pictures. So a page begins with its picture inline, and the document's own link to it becomes a
/// dot.
macro_rules! pages {
    ($($name:ident $file:literal $(+ $caption:literal $picture:literal)?)+) => {
        $(
            #[doc = "[`Wheel`]: crate::Wheel"]
            #[doc = "[`TimerKey`]: crate::TimerKey"]
            #[doc = "[`IndexWheel`]: crate::index::IndexWheel"]
            #[cfg_attr(feature = "timer", doc = "[`Timer`]: crate::Timer")]
            #[cfg_attr(feature = "timer", doc = "[`KeyedTimer`]: crate::KeyedTimer")]
            #[cfg_attr(feature = "tokio", doc = "[`DelayQueue`]: crate::DelayQueue")]
            #[cfg_attr(feature = "tokio", doc = "[delay-queue.md]: crate::delay_queue")]
            #[cfg_attr(feature = "ttl", doc = "[`TtlSet`]: crate::ttl::TtlSet")]
            #[cfg_attr(feature = "ttl", doc = "[`TtlQueue`]: crate::ttl::TtlQueue")]
            #[cfg_attr(feature = "retry", doc = "[`RetryQueue`]: crate::retry::RetryQueue")]
            #[cfg_attr(feature = "window", doc = "[`Window`]: crate::window::Window")]
            #[cfg_attr(feature = "local", doc = "[`LocalTimer`]: crate::local::LocalTimer")]
            #[doc = "[`LocalTimer`]: crate#features"]
            #[doc = "[`Window`]: crate#features"]
            #[doc = "[`Timer`]: crate#features"]
            #[doc = "[`KeyedTimer`]: crate#features"]
            #[doc = "[`DelayQueue`]: crate#features"]
            #[doc = "[delay-queue.md]: crate#features"]
            #[doc = "[`TtlSet`]: crate#features"]
            #[doc = "[`TtlQueue`]: crate#features"]
            #[doc = "[`RetryQueue`]: crate#features"]
            #[doc = "[tutorial.md]: crate::guide::tutorial"]
            #[doc = "[choosing.md]: crate::guide::choosing"]
            #[doc = "[semantics.md]: crate::guide::semantics"]
            #[doc = "[promise C15]: crate::guide::semantics#c15-no-long-pauses-with-regular-advances"]
            #[doc = "[embedding.md]: crate::guide::embedding"]
            #[doc = "[lanes]: crate::guide::embedding#one-time-to-live-for-all"]
            #[doc = "[local]: crate::guide::drivers#localtimer"]
            #[doc = "[single]: crate::guide::replacing#single-threaded-runtimes"]
            #[doc = "[bursts]: crate::guide::replacing#what-a-burst-costs"]
            #[doc = "[evicts]: crate::guide::embedding#next-to-a-cache-that-someone-else-wrote"]
            #[doc = "[leases]: crate::guide::embedding#leases-many-keys-one-deadline"]
            #[doc = "[crash]: crate::guide::restart#jobs-that-must-survive-a-crash"]
            #[doc = "[drivers.md]: crate::guide::drivers"]
            #[doc = "[design.md]: crate::guide::design"]
            #[doc = "[performance.md]: crate::guide::performance"]
            #[doc = "[restart.md]: crate::guide::restart"]
            #[doc = "[durable.md]: crate::guide::durable"]
            #[doc = "[own-clock.md]: crate::guide::own_clock"]
            #[doc = "[terms.md]: crate::guide::terms"]
            #[doc = "[concurrent_cache.rs]: crate::guide::programs#concurrent_cache"]
            #[doc = "[index_cache.rs]: crate::guide::programs#index_cache"]
            #[doc = "[driving]: crate#driving-it"]
            #[doc = "[session_expiry.rs]: crate::guide::programs#session_expiry"]
            #[doc = "[local_executor.rs]: crate::guide::programs#local_executor"]
            #[doc = "[connection_deadlines.rs]: crate::guide::programs#connection_deadlines"]
            #[doc = "[replicated_store.rs]: crate::guide::programs#replicated_store"]
            #[doc = "[retry_queue.rs]: crate::guide::programs#retry_queue"]
            #[doc = "[reactor.rs]: crate::guide::programs#reactor"]
            #[doc = "[wheel.rs]: crate::Wheel"]
            #[doc = "[index.rs]: crate::index::IndexWheel"]
            #[doc = "[testing.md]: crate#documents"]
            #[doc = "[testing.md#the-drivers]: crate#documents"]
            #[doc = "[raft-ttl]: crate#documents"]
            #[doc = "[durable-jobs]: crate#documents"]
            #[doc = "[replay]: crate#documents"]
            #[doc = "[wheel.svg]: <data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/%3E>"]
            #[doc = ""]
            $(
                #[doc = $caption]
                #[doc = ""]
                #[doc = "<figure>"]
                #[doc = include_str!(concat!("../docs/", $picture))]
                #[doc = "</figure>"]
                #[doc = ""]
            )?
            #[doc = include_str!(concat!("../docs/", $file, ".md"))]
            pub mod $name {}
        )+
    };
}

pages! {
    tutorial "tutorial" choosing "choosing" semantics "semantics" embedding "embedding" replacing "replacing-a-wheel"
    drivers "drivers" ttl "ttl" restart "restart" durable "durable" own_clock "own-clock" terms "terms"
    performance "performance"
    design "design" + "How the wheel works: a timer moves down its levels, and fires in exact order." "wheel.svg"
}

/// Makes a page of the named programs.
macro_rules! programs {
    ($($name:literal)+) => {
        /// Complete programs, to read and to copy. Each checks its own result.
        ///
        /// They are in `examples/` of the package: `cargo run --example index_cache`.
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
    "index_cache" "concurrent_cache" "session_expiry" "local_executor"
    "connection_deadlines" "retry_queue" "replicated_store" "reactor" "simulation"
}
