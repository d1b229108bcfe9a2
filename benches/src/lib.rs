//! The queues that `timer-wheel` is measured against, and the inputs they are measured with.
//!
//! * [`textbook`]: a hierarchical wheel as it is usually built, one list node a timer.
//! * [`btree`]: ordered sets with a slab of values, exact by construction.
//! * [`workload`]: the generator behind every measurement, so that figures can be repeated.
//!
//! The queues share the wheel's vocabulary and answer alike, to the nanosecond and in the same
//! order, so that a program can swap one for another and compare the answers.

pub mod btree;
pub mod textbook;
pub mod workload;

pub use btree::{BTreeQueue, LeanBTreeQueue};
pub use textbook::TextbookWheel;
