//! The glue between the TTL layer and an engine that refuses, loses and holds back what is proposed. The test is the
//! engine, and time is tokio's, which stands still until everybody waits: nothing here depends on the machine.

use std::sync::Arc;
use std::time::Duration;

use openraft::error::{ClientWriteError, ForwardToLeader};
use openraft::metrics::RaftServerMetrics;
use openraft::raft::{ClientWriteResponse, ClientWriteResult};
use openraft::storage::RaftStateMachine;
use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, ServerState, Vote};
use raft_ttl::Disk;
use raft_ttl::drive::drive;
use raft_ttl::limits::{MAX_FRAME, MAX_KEY, Tuning};
use raft_ttl::state_machine::Replica;
use raft_ttl::time::Clock;
use raft_ttl::types::{Answer, Command, DiskId, Seat, Stamped, TypeConfig};
use tempfile::TempDir;
use timer_wheel::ttl::{TtlConfig, TtlStats};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::process::item;

const RETRY_DELAY: Duration = Duration::from_millis(100);
const PENDING_TIMEOUT: Duration = Duration::from_millis(500);

/// What the glue proposed, and where it waits for the outcome.
struct Proposal {
    expiries: Vec<(String, u64)>,
    answer: oneshot::Sender<ClientWriteResult<TypeConfig>>,
}

impl Proposal {
    fn refuse(self) {
        let refusal = ClientWriteError::ForwardToLeader(ForwardToLeader::empty());
        assert!(self.answer.send(Err(refusal)).is_ok());
    }
}

/// A replica with its glue, and the engine below.
struct Engine {
    replica: Replica,
    roles: watch::Sender<RaftServerMetrics<DiskId, Seat>>,
    proposals: mpsc::UnboundedReceiver<Proposal>,
    began: Instant,
    index: u64,
    _folder: TempDir,
}

fn metrics(state: ServerState, term: u64) -> RaftServerMetrics<DiskId, Seat> {
    let membership_config = Arc::default();
    RaftServerMetrics {
        id: DiskId(1),
        vote: Vote::new(term, DiskId(1)),
        state,
        current_leader: None,
        membership_config,
    }
}

impl Engine {
    fn new(state: ServerState) -> Self {
        let (folder, began) = (tempfile::tempdir().unwrap(), Instant::now());
        let clock = Clock::new(move || began.elapsed().as_nanos() as u64, || 0, None, Tuning::default().max_skew);
        let mut config = TtlConfig::default();
        (config.retry_delay, config.pending_timeout) = (RETRY_DELAY, PENDING_TIMEOUT);
        let replica = Replica::load(Disk::open(folder.path()).unwrap(), Arc::new(clock), config).unwrap();
        let (roles, seen) = watch::channel(metrics(state, 1));
        let (proposed, proposals) = mpsc::unbounded_channel();
        let propose = move |command| {
            let Command::Expire { expiries, by: 1 } = command else { panic!("{command:?}") };
            let (answer, outcome) = oneshot::channel();
            proposed.send(Proposal { expiries, answer }).unwrap();
            std::future::ready(Ok(outcome))
        };
        let of_glue = replica.clone();
        tokio::spawn(async move { drive(1, &of_glue, seen, propose).await });
        Self { replica, roles, proposals, began, index: 0, _folder: folder }
    }

    /// Applies an entry of the log.
    async fn apply(&mut self, command: Command) -> LogId<DiskId> {
        self.index += 1;
        let log_id = LogId::new(CommittedLeaderId::new(1, DiskId(1)), self.index);
        let stamp_ms = self.began.elapsed().as_millis() as u64;
        let entry = Entry { log_id, payload: EntryPayload::Normal(Stamped { stamp_ms, command }) };
        RaftStateMachine::apply(&mut self.replica, [entry]).await.unwrap();
        log_id
    }

    /// Sets a key while the glue sleeps.
    async fn put(&mut self, key: &str, ttl_ms: u64) -> u64 {
        sleep(Duration::from_millis(1)).await;
        self.apply(Command::Put(vec![item(key, ttl_ms)])).await.index
    }

    async fn expire(&mut self, proposal: Proposal) {
        let log_id = self.apply(Command::Expire { expiries: proposal.expiries, by: 1 }).await;
        let _ = proposal.answer.send(Ok(ClientWriteResponse { log_id, data: Answer::Done, membership: None }));
    }

    /// The next proposal, which must be of this key.
    async fn proposed(&mut self, key: &str, index: u64) -> Proposal {
        let proposal = timeout(Duration::from_secs(60), self.proposals.recv()).await.expect(key).unwrap();
        assert_eq!(proposal.expiries, [(key.to_owned(), index)]);
        proposal
    }

