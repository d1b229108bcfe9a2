//! Three replicas around a log: what a program does with the queue, and everything that goes wrong
//! in between.
//!
//! The log is given, as a consensus engine would give it: one order for all, each replica somewhere
//! in it. Everything else is unreliable: proposals are committed, committed twice, refused, or
//! never answered, in any order; any replica may think itself leader; snapshots are installed,
//! newer and older; replicas restart with another clock. The state machine is a map from key to
//! entry, and the truth about each prefix of the log is what it makes of that prefix without a queue.

use std::collections::BTreeMap;

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, Entry, Outcome, Phase, Role, TtlConfig};

use super::model::Key;
use super::pair::Pair;
use super::script::{MS, Span};
use crate::bytes::{Decoder, Draw};

const REPLICAS: u8 = 3;

const KEYS: u8 = 6;

/// How far behind a snapshot's contents its stated index may be, and the most entries a restarted
/// replica's log goes back.
const BACK: u8 = 5;

/// One thing that happens. A number picks one of the proposals on their way.
///
/// `Append` is what a client commits. `Apply` lets a replica apply so many entries more of the log. `Commit` commits a
/// proposal, which may be committed again if it is kept. Its proposer learns of a `Refuse`, and of a `Lose` nobody. `Save`
/// keeps a snapshot that says it is `back` entries older than it is, and `Install` gives a replica the one that another has
/// kept, newer or older than its own state. `Restart` loses a replica's memory but for what it kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Commit { nth: u8, is_kept: bool },
    Refuse(u8),
    Lose(u8),
    Append(Command),
    Apply { replica: usize, entries: u8 },
    Poll { replica: usize, pulled: usize },
    Role { replica: usize, role: Role },
    Pass(Span),
    Save { replica: usize, back: usize },
    Install { replica: usize, from: usize },
    Restart { replica: usize, clock: u64 },
}

/// A command in the log. Its index is its place, from 1 on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Put { key: Key, ttl_ms: u64 },
    Touch { key: Key, ttl_ms: u64 },
    Delete(Key),
    Expire { key: Key, index: u64 },
}

/// The state machine: for each key the entry that set its TTL.
type State = BTreeMap<Key, Entry<Key>>;

struct Replica {
    pair: Pair<Millis>,
    state: State,
    /// Entries of the log that were applied.
    applied: usize,
    /// The prefix from which on the state is that of the log: before it, entries of a snapshot that
    /// was newer than it said are still being replayed.
    true_from: usize,
    /// Its clock, less that of the others.
    ahead: u64,
    kept: Kept,
}

#[derive(Clone, Default)]
struct Kept {
    entries: Vec<Entry<Key>>,
    applied: usize,
    true_from: usize,
}

#[derive(Clone, Copy)]
struct Proposal {
    key: Key,
    index: u64,
    by: usize,
}

pub(crate) struct Cluster {
    /// Each with the wall clock of its leader.
    log: Vec<(Command, u64)>,
    /// The state after each prefix of the log.
    truth: Vec<State>,
    replicas: Vec<Replica>,
    on_their_way: Vec<Proposal>,
    /// Time that has passed, in nanoseconds.
    passed: u64,
}

impl Draw for Event {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        let replica = usize::from(decoder.below(REPLICAS));
        script.push(match decoder.below(40) {
            choice @ 0..=8 => {
                let (key, ttl_ms) = (decoder.below(KEYS).into(), u64::from(decoder.byte()) * 20);
                let (put, touch) = (Command::Put { key, ttl_ms }, Command::Touch { key, ttl_ms });
                Self::Append(if choice < 6 { put } else { touch })
            }
            9 => Self::Append(Command::Delete(decoder.below(KEYS).into())),
            10..=16 => Self::Apply { replica, entries: decoder.below(8) },
            17..=22 => Self::Poll { replica, pulled: decoder.choose(&[0, 1, 2, 3, 4, 5, 6, usize::MAX]) },
            23..=26 => Self::Commit { nth: decoder.byte(), is_kept: decoder.below(4) == 0 },
            27..=28 => Self::Refuse(decoder.byte()),
            29 => Self::Lose(decoder.byte()),
            30..=32 => Self::Role { replica, role: decoder.role() },
            33..=35 => Self::Pass(decoder.span() % (1 << 40)),
            36 => Self::Save { replica, back: decoder.below(BACK).into() },
            37 => Self::Install { replica, from: decoder.below(REPLICAS).into() },
            38 => Self::Restart { replica, clock: decoder.span() % (1 << 50) },
            _ => Self::Pass(500 * MS),
        });
    }
}

