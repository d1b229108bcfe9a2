//! The engine: it decides which timer is due when, and nothing else. Both wheels are built on it.
//!
//! A [hierarchy](hierarchy) owns a node for each timer and merges two structures. On the [levels](levels), timers wait
//! in buckets. In the [near heap](near), the timers that fire next are in exact order. The engine has
//! no clock, no keys and no threads, and never looks at a value.

pub(crate) mod budget;
pub(crate) mod geometry;
pub(crate) mod hierarchy;
pub(crate) mod levels;
mod list;
pub(crate) mod near;
pub(crate) mod node;
pub(crate) mod pages;
