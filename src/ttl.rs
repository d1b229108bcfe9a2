//! Expiry in a replicated state machine: what to propose, and when to ask again.
//!
//! Replicas must agree on what expired, so none may delete a key because its own clock says so. A
//! [`TtlQueue`] on each of them holds every key with a TTL. On the leader it turns a key whose time
//! has come into an [`Expiry`] to be *proposed*; the deletion happens when the proposal comes back
//! through the log, on all replicas alike, and only if the key still carries the index that the
//! proposal speaks of. In between the key is *pending*. Proposals fail, are lost, or are overtaken;
//! roles change at any moment; snapshots replace the state. The queue keeps count of all that, so
//! that its users need not: it is told the time, the role and the outcome of each proposal, and
//! says what to propose and when to call again. It reads no clock and does no input or output.
//!
//! Without a log it is a retry queue for one machine, "deliver this at t, and again until it is
//! acknowledged", with a counter of the caller's as the index.
//!
//! **Reads never check the TTL**: a key is there until its expiry is applied.
//!
//! ```
//! use timer_wheel::ttl::{Context, Outcome, Role, TtlConfig, TtlQueue};
//!
//! const MS: u64 = 1_000_000;
//! let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
//! queue.role_change(Role::Leader, 0);
//!
//! // Entry 17 of the log sets a key with a TTL of 2 ms.
//! let created = Context { created_ns: 0, ..Context::default() };
//! assert_eq!(queue.init(17, "session", 2, created), Ok(Outcome::Scheduled));
//! assert_eq!(queue.next_wake(0), Some(2 * MS));
//!
//! // Two milliseconds on, the leader proposes to delete it.
//! let expiry = queue.poll(2 * MS).next().unwrap();
//! assert_eq!((expiry.key, expiry.index), ("session", 17));
//! assert!(queue.poll(2 * MS).next().is_none(), "it is pending now");
//!
//! // The proposal comes back through the log, and the state machine deletes the key.
//! assert_eq!(queue.applied("session", 17), Outcome::Applied);
//! assert!(queue.is_empty());
//! ```
//!
//! # Clocks
//!
//! Deadlines count from [`Context::created_ns`] by this replica's monotonic clock, in nanoseconds;
//! time that goes backwards counts as standing still. Wall clocks, in milliseconds, matter only
//! when a snapshot is [restored](TtlQueue::restore). `docs/ttl.md` in the repository says what can
//! be early or late and by how much.
//!
//! # Keys
//!
//! A key is found by hash (`Hash + Eq`): an update must cost one look-up, and in an ordered map of
//! a million keys a look-up is twenty dependent cache misses. Snapshots are in order of key (`Ord`)
//! so that they are the same on every replica, whatever its hasher. An expiry carries a copy of its
//! key (`Clone`).
//!
//! The hasher is foldhash's ([`DefaultHashBuilder`]) unless another is given
//! ([`TtlQueue::with_hasher`]): fast, and seeded from what addresses a `no_std` program has, so an
//! adversary who chooses keys cannot easily make them collide, and one who can also observe timings
//! perhaps can. Who holds keys chosen by strangers gives `std`'s `RandomState`. The order of hashing
//! shows nowhere.
//!
//! # How it is built
//!
//! An entry is stored once, in an arena; an index by hash leads to it. From there it is in one of these:
//!
//! ```text
//!                     due, and proposed
//!   wheel of deadlines ──────────────► drawn entries, in order of (deadline, sequence)
//!          ▲                             │  pending: list in order of proposals
//!          │ update, or init again       │  awaiting retry: wheel of retries
//!          └─────────────────────────────┤  put back by a change of role: neither
//!                                        ▼
//!                                    applied, removed
//! ```
//!
//! Drawing an entry takes it from the wheel of deadlines into the order of drawn entries, and there
//! it stays through pending, timeout and retry, until it is gone or given another deadline. A
//! change of role must put all of them back to be due, in order, however many: it raises the epoch,
//! by which every drawn entry of the past is known to be put back, forgets the list of pending
//! entries and the wheel of retries, and puts a mark before the first drawn entry. No entry is
//! touched. From then on a poll draws from the mark or from the wheel of deadlines, whichever is
//! earlier; an entry is only drawn again when none before it is due, so all before the mark is of
//! this epoch and all behind it is not, and another change of role is another move of the mark.
//!
//! The earliest deadline, the earliest retry and the earliest timeout are known apart: the list
//! begins with the last, and each wheel remembers the earliest of its times until that one leaves,
//! and then looks for the next if that is no more than a short look.

