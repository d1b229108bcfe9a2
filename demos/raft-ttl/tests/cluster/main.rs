//! The store as its users meet it: nodes that are processes, sockets that lose messages, disks that
//! fail, leaders that die.

mod bad_input;
mod chaos;
mod commands;
mod conformance;
mod demo;
mod disk;
mod expiry;
mod kill;
mod ledger;
mod partition;
mod process;
mod proposals;
mod proxy;
mod snapshots;
mod walkthrough;
mod within;
