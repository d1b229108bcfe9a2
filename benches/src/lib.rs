//! The queues that `timer-wheel` is measured against, and the inputs they are measured with.
//!
//! * [`textbook`]: a hierarchical wheel as it is usually built, one list node a timer.
//! * [`btree`]: ordered sets with a slab of values, exact by construction.
//! * [`two_sets`]: the TTL layer's baseline, two ordered sets and a map.
//! * [`queue`]: the traits by which all of them are driven, and those of others that `rivals` adapts.
//! * [`turns`]: two subjects that take turns at the same work.
//! * `results`, behind a feature: what a program has measured, for the tables of the documents.
//! * [`workload`]: the generator behind every measurement, so that figures can be repeated.
//!
//! These queues answer alike, to the nanosecond and in the same order, so that a program can swap one for
//! another and compare the answers.
//!
//! ```
//! use timer_wheel::Wheel;
//! use timer_wheel_bench::queue::Queue;
//! use timer_wheel_bench::{BTreeQueue, TextbookWheel};
//!
//! fn fired<Q: Queue<&'static str>>() -> Vec<(u64, &'static str)> {
//!     let mut queue = Q::new(0);
//!     for (deadline, value) in [(300, "late"), (100, "early"), (100, "next")] {
//!         queue.schedule(deadline, value);
//!     }
//!     let mut fired = Vec::new();
//!     queue.advance(300, |deadline, value| fired.push((deadline, value)));
//!     fired
//! }
//! assert_eq!(fired::<TextbookWheel<_>>(), fired::<BTreeQueue<_>>());
//! assert_eq!(fired::<TextbookWheel<_>>(), fired::<Wheel<_>>());
//! ```
//!
//! [`LeanBTreeQueue`] is the exception: it gives up the order among equals, and more, for speed.
//!
//! The program `compare`, behind the default feature of that name, measures them side by side:
//! `cargo run --release -p timer-wheel-bench --bin compare -- --help`.

pub mod btree;
pub mod queue;
#[cfg(feature = "results")]
pub mod results;
#[cfg(feature = "compare")]
pub mod rivals;
mod spread;
pub mod textbook;
pub mod turns;
pub mod two_sets;
pub mod workload;

pub use btree::{BTreeQueue, BareSet, LeanBTreeQueue};
pub use spread::Spread;
pub use textbook::TextbookWheel;
pub use two_sets::TwoSets;