mod check;
mod commands;
mod config;
mod counters;
mod deadlines;
mod drawn;
mod due;
mod encoding;
mod entry;
mod error;
mod floor;
mod item;
mod iter;
mod pending;
mod retries;
mod roster;
mod snapshot;
mod wake;

use core::fmt;

/// How keys are hashed unless the queue is given another hasher: by foldhash.
pub use foldhash::fast::RandomState as DefaultHashBuilder;

use self::deadlines::Deadlines;
use self::drawn::Drawn;
use self::item::{Epoch, ItemIndex, Place, Rank, Wait};
use self::pending::Pending;
use self::retries::Retries;
use self::roster::{MOST_ENTRIES, Roster};
use crate::geometry::{Geometry, Millis};

pub use self::config::{Backoff, TtlConfig, TtlConfigBuilder};
pub use self::counters::Counters;
pub use self::due::Due;
pub use self::encoding::{VERSION, decode};
pub use self::entry::{Context, Entry, Expiry, Outcome, Phase, Role, Timer};
pub use self::error::{DecodeError, TtlError};
pub use self::iter::Iter;
pub use self::snapshot::Snapshot;

/// The keys with a TTL on one replica of a state machine. See the [module](self).
///
/// `G` is the geometry of the wheels, `S` the hasher of the keys. Neither changes what happens.
///
/// # Costs
///
/// [`init`](Self::init), [`update`](Self::update), [`remove`](Self::remove),
/// [`applied`](Self::applied) and [`failed`](Self::failed) take one look-up by hash and O(1)
/// (for an entry that has been drawn, expected over the heights of a skip list). A change of role
/// takes O(1), and the memory of the waiting retries is freed. A poll touches the entries it yields,
/// and what the wheel moves down.
///
/// Memory for the entries is kept for the next ones. An empty queue takes two empty wheels.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
/// queue.role_change(Role::Leader, 0);
/// queue.init(1, "key", 5, Context::default())?; // 5 ms
/// let proposed: Vec<_> = queue.poll(5_000_000).collect();
/// assert_eq!((proposed[0].key, proposed[0].index), ("key", 1));
/// queue.applied("key", 1);
/// assert!(queue.is_empty());
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Clone)]
pub struct TtlQueue<K, G: Geometry = Millis, S = DefaultHashBuilder> {
    config: TtlConfig,
    role: Role,
    is_stopped: bool,
    /// The latest time that was told, in nanoseconds.
    now: u64,
    next_sequence: u64,
    epoch: Epoch,
    roster: Roster<K, S>,
    /// The entries that have not been drawn, by deadline.
    queue: Deadlines<G>,
    drawn: Drawn,
    pending: Pending,
    /// The entries that wait to be proposed again, by when.
    retries: Retries<G>,
    counters: Counters,
}

impl<K, G: Geometry, S: Default> TtlQueue<K, G, S> {
    /// An empty queue on a follower whose monotonic clock stands at `now` nanoseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Role, TtlConfig, TtlQueue};
    ///
    /// let queue: TtlQueue<String> = TtlQueue::new(0, TtlConfig::default());
    /// assert_eq!((queue.len(), queue.role()), (0, Role::Follower));
    /// ```
    pub fn new(now: u64, config: TtlConfig) -> Self {
        Self::with_hasher(now, config, S::default())
    }
}

impl<K, G: Geometry, S> TtlQueue<K, G, S> {
    /// As [`new`](Self::new), with a hasher for the keys. O(1).
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use timer_wheel::Millis;
    /// use timer_wheel::ttl::{TtlConfig, TtlQueue};
    ///
    /// // For keys that strangers choose.
    /// let hasher = RandomState::new();
    /// let queue: TtlQueue<String, Millis, _> =
    ///     TtlQueue::with_hasher(0, TtlConfig::default(), hasher);
    /// assert!(queue.is_empty());
    /// ```
    pub fn with_hasher(now: u64, config: TtlConfig, hasher: S) -> Self {
        Self {
            config,
            role: Role::default(),
            is_stopped: false,
            now,
            next_sequence: 1,
            epoch: Epoch::FIRST,
            roster: Roster::new(hasher),
            queue: Deadlines::new(now),
            drawn: Drawn::new(),
            pending: Pending::EMPTY,
            retries: Retries::new(now),
            counters: Counters::default(),
        }
    }

