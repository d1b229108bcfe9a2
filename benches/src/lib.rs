//! The queues that `timer-wheel` is measured against, and what they are measured with.
//!
//! * [`queue`]: the trait by which all queues are driven.
//! * [`textbook`], [`btree`]: a hierarchical wheel as it is usually built, and ordered trees.
//! * [`workload`]: the generator behind every measurement, so that figures can be repeated.
//! * `rivals`, `experiments`, `drivers`: the queues of others, the workloads of queues and of timers with a thread,
//!   behind the feature `compare`.
//! * `clock`, `results`: how long calls take, and the form in which a program writes what it has measured, behind the
//!   feature `results`.
//!
//! Exact queues answer alike, to the nanosecond and in the same order, so a program can swap one for another and
//! compare the answers. The program `compare` measures them side by side:
//! `cargo run --release -p timer-wheel-bench --bin compare -- --help`.

#[cfg(feature = "compare")]
pub mod answer;
pub mod btree;
#[cfg(feature = "results")]
pub mod clock;
#[cfg(feature = "compare")]
pub mod drivers;
#[cfg(feature = "compare")]
pub mod experiments;
#[cfg(feature = "compare")]
pub mod figure;
#[cfg(feature = "compare")]
pub mod heap;
pub mod queue;
#[cfg(feature = "results")]
pub mod results;
#[cfg(feature = "compare")]
pub mod rivals;
#[cfg(feature = "compare")]
pub mod subject;
pub mod textbook;
pub mod workload;

pub use btree::{BTreeQueue, LeanBTreeQueue, SplitMap};
pub use textbook::TextbookWheel;
