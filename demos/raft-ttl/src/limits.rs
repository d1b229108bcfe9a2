//! All that bounds what a node takes: from its user, from clients, from other nodes, from time.

use std::time::Duration;

use clap::Parser;

pub const MAX_KEY: usize = 8 << 10;

pub const MAX_VALUE: usize = 1 << 20;

/// As much of a value as one message holds. So little that the longest put is sent, written and answered well within a
/// heartbeat, and that as many frames as there are clients take little memory.
pub const MAX_PART: usize = 32 << 10;

/// How long the parts of a value that is longer wait for the last of them at least.
pub(crate) const PART_TIME: Duration = Duration::from_secs(60);

/// What a key in a put costs beside its bytes, so that many short ones do not outgrow a frame either.
pub const ITEM_BYTES: usize = 64;

/// The most bytes of a put: one key of the longest, or many that are shorter.
pub const MAX_PUT: usize = MAX_KEY + MAX_PART + ITEM_BYTES;

/// The longest TTL: that of the layer unless told otherwise. It is the same on all nodes.
pub const MAX_TTL: Duration = Duration::from_secs(36_500 * 24 * 3600);

/// The longest frame in bytes: the longest put, and the entry of the log around it.
pub const MAX_FRAME: usize = MAX_PUT + (8 << 10);

/// How many connections that have said nothing yet wait at the door.
pub(crate) const AT_THE_DOOR: usize = 64;

/// How many connections each other node has. The engine needs two, and one more for each election; what
/// is left over from a node that was killed makes room.
pub(crate) const OF_EACH_NODE: usize = 8;

/// How many bytes, about, the system holds each way for a connection: those that were sent and not taken. One frame fits.
pub(crate) const IN_FLIGHT: usize = 64 << 10;

const _: () = assert!(MAX_FRAME <= IN_FLIGHT);

/// How long a connection stays on which the last thing was said, for the other side to read it. As many as
/// wait at the door may do so; others are closed without a word.
pub(crate) const LEAVING: Duration = Duration::from_secs(1);

pub const MAX_SECRET: usize = 128;

/// How much later the term of another node may be than one's own. A node that was away is behind by the elections
/// it has missed; a node that is lied to a million terms at a time does not live to see the last term.
pub(crate) const MAX_TERM_STEP: u64 = 1 << 20;

/// The latest term that a node believes in which has none yet.
pub(crate) const MAX_FIRST_TERM: u64 = 1 << 62;

/// How many heartbeats an answer from another node may take. A follower calls an election after seven and a half: so one
/// call may be lost.
pub(crate) const CALL_TIME: u32 = 4;

/// How long another node may take for a part of a snapshot; with the last one it takes up all of it.
pub(crate) const SNAPSHOT_TIME: Duration = Duration::from_secs(5);

/// How many entries of the log a node may lack that is to vote.
pub(crate) const ALMOST_ALL: u64 = 100;

/// How many expiries go into one entry of the log at most, and how many retries.
pub(crate) const BATCH: usize = 1_000;

/// How many bytes are proposed at once, and sent at once of entries and of a snapshot, about: such a message
/// must not outgrow a frame.
pub(crate) const MESSAGE: usize = 32 << 10;

/// How long an expiry may be without an outcome before it is proposed again.
pub(crate) const PENDING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an expiry that was refused waits, at first and at most.
pub(crate) const RETRY_DELAY: Duration = Duration::from_millis(500);
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// What the user of a node may set.
#[derive(Parser, Clone, Copy, Debug)]
pub struct Tuning {
    /// How often a leader makes itself heard: half the longest round trip at least. An election begins when nobody was
    /// heard for 7.5 to 10 times as long
    #[arg(long, value_parser = humantime::parse_duration, default_value = "200ms")]
    pub heartbeat: Duration,
    /// How many entries of the log there are to a snapshot
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub snapshot_every: u64,
    /// How far the times of two nodes may be apart before that is taken for a fault
    #[arg(long, value_parser = humantime::parse_duration, default_value = "1s")]
    pub max_skew: Duration,
    /// How many connections of clients there may be; those of nodes have places of their own
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub clients: u32,
    /// How long the first frame of a connection may take, and an answer until it is taken
    #[arg(long, value_parser = humantime::parse_duration, default_value = "10s")]
    pub frame_time: Duration,
    /// How long a client may take from an answer to the end of its next request
    #[arg(long, value_parser = humantime::parse_duration, default_value = "60s")]
    pub idle_time: Duration,
    /// For tests: how many seconds the wall clock of this machine is to be ahead
    #[arg(long, hide = true, default_value_t = 0, allow_negative_numbers = true)]
    pub wall_ahead_s: i64,
    /// Print each expiry when it is applied, a line of JSON each; the node waits until that is taken
    #[arg(long)]
    pub tell: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self::parse_from([""])
    }
}