    /// Makes room for `additional` more entries. O(n + additional), as the index of the keys may
    /// grow.
    ///
    /// # Panics
    ///
    /// If the queue could never hold that many.
    ///
    /// ```
    /// use timer_wheel::ttl::{TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.reserve(1_000);
    /// assert!(queue.is_empty());
    /// ```
    pub fn reserve(&mut self, additional: usize) {
        assert!(
            self.roster.has_room(additional),
            "a TTL queue holds at most {MOST_ENTRIES} entries"
        );
        self.roster.reserve(additional);
    }

    /// The number of entries, in whatever phase. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.init(2, "other", 9, Context::default())?;
    /// assert_eq!(queue.len(), 2);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.roster.len()
    }

    /// Whether there is no entry. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.remove("key");
    /// assert!(queue.is_empty());
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of entries that are proposed and without an answer. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// assert_eq!((queue.pending_len(), queue.len()), (1, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// The number of entries whose proposal failed and that wait for the next. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// assert_eq!(queue.poll(5_000_000).count(), 1);
    /// queue.failed("key", 1, 6_000_000);
    /// assert_eq!((queue.pending_len(), queue.retrying_len()), (0, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn retrying_len(&self) -> usize {
        self.retries.len()
    }

    /// The settings. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{TtlConfig, TtlQueue};
    ///
    /// let queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// assert_eq!(queue.config(), &TtlConfig::default());
    /// ```
    pub fn config(&self) -> &TtlConfig {
        &self.config
    }

    /// The role as told last. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// assert_eq!(queue.role(), Role::Leader);
    /// ```
    pub fn role(&self) -> Role {
        self.role
    }

    /// Whether [`stop`](Self::stop) was called. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::{TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// assert!(!queue.is_stopped());
    /// queue.stop();
    /// assert!(queue.is_stopped());
    /// ```
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Proposes nothing from now on: polls yield nothing, and there is no wake-up. O(1).
    ///
    /// What is pending may still be [applied](Self::applied); everything else works as before, so
    /// that a last snapshot can be taken. There is no way back.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.stop();
    /// assert_eq!(queue.poll(5_000_000).count(), 0);
    /// assert_eq!((queue.next_wake(0), queue.len()), (None, 1));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Takes note of this replica's role. O(1); what waits for a retry costs its memory's release.
    ///
    /// Call it with every change of role *or term*: also when the role is the same as before, all
    /// that was pending or waiting for a retry is due again, in order of deadline and with no
    /// attempts to its name, for its proposals may have been lost with the old term. Nothing is
    /// moved now; the polls that follow yield it within their batches.
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Phase, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<u32> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, 7, 5, Context::default())?;
    /// assert_eq!(queue.poll(6_000_000).count(), 1);
    /// assert_eq!(queue.pending_len(), 1);
    ///
    /// queue.role_change(Role::Follower, 7_000_000);
    /// assert_eq!(queue.get(&7).unwrap().phase, Phase::Queued);
    /// assert_eq!(queue.poll(8_000_000).count(), 0);
    ///
    /// queue.role_change(Role::Leader, 9_000_000);
    /// assert_eq!(queue.poll(9_000_000).count(), 1);
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn role_change(&mut self, role: Role, now: u64) {
        self.tick(now);
        self.role = role;
        if let Some(first) = self.pending.first() {
            self.count_wait(self.roster.item(first).wait_in(self.epoch));
        }
        self.counters.requeued += (self.pending.len() + self.retries.len()) as u64;
        self.pending = Pending::EMPTY;
        if self.retries.len() != 0 {
            self.retries = Retries::new(self.now);
        }
        self.next_epoch();
        self.drawn.put_all_back();
    }

    /// Begins another epoch. O(1), but for one walk through the drawn entries in 2^32 calls.
    fn next_epoch(&mut self) {
        self.epoch = self.epoch.next().unwrap_or_else(|| {
            for (_, item) in self.drawn.iter() {
                self.roster.item_mut(item).drawing_mut().epoch = Epoch::NEVER;
            }
            Epoch::FIRST
        });
    }

    /// Drops all entries and their memory. The clock, the role and the counters stay. O(n).
    ///
    /// ```
    /// use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
    ///
    /// let mut queue: TtlQueue<&str> = TtlQueue::new(0, TtlConfig::default());
    /// queue.role_change(Role::Leader, 0);
    /// queue.init(1, "key", 5, Context::default())?; // 5 ms
    /// queue.clear();
    /// assert_eq!((queue.len(), queue.role()), (0, Role::Leader));
    /// # Ok::<(), timer_wheel::ttl::TtlError>(())
    /// ```
    pub fn clear(&mut self) {
        self.queue = Deadlines::new(self.now);
        self.retries = Retries::new(self.now);
        self.drawn.clear();
        self.pending = Pending::EMPTY;
        // Last, because keys may panic when they are dropped.
        self.roster.clear();
    }

    #[inline]
    fn is_proposing(&self) -> bool {
        self.role == Role::Leader && !self.is_stopped
    }

    /// Moves the clock, never backwards.
    #[inline]
    fn tick(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Counts how long an entry was pending, if it was, up to the latest time told.
    #[inline]
    fn count_wait(&mut self, wait: Wait) {
        if let Wait::Answer(link) = wait {
            let pending_ns = self.now - link.proposed_ns();
            self.counters.longest_pending_ns = self.counters.longest_pending_ns.max(pending_ns);
        }
    }

    /// The rank of an entry that is given this deadline now.
    #[inline]
    fn rank(&mut self, deadline_ns: u64) -> Rank {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        Rank {
            deadline_ns,
            sequence,
        }
    }

    /// Takes a drawn entry out of every order. O(1) expected.
    fn undraw(&mut self, place: &Place, wait: Wait) {
        if let Place::Drawn(drawing) = place {
            self.drawn.remove(drawing.tower);
        }
        match wait {
            Wait::Turn => {}
            Wait::Answer(link) => self.pending.unlink(&mut self.roster, link),
            Wait::Retry(timer) => self.retries.cancel(timer),
        }
        self.count_wait(wait);
    }

    /// Takes an entry out of every order. O(1), expected if it was drawn.
    fn withdraw(&mut self, item: ItemIndex) {
        let known = self.roster.item(item);
        match known.place {
            Place::Queued => self.queue.cancel(self.roster.slots_mut(), item),
            place @ Place::Drawn(_) => {
                let wait = known.wait_in(self.epoch);
                self.undraw(&place, wait);
            }
        }
    }

    fn stale(&mut self) -> Outcome {
        self.counters.stale += 1;
        Outcome::Stale
    }
}

