//! What is known of a key with a TTL, and how the outside sees it.

/// A key with a TTL, as it is replicated: the part that is the same on every replica.
///
/// What [`TtlQueue::snapshot`](super::TtlQueue::snapshot) yields and
/// [`TtlQueue::restore`](super::TtlQueue::restore) takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Entry<K> {
    /// The key that expires.
    pub key: K,
    /// The log index that set the TTL: an expiry counts only for this index.
    pub index: u64,
    /// Whoever the key belongs to; opaque here, a session or a UUID say.
    pub owner: u128,
    /// When the TTL began by the leader's wall clock, in milliseconds.
    pub leader_start_ms: u64,
    /// The TTL in milliseconds, never 0.
    pub ttl_ms: u64,
}

/// What a command that sets a TTL carries beside key, index and TTL.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Whoever the key belongs to; opaque here.
    pub owner: u128,
    /// When the leader proposed the command, by its wall clock, in milliseconds: from the command,
    /// the same on every replica.
    pub leader_start_ms: u64,
    /// When this replica received the command, by its own monotonic clock, in nanoseconds. The TTL
    /// counts from here.
    pub created_ns: u64,
}

/// Where an entry stands between its deadline and its end.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waits for its deadline, or is due and has not been proposed (again).
    Queued,
    /// Proposed, and the answer is out.
    Pending,
    /// The proposal failed or had no answer in time; waits to be proposed again.
    Retrying,
}

/// One entry of a [`TtlQueue`](super::TtlQueue) with what this replica knows of it.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timer<'a, K> {
    /// The replicated part.
    pub entry: &'a Entry<K>,
    /// When the key is due by this replica's monotonic clock, in nanoseconds.
    pub deadline_ns: u64,
    /// Where the entry stands.
    pub phase: Phase,
    /// How often the entry has been proposed since the last change of role.
    pub attempts: u32,
}

impl<K> Clone for Timer<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Timer<'_, K> {}

/// A proposal to make: that `key` be deleted if it still carries `index`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expiry<K> {
    /// The key whose TTL is over.
    pub key: K,
    /// The log index that set the TTL.
    pub index: u64,
    /// Whoever the key belongs to.
    pub owner: u128,
    /// The count of this proposal since the last change of role: 1 for the first, 2 and up for
    /// retries.
    pub attempt: u32,
}

/// What a call did.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The key had no TTL and has one now.
    Scheduled,
    /// The key had a TTL of an older index and has this one now.
    Updated,
    /// Nothing changed: what the call speaks of has been overtaken, or is not (or no longer) so.
    Stale,
    /// Nothing changed: there is no TTL to update or to remove.
    Missing,
    /// Nothing changed: a TTL of 0 means none.
    Ignored,
    /// The expiry came about, and the key has no TTL any more.
    Applied,
    /// The failure is noted, and the expiry will be proposed again.
    Failed,
    /// The key has no TTL any more.
    Removed,
}

/// Whether this replica is to propose expiries.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one that proposes.
    Leader,
    /// Any other: follower, candidate, learner.
    #[default]
    Follower,
}
