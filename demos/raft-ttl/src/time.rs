//! The time by which TTLs count: one for the whole cluster, carried on by the log.
//!
//! A wall clock that is wrong must not expire anything, so wall clocks are read as rarely as can be. The
//! leader stamps each command with the *time of the cluster*. A node takes that up from the stamps it
//! receives and carries it on by its monotonic clock, so the next leader goes on where the last one was,
//! whatever its wall clock says. While a process is down its machine's wall clock tells how long
//! that was: the difference between two readings of one clock, not between clocks. That may still be wrong, if
//! the clock was set meanwhile; so a node that was started asks others what time it is, and expires and
//! stamps nothing before most of them have told it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use timer_wheel::clock::{self, SystemClock};
use tokio::sync::watch;

use crate::types::NodeId;

pub(crate) const NS_PER_MS: u64 = 1_000_000;

/// How far the times of two nodes may be apart before that is taken for a fault, unless told otherwise.
pub const MAX_SKEW: Duration = Duration::from_secs(1);

/// What a node writes down with its log, to know after a start how long it was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The time of the cluster, in nanoseconds since 1970.
    pub time_ns: u64,
    /// What the wall clock of this machine said then, in microseconds.
    pub wall_us: u64,
}

/// The time of the cluster, as one node knows it.
///
/// Invariants: it goes forward by what elapses on the monotonic clock, and at a stamp by `skew` more at
/// most. It goes back only before [`knows`](Self::knows) has said that it is known.
pub struct Clock {
    monotonic: Box<dyn clock::Clock>,
    wall_us: Box<dyn Fn() -> u64 + Send + Sync>,
    skew_ns: u64,
    time: Mutex<Time>,
    known: watch::Sender<bool>,
    told: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct Time {
    /// The time of the cluster when the monotonic clock was at `since_ns`.
    base_ns: u64,
    since_ns: u64,
    /// Who has told what time it is, before it was known.
    heard: BTreeSet<NodeId>,
}

impl Clock {
    /// The time as it is after a start, by these clocks and the last reading of them.
    pub fn new(
        monotonic: impl clock::Clock,
        wall_us: impl Fn() -> u64 + Send + Sync + 'static,
        last: Option<Reading>,
        skew: Duration,
    ) -> Self {
        let now_us = wall_us();
        let base_ns = match last {
            // A wall clock that went back says nothing: the time stood still.
            Some(last) => {
                let elapsed_us = now_us.saturating_sub(last.wall_us);
                last.time_ns
                    .saturating_add(elapsed_us.saturating_mul(1_000))
            }
            None => now_us.saturating_mul(1_000),
        };
        let since_ns = monotonic.now();
        Self {
            monotonic: Box::new(monotonic),
            wall_us: Box::new(wall_us),
            skew_ns: u64::try_from(skew.as_nanos()).unwrap_or(u64::MAX),
            time: Mutex::new(Time {
                base_ns,
                since_ns,
                heard: BTreeSet::new(),
            }),
            known: watch::Sender::new(false),
            told: tokio::sync::Notify::new(),
        }
    }

    /// The same by the clocks of this machine.
    pub fn system(last: Option<Reading>, skew: Duration) -> Self {
        Self::new(SystemClock::default(), wall_us_now, last, skew)
    }

    /// The time, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now(&self.lock())
    }

    /// The time in milliseconds, rounded up: for the beginning of a TTL, lest it end early.
    pub fn stamp_ms(&self) -> u64 {
        self.now_ns().div_ceil(NS_PER_MS)
    }

    /// What to write down.
    pub(crate) fn reading(&self) -> Reading {
        // In this order: what passes between the two is time that a start does not add.
        Reading {
            time_ns: self.now_ns(),
            wall_us: (self.wall_us)(),
        }
    }

    /// Takes up the stamp of an entry that was received: it is at least so late.
    ///
    /// However late that is, the time moves by the skew at most. A stamp is rounded up, so its millisecond
    /// counts as not over, or each change of the lead would add a part of one.
    pub fn receive(&self, stamp_ms: u64) {
        let stamp_ns = stamp_ms.saturating_sub(1).saturating_mul(NS_PER_MS);
        let mut time = self.lock();
        let now_ns = self.now(&time);
        if stamp_ns > now_ns {
            time.base_ns += stamp_ns.min(now_ns.saturating_add(self.skew_ns)) - now_ns;
        }
    }

    /// Takes down what time it is on another node. If that is much earlier and this one has only its wall
    /// clock to go by, that was set forward, or the other's back; too late is the lesser harm.
    pub fn hear(&self, from: NodeId, their_ns: u64) {
        let mut time = self.lock();
        if *self.known.borrow() {
            return;
        }
        let now_ns = self.now(&time);
        if now_ns > their_ns.saturating_add(self.skew_ns) {
            (time.base_ns, time.since_ns) = (their_ns, self.monotonic.now());
        }
        time.heard.insert(from);
        drop(time);
        self.told.notify_one();
    }

    /// Whether so many others have told what time it is, once; it is known from then on.
    pub fn knows(&self, others: usize) -> bool {
        let time = self.lock();
        if time.heard.len() >= others {
            self.known.send_replace(true);
        }
        *self.known.borrow()
    }

    /// Waits until another node has told what time it is since the last time that this was asked.
    pub async fn told(&self) {
        self.told.notified().await;
    }

    /// Waits until the time is known.
    pub async fn known(&self) {
        // The sender is here, so there is no error.
        let _ = self.known.subscribe().wait_for(|&known| known).await;
    }

    fn now(&self, time: &Time) -> u64 {
        let elapsed_ns = self.monotonic.now().saturating_sub(time.since_ns);
        time.base_ns.saturating_add(elapsed_ns)
    }

    fn lock(&self) -> MutexGuard<'_, Time> {
        // No change of it can be half done.
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now_ns", &self.now_ns())
            .field("known", &*self.known.borrow())
            .finish_non_exhaustive()
    }
}

/// The wall clock in whole milliseconds, rounded down.
pub fn wall_ms_now() -> u64 {
    wall_us_now() / 1_000
}

/// The wall clock in microseconds.
pub fn wall_us_now() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}