impl<K, G: Geometry, S> fmt::Debug for TtlQueue<K, G, S> {
    /// Prints the numbers of entries, never the entries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtlQueue")
            .field("role", &self.role)
            .field("now", &self.now)
            .field("len", &self.len())
            .field("pending", &self.pending_len())
            .field("retrying", &self.retrying_len())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// An entry put back in the first epoch must not come to life as pending when the numbers of
    /// the epochs begin anew.
    #[test]
    fn epochs_that_run_out_begin_anew_with_everything_put_back() {
        let mut queue: TtlQueue<u32> = TtlQueue::new(0, TtlConfig::default());
        queue.role_change(Role::Leader, 0);
        queue.epoch = Epoch::FIRST;
        for key in 0..90 {
            queue.init(1, key, 5, Context::default()).unwrap();
        }
        assert_eq!(queue.poll(5_000_000).count(), 50);
        queue.epoch = Epoch::LAST;
        queue.pending = Pending::EMPTY;
        queue.drawn.put_all_back();
        assert_eq!(queue.poll(5_000_000).take(20).count(), 20);
        queue.role_change(Role::Leader, 6_000_000);
        assert_eq!((queue.epoch, queue.pending_len()), (Epoch::FIRST, 0));
        queue.check_invariants();
        let mut keys: Vec<u32> = queue.poll(6_000_000).map(|due| due.key).collect();
        keys.extend(queue.poll(6_000_000).map(|due| due.key));
        assert!(keys.into_iter().eq(0..90));
    }
}
