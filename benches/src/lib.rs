//! The queues that `timer-wheel` is measured against, and the inputs they are measured with.
//!
//! * [`textbook`]: a hierarchical wheel as it is usually built, one list node a timer.
//! * [`btree`]: ordered sets with a slab of values, exact by construction.
//! * [`two_sets`]: the TTL layer's baseline, two ordered sets and a map.
//! * [`turns`]: two subjects that take turns at the same work.
//! * `results`, behind a feature: what a program has measured, for the tables of the documents.
//! * [`workload`]: the generator behind every measurement, so that figures can be repeated.
//!
//! The queues share the wheel's vocabulary and answer alike, to the nanosecond and in the same
//! order, so that a program can swap one for another and compare the answers.
//!
//! ```
//! use timer_wheel_bench::{BTreeQueue, TextbookWheel};
//!
//! let mut wheel = TextbookWheel::<&str>::new(0);
//! let mut queue = BTreeQueue::new(0);
//! for (deadline, value) in [(300, "late"), (100, "early"), (100, "next")] {
//!     wheel.schedule(deadline, value);
//!     queue.schedule(deadline, value);
//! }
//! for now in [100, 100, 100, 300, 300] {
//!     assert_eq!(wheel.pop_expired(now), queue.pop_expired(now));
//! }
//! assert!(wheel.is_empty() && queue.is_empty());
//! ```
//!
//! [`LeanBTreeQueue`] is the exception: it gives up the order among equals, and more, for speed.
//!
//! The program `compare`, behind the default feature of that name, measures them side by side:
//! `cargo run --release -p timer-wheel-bench --bin compare -- --help`.

pub mod btree;
#[cfg(feature = "results")]
pub mod results;
mod spread;
pub mod textbook;
pub mod turns;
pub mod two_sets;
pub mod workload;

pub use btree::{BTreeQueue, LeanBTreeQueue};
pub use spread::Spread;
pub use textbook::TextbookWheel;
pub use two_sets::TwoSets;