impl Cluster {
    /// Runs the events, then heals: one leader, nothing lost any more. Every key must go.
    pub(crate) fn run(events: &[Event]) {
        let mut config = TtlConfig::default();
        (config.expire_batch, config.retry_batch) = (4, 2);
        let replica = |nth| {
            let (ahead, config) = (u64::from(nth) << 33, config.clone());
            let (pair, state, kept) = (Pair::new(ahead, config), State::new(), Kept::default());
            Replica { pair, state, applied: 0, true_from: 0, ahead, kept }
        };
        let (replicas, truth) = ((0..REPLICAS).map(replica).collect(), vec![State::new()]);
        let mut cluster = Self { log: Vec::new(), truth, replicas, on_their_way: Vec::new(), passed: 0 };
        for &event in events {
            cluster.happen(event);
            cluster.check();
        }
        cluster.heal();
    }

    fn happen(&mut self, event: Event) {
        let pick = |nth, of: &[_]| usize::from(nth).checked_rem(of.len());
        match event {
            Event::Append(command) => self.commit(command),
            Event::Commit { nth, is_kept } => {
                if let Some(nth) = pick(nth, &self.on_their_way) {
                    let Proposal { key, index, .. } = self.on_their_way[nth];
                    self.commit(Command::Expire { key, index });
                    if !is_kept {
                        self.on_their_way.remove(nth);
                    }
                }
            }
            Event::Refuse(nth) => {
                if let Some(nth) = pick(nth, &self.on_their_way) {
                    let Proposal { key, index, by } = self.on_their_way.remove(nth);
                    let now = self.now(by);
                    self.replicas[by].pair.failed(key, index, now);
                }
            }
            Event::Lose(nth) => _ = pick(nth, &self.on_their_way).map(|nth| self.on_their_way.remove(nth)),
            Event::Apply { replica, entries } => (0..entries).for_each(|_| self.apply_next(replica)),
            Event::Poll { replica, pulled } => self.poll(replica, pulled),
            Event::Role { replica, role } => {
                let now = self.now(replica);
                self.replicas[replica].pair.role_change(role, now);
            }
            Event::Pass(span) => self.passed += span,
            Event::Save { replica, back } => self.replicas[replica].save(back),
            Event::Install { replica, from } => self.install(replica, self.replicas[from].kept.clone()),
            Event::Restart { replica, clock } => {
                self.replicas[replica].ahead = clock;
                let config = self.replicas[replica].pair.queue.as_set().config().clone();
                self.replicas[replica].pair = Pair::new(self.now(replica), config);
                self.install(replica, self.replicas[replica].kept.clone());
            }
        }
    }

    fn commit(&mut self, command: Command) {
        let mut state = self.truth[self.log.len()].clone();
        self.log.push((command, self.wall_ms()));
        apply(&mut state, self.log.len() as u64, command, self.wall_ms());
        self.truth.push(state);
    }

    fn now(&self, replica: usize) -> u64 {
        self.passed + self.replicas[replica].ahead
    }

    fn wall_ms(&self) -> u64 {
        1_700_000_000_000 + self.passed / MS
    }

    /// What a user's state machine does with an entry of the log: both it and the queue are idempotent by index.
    fn apply_next(&mut self, replica: usize) {
        let now = self.now(replica);
        let Replica { pair, state, applied, .. } = &mut self.replicas[replica];
        let Some(&(command, wall_ms)) = self.log.get(*applied) else { return };
        *applied += 1;
        let index = *applied as u64;
        let is_newer = |key| state.get(&key).is_some_and(|entry| entry.index >= index);
        match command {
            // A key without a TTL is of no interest here.
            Command::Put { key, ttl_ms: 0, .. } | Command::Delete(key) if !is_newer(key) => pair.remove(key),
            Command::Put { ttl_ms: 0, .. } | Command::Delete(_) => {}
            Command::Put { key, ttl_ms } => {
                let outcome = pair.init(key, index, ttl_ms, context(key, now, wall_ms));
                assert_eq!(outcome == Ok(Outcome::Stale), is_newer(key));
            }
            Command::Touch { key, ttl_ms } => {
                let outcome = pair.update(key, index, ttl_ms, context(key, now, wall_ms));
                assert!(outcome != Ok(Outcome::Missing) || !state.contains_key(&key));
            }
            Command::Expire { key, index } => {
                let is_same = state.get(&key).is_some_and(|entry| entry.index == index);
                let is_applied = pair.applied(key, index) == Outcome::Applied;
                assert_eq!(is_applied, is_same, "an expiry ends what it was proposed for and nothing else");
            }
        }
        apply(state, index, command, wall_ms);
    }

