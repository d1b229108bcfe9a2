//! Expiry in a replicated state machine: what to propose, and when to ask again.
//!
//! Replicas must agree on which keys have expired, so none may delete a key because its own clock says so. Each replica
//! holds every key with a TTL. On the leader, a key whose TTL is over becomes an [`Expiry`] to be *proposed*. All
//! replicas delete the key when the proposal comes back through the log, and only if the key still carries the index in
//! the proposal. In between the key is *pending*. Proposals fail, are lost, or are overtaken; roles change at any
//! moment; snapshots replace the state. This module keeps track of all that. The store passes it the time, the role and
//! the outcome of each proposal. The module says what to propose and when to call again. It reads no clock and performs
//! no I/O.
//!
//! - [`TtlSet`] identifies its entries by **handle**, a [`TtlKey`], which the store keeps in the record of the key.
//!   Nothing is looked up.
//! - [`TtlQueue`] identifies them by **key**, for stores that want no handles: a hash table on top of a `TtlSet`.
//!
//! **Reads never check the TTL**: a key is there until its expiry is applied.
//!
//! ```
//! use timer_wheel::ttl::{Context, Outcome, Role, TtlSet};
//!
//! const MS: u64 = 1_000_000;
//! let mut ttls: TtlSet<&str> = TtlSet::new(0);
//! ttls.role_change(Role::Leader, 0);
//!
//! // Entry 17 of the log sets a key with a TTL of 2 ms. The store keeps the handle.
//! let handle = ttls.init("session", 17, 2, Context::default())?.expect("a TTL of 0 has none");
//! assert_eq!(ttls.wake_at(), Some(2 * MS));
//!
//! // Two milliseconds on, the leader proposes to delete it.
//! let expiry = ttls.poll(2 * MS).next().unwrap();
//! assert_eq!((expiry.key, expiry.index), ("session", 17));
//! assert!(ttls.poll(2 * MS).next().is_none(), "it is pending now");
//!
//! // The proposal comes back through the log, and the state machine deletes the key.
//! assert_eq!(ttls.applied(handle, 17), Outcome::Applied);
//! assert!(ttls.is_empty());
//! # Ok::<(), timer_wheel::ttl::TtlError>(())
//! ```
//!
//! # Clocks
//!
//! Deadlines count from [`Context::created_ns`] by this replica's monotonic clock, in nanoseconds;
//! time that goes backwards counts as standing still. Wall clocks, in milliseconds, matter only
//! when a snapshot is [restored](TtlSet::restore). [Expiry in a replicated store](crate::guide::ttl) says what
//! can be early or late and by how much.
//!
//! # How it is built
//!
//! The entries are the values of a [`Wheel`](crate::Wheel), by deadline. An entry that the leader proposes is *in
//! flight*: pending, or waiting to be proposed again. It keeps its deadline and its handle, and the wheel holds it out
//! of the order. A second `Wheel` has the flights, by the time of their timeout or retry. At most
//! [`max_pending`](TtlConfig::max_pending) entries are in flight. This bounds a change of role, which puts each of them
//! back in its place (about 2 ms for 4,096). It also keeps a leader from flooding a log that is behind.

// rustdoc shows the methods of `TtlSet` and `TtlQueue` in the order of these modules.
mod queue;
mod set;

mod due;
mod look;
mod upkeep;

mod config;
mod entries;
mod entry;
mod stats;
mod trace;

pub use self::config::{TtlConfig, TtlError};
pub use self::entry::{Context, Entry, Expiry, Outcome, Phase, Role, TtlInfo, TtlKey};
pub use self::queue::{DefaultHashBuilder, TtlQueue};
pub use self::set::TtlSet;
pub use self::stats::{TtlStats, Waits};
