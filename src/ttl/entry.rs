//! Entries and the public types around them.

use crate::TimerKey;

/// Identifies an entry of a [`TtlSet`](super::TtlSet), from when it is set until it ends.
///
/// A handle is eight bytes, and so is an `Option` of it. Once its entry has been applied or removed, the handle is
/// *stale* for ever, even after its slot has been reused. It is valid for the set that issued it, and for clones of
/// that set. Another replica has other handles, so handles do not belong in a log or a snapshot.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlKey, TtlSet};
///
/// let mut set: TtlSet<&str> = TtlSet::new(0);
/// let handle: Option<TtlKey> = set.init("key", 1, 5, Context::default())?; // 5 ms
/// assert_eq!(set.remove(handle.unwrap()), Some("key"));
/// assert!(set.get(handle.unwrap()).is_none());
/// assert_eq!(size_of::<Option<TtlKey>>(), 8);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TtlKey(pub(super) TimerKey);

/// A key with a TTL, as it is replicated: the part that is the same on every replica.
///
/// [`TtlSet::snapshot`](super::TtlSet::snapshot) yields entries and
/// [`TtlQueue::restore`](super::TtlQueue::restore) takes them.
///
/// ```
/// use timer_wheel::ttl::{Entry, TtlQueue};
///
/// let entry = Entry::new("key", 1, 500).with_leader_start_ms(1_000);
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.restore([entry], 0, 1_200)?; // 200 ms after it was set
/// assert_eq!(queue.remaining("key", 0), Some(300_000_000));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct Entry<K> {
    /// The key that expires, or another value that tells the store what to delete.
    pub key: K,
    /// The log index that set the TTL: an expiry counts only for this index.
    pub index: u64,
    /// The owner of the key; opaque here, for example a session or a UUID.
    pub owner: u128,
    /// When the TTL began by the leader's wall clock, in milliseconds.
    pub leader_start_ms: u64,
    /// The TTL in milliseconds, never 0.
    pub ttl_ms: u64,
}

impl<K> Entry<K> {
    /// An entry without an owner, whose TTL began at the origin of the wall clock. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Entry;
    ///
    /// let entry = Entry::new("key", 1, 500);
    /// assert_eq!((entry.key, entry.index, entry.ttl_ms), ("key", 1, 500));
    /// ```
    pub const fn new(key: K, index: u64, ttl_ms: u64) -> Self {
        Self { key, index, owner: 0, leader_start_ms: 0, ttl_ms }
    }

    /// The same with an owner. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Entry;
    ///
    /// assert_eq!(Entry::new("key", 1, 500).with_owner(42).owner, 42);
    /// ```
    pub fn with_owner(self, owner: u128) -> Self {
        Self { owner, ..self }
    }

    /// The same with a TTL that began at this time by the leader's wall clock, in milliseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Entry;
    ///
    /// assert_eq!(Entry::new("key", 1, 500).with_leader_start_ms(1_000).leader_start_ms, 1_000);
    /// ```
    pub fn with_leader_start_ms(self, leader_start_ms: u64) -> Self {
        Self { leader_start_ms, ..self }
    }
}

/// The fields of a command that sets a TTL, besides key, index and TTL.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// let ctx = Context::new(3_000_000).with_owner(42).with_leader_start_ms(1_700_000_000_000);
/// queue.init("key", 1, 5, ctx)?;
/// let info = queue.get("key").unwrap();
/// assert_eq!((info.entry.owner, info.deadline_ns), (42, 8_000_000));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Context {
    /// The owner of the key; opaque here.
    pub owner: u128,
    /// When the leader proposed the command, by its wall clock, in milliseconds: from the command,
    /// the same on every replica.
    pub leader_start_ms: u64,
    /// When this replica received the command, by its own monotonic clock, in nanoseconds. The TTL
    /// counts from here.
    pub created_ns: u64,
}

impl Context {
    /// The context of a command that this replica received at `created_ns`, without an owner. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Context;
    ///
    /// assert_eq!(Context::new(3_000_000).created_ns, 3_000_000);
    /// ```
    pub const fn new(created_ns: u64) -> Self {
        Self { owner: 0, leader_start_ms: 0, created_ns }
    }

    /// The same with an owner. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Context;
    ///
    /// assert_eq!(Context::new(0).with_owner(42).owner, 42);
    /// ```
    pub const fn with_owner(self, owner: u128) -> Self {
        Self { owner, ..self }
    }