    fn poll(&mut self, replica: usize, pulled: usize) {
        let now = self.now(replica);
        let pair = &mut self.replicas[replica].pair;
        for (key, index, ..) in pair.poll(now, pulled) {
            let is_due = pair.model.get(key).is_some_and(|known| known.deadline <= now);
            assert!(is_due, "nothing is proposed before its time");
            self.on_their_way.push(Proposal { key, index, by: replica });
        }
        // Nothing that is due stays behind on a leader that was polled, but for a full batch.
        let set = pair.queue.as_set();
        if pulled == usize::MAX && pair.model.is_proposing() {
            let is_left = set.iter().any(|info| info.phase == Phase::Queued && info.deadline_ns <= now);
            assert!(!is_left || set.expiration_delay() == Some(0), "what is due is seen to at once");
        }
    }

    fn install(&mut self, replica: usize, kept: Kept) {
        let (now, wall_ms) = (self.now(replica), self.wall_ms());
        let replica = &mut self.replicas[replica];
        replica.state = kept.entries.iter().map(|entry| (entry.key, entry.clone())).collect();
        (replica.applied, replica.true_from) = (kept.applied, kept.true_from);
        replica.pair.restore(kept.entries, now, wall_ms);
    }

    /// Replicas hold what the log says, each as far as it has applied it.
    fn check(&self) {
        for replica in &self.replicas {
            let held = replica.pair.queue.as_set().snapshot();
            assert!(held.into_iter().eq(replica.state.values()), "the queue holds what its state machine does");
            let is_true = replica.applied < replica.true_from || replica.state == self.truth[replica.applied];
            assert!(is_true, "replicas that applied the same prefix hold the same entries");
        }
    }

    fn heal(&mut self) {
        for replica in 0..self.replicas.len() {
            let role = if replica == 0 { Role::Leader } else { Role::Follower };
            self.happen(Event::Role { replica, role });
        }
        self.on_their_way.clear();
        for round in 0.. {
            for replica in 0..self.replicas.len() {
                while self.replicas[replica].applied < self.log.len() {
                    self.apply_next(replica);
                }
            }
            self.check();
            let now = self.now(0);
            let Some(wake_at) = self.replicas[0].pair.queue.wake_at() else {
                break;
            };
            assert!(round < 200, "something is pending for ever");
            self.passed += wake_at.saturating_sub(now);
            self.poll(0, usize::MAX);
            for Proposal { key, index, .. } in std::mem::take(&mut self.on_their_way) {
                self.commit(Command::Expire { key, index });
            }
        }
        let is_empty = |replica: &Replica| replica.pair.queue.is_empty();
        assert!(self.replicas.iter().all(is_empty), "every key expires on all");
    }
}

impl Replica {
    fn save(&mut self, back: usize) {
        // Before that there is nothing sound to keep.
        if self.applied >= self.true_from {
            let (entries, applied) = (self.pair.entries(), self.applied.saturating_sub(back));
            self.kept = Kept { entries, applied, true_from: self.applied };
        }
    }
}

/// What the log says, with nothing but the log to go by. What is newer stays.
fn apply(state: &mut State, index: u64, command: Command, wall_ms: u64) {
    let (Command::Put { key, .. } | Command::Touch { key, .. } | Command::Delete(key) | Command::Expire { key, .. }) =
        command;
    let old = state.get(&key).map(|entry| entry.index);
    match command {
        Command::Expire { index, .. } if old != Some(index) => {}
        Command::Expire { .. } => _ = state.remove(&key),
        _ if old >= Some(index) => {}
        Command::Put { ttl_ms: 0, .. } | Command::Delete(_) => _ = state.remove(&key),
        Command::Touch { ttl_ms, .. } if ttl_ms == 0 || old.is_none() => {}
        Command::Put { ttl_ms, .. } | Command::Touch { ttl_ms, .. } => {
            let ctx = context(key, 0, wall_ms);
            let entry = Entry::new(key, index, ttl_ms).with_owner(ctx.owner).with_leader_start_ms(wall_ms);
            state.insert(key, entry);
        }
    }
}

fn context(key: Key, created_ns: u64, leader_start_ms: u64) -> Context {
    Context::new(created_ns).with_owner(u128::from(key) << 100).with_leader_start_ms(leader_start_ms)
}
