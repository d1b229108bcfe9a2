//! A hierarchical timer wheel that behaves like a `BTreeSet<(deadline, sequence)>` and costs like
//! a slab.
//!
//! A [`Wheel`] holds values, each with a deadline, and hands them back when their time has come:
//! in exact order of deadline, first in first out among equals, to the nanosecond.
//!
//! ```
//! use timer_wheel::Wheel;
//!
//! let mut wheel = Wheel::<&str>::new(0);
//! wheel.schedule(2_000_000, "second");
//! wheel.schedule(1_000_000, "first");
//! let cancelled = wheel.schedule(1_500_000, "never");
//! assert_eq!(wheel.cancel(cancelled), Some("never"));
//!
//! let fired: Vec<&str> = wheel.advance(3_000_000).map(|timer| timer.value).collect();
//! assert_eq!(fired, ["first", "second"]);
//! ```
//!
//! # What it is not
//!
//! Time is a `u64` of nanoseconds since an origin that you pick. The wheel reads no clock, starts
//! no thread and never blocks: you tell it the time with [`advance`](Wheel::advance), and ask it
//! how long you may sleep with [`expiration_delay`](Wheel::expiration_delay).
//!
//! # What may surprise
//!
//! - Putting a timer off only writes the new deadline down. The wheel looks at the timer once at
//!   its old time, so `expiration_delay` may wake you early and fire nothing.
//! - A value stays in the wheel until [`advance`](Wheel::advance) is called *and the iterator it
//!   returns is pulled*: the iterator does the work.
//! - The clock never runs backwards: an advance to an earlier time is an advance to
//!   [`now`](Wheel::now).
//!
//! # Drivers
//!
//! A [`Timer`] puts a wheel, a [`Clock`] and a thread together and runs jobs when they are due; a
//! [`KeyedTimer`] gives them keys. See [`timer`].
//!
//! # Features
//!
//! - `std` (default): [`clock`] and [`timer`].
//! - `tracing`: a timer tells when it starts and stops, and of late and panicking jobs.
//! - `serde`: a wheel of serializable values can be stored and loaded, keys included.
//! - `tokio`: `DelayQueue`, a stream of items that come when their time has come, in place of
//!   tokio-util's. Uses `std`.
//!
//! Without `std` and `tracing` the crate is `no_std` with `alloc`. It contains no `unsafe`.

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

/// The examples of the documents are tests too.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[doc = include_str!("../docs/semantics.md")]
    struct Semantics;

    #[doc = include_str!("../docs/embedding.md")]
    struct Embedding;
}

#[cfg(feature = "std")]
pub mod clock;
#[cfg(feature = "tokio")]
pub mod delay_queue;
#[cfg(feature = "std")]
pub mod timer;
pub mod ttl;

mod filing;
mod geometry;
mod key;
mod occupancy;
mod slots;
#[cfg(feature = "std")]
mod sync;
mod wheel;

#[cfg(feature = "std")]
pub use clock::{Clock, ManualClock, SystemClock};
#[cfg(feature = "tokio")]
pub use delay_queue::DelayQueue;
pub use geometry::{Caffeine, Compact, Geometry, Micros, Millis};
pub use key::TimerKey;
#[cfg(feature = "std")]
pub use timer::{Executor, Job, KeyedTimer, Shutdown, Timer, TimerHandle};
pub use wheel::advance::{Advance, Expired, Progress, Verdict};
pub use wheel::iter::{Ascending, Descending, Drain, Iter, TimerRef};
pub use wheel::levels::{Buckets, Level};
pub use wheel::stats::Stats;
pub use wheel::{Full, Wheel};