    /// The same with a command that the leader proposed at this time by its wall clock, in milliseconds. O(1).
    ///
    /// ```
    /// use timer_wheel::ttl::Context;
    ///
    /// assert_eq!(Context::new(0).with_leader_start_ms(1_000).leader_start_ms, 1_000);
    /// ```
    pub const fn with_leader_start_ms(self, leader_start_ms: u64) -> Self {
        Self { leader_start_ms, ..self }
    }
}

/// The state of an entry on this replica.
///
/// ```
/// use timer_wheel::ttl::{Context, Phase, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.role_change(Role::Leader, 0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// assert_eq!(queue.get("key").unwrap().phase, Phase::Queued);
/// assert_eq!(queue.poll(5_000_000).count(), 1);
/// assert_eq!(queue.get("key").unwrap().phase, Phase::Pending);
/// queue.failed("key", 1, 6_000_000);
/// assert_eq!(queue.get("key").unwrap().phase, Phase::Retrying);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Waits for its deadline, or is due and has not been proposed (again).
    Queued,
    /// Proposed, and without an answer.
    Pending,
    /// The proposal failed or had no answer in time; waits to be proposed again.
    Retrying,
}

/// One entry, with its state on this replica.
///
/// ```
/// use timer_wheel::ttl::{Context, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// let info = queue.get("key").unwrap();
/// assert_eq!((info.entry.key, info.deadline_ns, info.attempts), ("key", 5_000_000, 0));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TtlInfo<'a, K> {
    /// Identifies the entry in its [`TtlSet`](super::TtlSet).
    pub handle: TtlKey,
    /// The replicated part.
    pub entry: &'a Entry<K>,
    /// When the key is due by this replica's monotonic clock, in nanoseconds.
    pub deadline_ns: u64,
    /// The state of the entry.
    pub phase: Phase,
    /// How often the entry has been proposed since the last change of role.
    pub attempts: u32,
}

impl<K> Clone for TtlInfo<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for TtlInfo<'_, K> {}

/// A proposal to make: that `key` be deleted if it still carries `index`.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.role_change(Role::Leader, 0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// let expiry = queue.poll(5_000_000).next().unwrap();
/// // To be proposed as "delete the key if it still carries this index".
/// assert_eq!((expiry.key, expiry.index, expiry.attempt), ("key", 1, 1));
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Expiry<K> {
    /// The key whose TTL is over.
    pub key: K,
    /// Identifies the entry in its [`TtlSet`](super::TtlSet), on this replica only.
    pub handle: TtlKey,
    /// The log index that set the TTL.
    pub index: u64,
    /// The owner of the key.
    pub owner: u128,
    /// The number of this proposal since the last change of role: 1 for the first, 2 and up for
    /// retries.
    pub attempt: u32,
}

/// The outcome of a call.
///
/// ```
/// use timer_wheel::ttl::{Context, Outcome, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// assert_eq!(queue.init("key", 1, 5, Context::default())?, Outcome::Scheduled);
/// assert_eq!(queue.init("key", 1, 5, Context::default())?, Outcome::Stale);
/// assert_eq!(queue.init("key", 2, 5, Context::default())?, Outcome::Updated);
/// assert_eq!(queue.applied("key", 2), Outcome::Applied);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The key had no TTL and has one now.
    Scheduled,
    /// The key had a TTL of an older index and has this one now.
    Updated,
    /// Nothing changed: the call is about an older index, or about an entry or a proposal that does not exist (any
    /// more).
    Stale,
    /// Nothing changed: there is no TTL to update.
    Missing,
    /// Nothing changed: a TTL of 0 means none.
    Ignored,
    /// The entry has ended, and the key has no TTL any more.
    Applied,
    /// The proposal counts as failed, and the expiry will be proposed again.
    Failed,
}

/// Whether this replica proposes expiries.
///
/// ```
/// use timer_wheel::ttl::{Context, Role, TtlQueue};
///
/// let mut queue: TtlQueue<&str> = TtlQueue::new(0);
/// queue.init("key", 1, 5, Context::default())?; // 5 ms
/// assert_eq!(queue.poll(5_000_000).count(), 0, "a follower proposes nothing");
/// queue.role_change(Role::Leader, 5_000_000);
/// assert_eq!(queue.poll(5_000_000).count(), 1);
/// # Ok::<(), timer_wheel::ttl::TtlError>(())
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Role {
    /// The replica that proposes.
    Leader,
    /// Any other replica: follower, candidate, learner.
    #[default]
    Follower,
}