    /// How long a key has left, if it is there.
    fn left(&self, key: &str) -> Option<Duration> {
        let left_ns = self.replica.lock().ttls.remaining(key, self.replica.now_ns());
        left_ns.map(Duration::from_nanos)
    }

    fn stats(&self) -> TtlStats {
        self.replica.lock().ttls.as_set().stats()
    }
}

#[tokio::test(start_paused = true)]
async fn refused_proposal_is_made_again_after_its_delay() {
    let mut engine = Engine::new(ServerState::Leader);
    let index = engine.put("refused", 50).await;
    for nth in 0..3 {
        engine.proposed("refused", index).await.refuse();
        let waited = engine.began.elapsed();
        assert!(waited >= Duration::from_millis(50) + nth * RETRY_DELAY, "{waited:?}");
    }
    let proposal = engine.proposed("refused", index).await;
    assert_eq!((engine.stats().failed, engine.stats().retried), (3, 3), "the layer is told each time");
    engine.expire(proposal).await;
    assert_eq!(engine.left("refused"), None);
}

#[tokio::test(start_paused = true)]
async fn lost_proposal_blocks_nobody_and_is_made_again() {
    let mut engine = Engine::new(ServerState::Leader);
    let index = engine.put("lost", 50).await;
    let lost = engine.proposed("lost", index).await;
    // Others expire while nobody answers.
    for key in ["one", "two"] {
        let index = engine.put(key, 50).await;
        let proposal = engine.proposed(key, index).await;
        engine.expire(proposal).await;
        assert_eq!(engine.left(key), None);
    }
    assert!(engine.began.elapsed() < PENDING_TIMEOUT);
    assert_eq!(engine.left("lost"), Some(Duration::ZERO), "nobody deletes without the log");
    let again = engine.proposed("lost", index).await;
    assert!(engine.began.elapsed() >= Duration::from_millis(50) + PENDING_TIMEOUT);
    assert_eq!(engine.stats().timed_out, 1);
    engine.expire(again).await;
    assert_eq!(engine.left("lost"), None);
    // It may have been in the log all the same, and come back twice.
    engine.expire(lost).await;
    assert_eq!(engine.stats().applied, 3);
}

#[tokio::test(start_paused = true)]
async fn expiry_that_a_touch_has_overtaken_is_void() {
    let mut engine = Engine::new(ServerState::Leader);
    let set_at = engine.put("held", 50).await;
    let held = engine.proposed("held", set_at).await;
    let hour = Duration::from_secs(3_600);
    let touch = Command::Touch { key: "held".to_owned(), ttl_ms: hour.as_millis() as u64 };
    let touched_at = engine.apply(touch).await.index;
    // The proposal was right when it was made. Now it comes through the log.
    engine.expire(held).await;
    assert!(engine.left("held") > Some(hour - PENDING_TIMEOUT), "it deletes nothing, and the new TTL runs");
    // With the index of the touch the same command counts.
    engine.apply(Command::Expire { expiries: vec![("held".to_owned(), touched_at)], by: 2 }).await;
    assert_eq!(engine.left("held"), None);
}

#[tokio::test(start_paused = true)]
async fn keys_that_no_frame_holds_are_proposed_in_parts() {
    let mut engine = Engine::new(ServerState::Leader);
    // A millisecond passes with each, and all are due at once.
    for nth in 0..10 {
        engine.put(&nth.to_string().repeat(MAX_KEY), 50 - nth).await;
    }
    let mut left = 10;
    while left > 0 {
        let proposal = engine.proposals.recv().await.unwrap();
        let bytes: usize = proposal.expiries.iter().map(|(key, _)| key.len()).sum();
        assert!(bytes < MAX_FRAME, "{bytes} bytes");
        left -= proposal.expiries.len();
        engine.expire(proposal).await;
    }
    assert_eq!(engine.stats().applied, 10);
}

#[tokio::test(start_paused = true)]
async fn follower_proposes_nothing_and_each_new_lead_begins_anew() {
    let mut engine = Engine::new(ServerState::Follower);
    let index = engine.put("key", 50).await;
    assert!(timeout(10 * PENDING_TIMEOUT, engine.proposals.recv()).await.is_err());
    let mut kept = Vec::new();
    for term in 2..5 {
        // Leader again, of another term: what the last one proposed may be lost.
        engine.roles.send_replace(metrics(ServerState::Leader, term));
        let began = engine.began.elapsed();
        kept.push(engine.proposed("key", index).await);
        assert_eq!(engine.began.elapsed(), began, "at once");
    }
    assert_eq!(engine.stats().retried, 0);
}
