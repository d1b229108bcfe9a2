//! The engine: which timer is due when, and nothing else. Both wheels are faces of it.
//!
//! A [hierarchy](hierarchy) owns a node for each timer and merges two rooms: the [levels](levels), coarse, where timers
//! wait in buckets; and the [near heap](near), fine, where the timers that fire next are in exact order. The engine has
//! no clock, no keys and no threads, and never looks at a value.

pub(crate) mod budget;
pub(crate) mod geometry;
pub(crate) mod hierarchy;
pub(crate) mod levels;
mod list;
pub(crate) mod near;
pub(crate) mod node;
pub(crate) mod pages;
