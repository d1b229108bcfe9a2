//! Events for `tracing`. Each is emitted when the call has done its work, so that a panicking listener loses nothing.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables))]

use super::entries::Flight;
use super::{Role, TtlSet};
use crate::Geometry;

macro_rules! tell {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "timer_wheel::ttl", $($event)*)
    };
}

pub(super) fn role_changed(role: Role, requeued: usize, len: usize) {
    tell!(tracing::Level::DEBUG, ?role, requeued, len, "role changed");
}

/// The numbers of first proposals and of retries in a poll, if there are any.
///
/// Emitted when the poll is dropped, but not by a panic: a second panic, of the listener, would abort the program.
pub(super) fn proposed<K, G: Geometry>(expired: u64, retried: u64, set: &TtlSet<K, G>) {
    #[cfg(feature = "std")]
    if std::thread::panicking() {
        return;
    }
    if expired + retried != 0 {
        tell!(
            tracing::Level::DEBUG,
            expired,
            retried,
            len = set.len(),
            pending = set.pending_len(),
            "expiries proposed"
        );
    }
}

pub(super) fn refused(index: u64, flight: Flight) {
    tell!(tracing::Level::WARN, index, attempt = flight.attempts, "proposal refused");
}

pub(super) fn timed_out(index: u64, flight: Flight) {
    tell!(tracing::Level::WARN, index, attempt = flight.attempts, "proposal timed out");
}

pub(super) fn restored(entries: usize) {
    tell!(tracing::Level::DEBUG, entries, "snapshot restored");
}
