//! The store as its users meet it: nodes that are processes, sockets that lose messages, disks that
//! fail, leaders that die.

mod bad_input;
mod chaos;
mod clocks;
mod commands;
mod conformance;
mod connections;
mod demo;
mod disk;
mod far;
mod glue;
mod identity;
mod partition;
mod process;
mod proxy;
mod snapshots;
mod wires;
