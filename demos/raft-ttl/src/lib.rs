//! A replicated TTL key-value store on openraft, with `timer_wheel::ttl` as its only timer.
//!
//! The README of this member shows how to run it; `docs/ttl.md` explains [`drive`], the glue
//! between the TTL layer and the engine.

#![allow(missing_docs, reason = "the parts of a program: where a name says all, there is no more to say")]
#![allow(
    clippy::result_large_err,
    reason = "some errors are the engine's, and others replies that are made to be sent"
)]

pub mod cli;
pub mod client;
pub mod cluster;
mod confirmation;
pub mod connections;
pub mod demo;
mod disk;
pub mod drive;
pub mod error;
pub mod frame;
pub mod ledger;
mod life;
pub mod limits;
pub mod log_store;
pub mod message;
pub mod network;
pub mod node;
pub mod peers;
mod report;
pub mod runtime;
mod server;
pub mod state;
pub mod state_machine;
pub mod time;
pub mod types;

pub use disk::Disk;
