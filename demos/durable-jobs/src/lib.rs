//! Delayed jobs in a store that several workers share, each with a window in front of each partition.
//!
//! The README of this member shows how to run it; `docs/durable.md` explains the window and the rules of its host.

#![allow(missing_docs, reason = "the parts of a program: where a name says all, there is no more to say")]

pub mod args;
pub mod cli;
pub mod clock;
pub mod compare;
pub mod demo;
pub mod error;
pub mod ledger;
pub mod output;
pub mod program;
pub mod store;
pub mod tenure;
pub mod worker;
