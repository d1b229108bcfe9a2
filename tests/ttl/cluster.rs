//! Three replicas around a log: what a program does with the queue, and everything that goes wrong
//! in between.
//!
//! The log is given, as a consensus engine would give it: one order for all, each replica somewhere
//! in it. Everything else is unreliable: proposals are committed, committed twice, refused, or
//! never answered, in any order; any replica may think itself leader; snapshots are installed,
//! newer and older; replicas restart with another clock. The state machine is a map from key to
//! index, written as a user of the queue would write it, and the truth about each prefix of the
//! log is a second one that never had a queue.

use std::collections::BTreeMap;

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, Entry, Outcome, Phase, Role, TtlConfig};

use crate::model::Key;
use crate::pair::Pair;
use crate::script::{Decoder, MS, Span};

const REPLICAS: usize = 3;

const KEYS: u8 = 6;

/// How far behind a snapshot's contents its stated index may be, and the most entries a restarted
/// replica's log goes back.
const BACK: usize = 5;

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Put {
        key: Key,
        ttl_ms: u64,
    },
    Touch {
        key: Key,
        ttl_ms: u64,
    },
    Delete(Key),
    /// A replica applies so many entries more of the log.
    Apply {
        replica: u8,
        entries: u8,
    },
    /// A replica is polled, and what it yields is on its way.
    Poll {
        replica: u8,
        pulled: u8,
    },
    /// One of the proposals on their way is committed, and may be committed again.
    Commit {
        nth: u8,
        is_kept: bool,
    },
    /// One of the proposals on their way is refused; its proposer learns of it.
    Refuse(u8),
    /// One of the proposals on their way is lost without an answer.
    Lose(u8),
    Role {
        replica: u8,
        role: Role,
    },
    /// Time passes for all.
    Pass(Span),
    /// A replica keeps a snapshot that says it is `back` entries older than it is.
    Save {
        replica: u8,
        back: u8,
    },
    /// A replica gets the snapshot that another one kept, newer or older than its own state.
    Install {
        replica: u8,
        from: u8,
    },
    /// A replica loses its memory and comes back with what it kept, and another clock.
    Restart {
        replica: u8,
        clock: u64,
    },
}

/// A command in the log. Its index is its place, from 1 on.
#[derive(Clone, Copy, Debug)]
enum Command {
    Put { key: Key, ttl_ms: u64, wall_ms: u64 },
    Touch { key: Key, ttl_ms: u64, wall_ms: u64 },
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
    log: Vec<Command>,
    /// The state after each prefix of the log.
    truth: Vec<State>,
    replicas: Vec<Replica>,
    on_their_way: Vec<Proposal>,
    /// Time that has passed, in nanoseconds.
    passed: u64,
}

impl Event {
    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Self {
        let replica = decoder.below(REPLICAS as u8);
        match decoder.below(40) {
            0..=5 => Self::Put { key: decoder.below(KEYS).into(), ttl_ms: u64::from(decoder.byte()) * 20 },
            6..=8 => Self::Touch { key: decoder.below(KEYS).into(), ttl_ms: u64::from(decoder.byte()) * 20 },
            9 => Self::Delete(decoder.below(KEYS).into()),
            10..=16 => Self::Apply { replica, entries: decoder.below(8) },
            17..=22 => Self::Poll { replica, pulled: decoder.below(8) },
            23..=26 => Self::Commit { nth: decoder.byte(), is_kept: decoder.below(4) == 0 },
            27..=28 => Self::Refuse(decoder.byte()),
            29 => Self::Lose(decoder.byte()),
            30..=32 => Self::Role { replica, role: decoder.role() },
            33..=35 => Self::Pass(decoder.span() % (1 << 40)),
            36 => Self::Save { replica, back: decoder.below(BACK as u8) },
            37 => Self::Install { replica, from: decoder.below(REPLICAS as u8) },
            38 => Self::Restart { replica, clock: decoder.span() % (1 << 50) },
            _ => Self::Pass(500 * MS),
        }
    }
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let config = TtlConfig::builder().expire_batch(4).retry_batch(2).build();
        let config = config.expect("it makes sense");
        let replica = |nth: u64| Replica {
            pair: Pair::new(nth << 33, config.clone()),
            state: State::new(),
            applied: 0,
            true_from: 0,
            ahead: nth << 33,
            kept: Kept::default(),
        };
        Self {
            log: Vec::new(),
            truth: vec![State::new()],
            replicas: (0..REPLICAS as u64).map(replica).collect(),
            on_their_way: Vec::new(),
            passed: 0,
        }
    }

    /// Runs all events, then heals: one leader, nothing lost any more. Every key must go.
    pub(crate) fn run(mut self, events: &[Event]) {
        for event in events {
            self.happen(event);
            self.check();
        }
        self.heal();
    }

    fn happen(&mut self, event: &Event) {
        let wall_ms = self.wall_ms();
        match *event {
            Event::Put { key, ttl_ms } => self.commit(Command::Put { key, ttl_ms, wall_ms }),
            Event::Touch { key, ttl_ms } => self.commit(Command::Touch { key, ttl_ms, wall_ms }),
            Event::Delete(key) => self.commit(Command::Delete(key)),
            Event::Apply { replica, entries } => {
                for _ in 0..entries {
                    self.apply_next(usize::from(replica));
                }
            }
            Event::Poll { replica, pulled } => {
                let pulled = if pulled == 7 { usize::MAX } else { usize::from(pulled) };
                self.poll(usize::from(replica), pulled);
            }
            Event::Commit { nth, is_kept } => {
                if let Some(nth) = self.pick(nth) {
                    let Proposal { key, index, .. } = self.on_their_way[nth];
                    self.commit(Command::Expire { key, index });
                    if !is_kept {
                        self.on_their_way.remove(nth);
                    }
                }
            }
            Event::Refuse(nth) => {
                if let Some(nth) = self.pick(nth) {
                    let Proposal { key, index, by } = self.on_their_way.remove(nth);
                    let now = self.now(by);
                    self.replicas[by].pair.failed(key, index, now);
                }
            }
            Event::Lose(nth) => {
                if let Some(nth) = self.pick(nth) {
                    self.on_their_way.remove(nth);
                }
            }
            Event::Role { replica, role } => {
                let now = self.now(usize::from(replica));
                self.replicas[usize::from(replica)].pair.role_change(role, now);
            }
            Event::Pass(span) => self.passed += span,
            Event::Save { replica, back } => self.save(usize::from(replica), usize::from(back)),
            Event::Install { replica, from } => {
                let kept = self.replicas[usize::from(from)].kept.clone();
                self.install(usize::from(replica), kept);
            }
            Event::Restart { replica, clock } => self.restart(usize::from(replica), clock),
        }
    }

    fn commit(&mut self, command: Command) {
        let before = self.truth[self.log.len()].clone();
        self.log.push(command);
        self.truth.push(after(before, self.log.len() as u64, command));
    }

    fn pick(&self, nth: u8) -> Option<usize> {
        usize::from(nth).checked_rem(self.on_their_way.len())
    }

    fn now(&self, replica: usize) -> u64 {
        self.passed + self.replicas[replica].ahead
    }

    fn wall_ms(&self) -> u64 {
        1_700_000_000_000 + self.passed / MS
    }

    /// What a user's state machine does with an entry of the log: it is idempotent by index.
    fn apply_next(&mut self, replica: usize) {
        let now = self.now(replica);
        let Replica { pair, state, applied, .. } = &mut self.replicas[replica];
        let Some(&command) = self.log.get(*applied) else {
            return;
        };
        *applied += 1;
        let index = *applied as u64;
        let newer = |state: &State, key| state.get(&key).is_some_and(|entry| entry.index >= index);
        match command {
            Command::Put { key, ttl_ms: 0, .. } => {
                // A key without a TTL is of no interest here.
                if !newer(state, key) {
                    state.remove(&key);
                    pair.remove(key);
                }
            }
            Command::Put { key, ttl_ms, wall_ms } => {
                let ctx = context(key, now, wall_ms);
                let outcome = pair.init(key, index, ttl_ms, ctx).expect("not too long");
                assert_eq!(outcome == Outcome::Stale, newer(state, key));
                set(state, index, key, ttl_ms, ctx);
            }
            Command::Touch { key, ttl_ms, wall_ms } => {
                let ctx = context(key, now, wall_ms);
                let outcome = pair.update(key, index, ttl_ms, ctx).expect("not too long");
                assert!(outcome != Outcome::Missing || !state.contains_key(&key));
                if state.contains_key(&key) {
                    set(state, index, key, ttl_ms, ctx);
                }
            }
            Command::Delete(key) => {
                if !newer(state, key) {
                    state.remove(&key);
                    pair.remove(key);
                }
            }
            Command::Expire { key, index } => {
                let is_same = state.get(&key).is_some_and(|entry| entry.index == index);
                let outcome = pair.applied(key, index);
                assert_eq!(
                    outcome == Outcome::Applied,
                    is_same,
                    "an expiry ends what it was proposed for and nothing else"
                );
                if is_same {
                    state.remove(&key);
                }
            }
        }
    }

    fn poll(&mut self, replica: usize, pulled: usize) {
        let now = self.now(replica);
        let found = self.replicas[replica].pair.poll(now, pulled);
        for (key, index, ..) in found {
            let deadline = self.replicas[replica].pair.model.get(key);
            assert!(deadline.is_some_and(|known| known.deadline <= now), "nothing is proposed before its time");
            self.on_their_way.push(Proposal { key, index, by: replica });
        }
        if pulled == usize::MAX {
            self.check_batches(replica, now);
        }
    }

    /// Nothing that is due stays behind on a leader that was polled, but for a full batch.
    fn check_batches(&self, replica: usize, now: u64) {
        let queue = &self.replicas[replica].pair.queue;
        if queue.as_set().role() != Role::Leader {
            return;
        }
        let is_due = |phase: Phase, deadline: u64| phase == Phase::Queued && deadline <= now;
        if queue.as_set().iter().any(|info| is_due(info.phase, info.deadline_ns)) {
            assert_eq!(queue.next_wake(now), Some(0), "what is due is seen to at once");
        }
    }

    fn save(&mut self, replica: usize, back: usize) {
        let replica = &mut self.replicas[replica];
        if replica.applied < replica.true_from {
            return; // nothing sound to keep
        }
        replica.kept = Kept {
            entries: replica.pair.entries(),
            applied: replica.applied.saturating_sub(back),
            true_from: replica.applied,
        };
    }

    fn install(&mut self, replica: usize, kept: Kept) {
        let (now, wall_ms) = (self.now(replica), self.wall_ms());
        let replica = &mut self.replicas[replica];
        let state = kept.entries.iter().map(|entry| (entry.key, entry.clone()));
        replica.state = state.collect();
        replica.applied = kept.applied;
        replica.true_from = kept.true_from;
        replica.pair.restore(kept.entries, now, wall_ms);
    }

    fn restart(&mut self, replica: usize, clock: u64) {
        let kept = self.replicas[replica].kept.clone();
        self.replicas[replica].ahead = clock;
        let now = self.now(replica);
        let config = self.replicas[replica].pair.queue.as_set().config().clone();
        self.replicas[replica].pair = Pair::new(now, config);
        self.install(replica, kept);
    }

    /// Replicas hold what the log says, each as far as it has applied it.
    fn check(&self) {
        for replica in &self.replicas {
            let held = replica.pair.queue.as_set().snapshot();
            assert!(held.eq(replica.state.values()), "the queue holds what its state machine does");
            if replica.applied >= replica.true_from {
                assert_eq!(
                    replica.state, self.truth[replica.applied],
                    "replicas that applied the same prefix hold the same entries"
                );
            }
        }
    }

    fn heal(&mut self) {
        for replica in 0..REPLICAS {
            let role = if replica == 0 { Role::Leader } else { Role::Follower };
            let now = self.now(replica);
            self.replicas[replica].pair.role_change(role, now);
        }
        self.on_their_way.clear();
        for round in 0.. {
            for replica in 0..REPLICAS {
                while self.replicas[replica].applied < self.log.len() {
                    self.apply_next(replica);
                }
            }
            self.check();
            let now = self.now(0);
            let Some(wait) = self.replicas[0].pair.queue.next_wake(now) else {
                break;
            };
            assert!(round < 200, "something is pending for ever");
            self.passed += wait;
            self.poll(0, usize::MAX);
            for Proposal { key, index, .. } in std::mem::take(&mut self.on_their_way) {
                self.commit(Command::Expire { key, index });
            }
        }
        for replica in &self.replicas {
            assert!(replica.pair.queue.is_empty(), "every key expires on all");
        }
    }
}

/// What the log says, with nothing but the log to go by.
fn after(mut state: State, index: u64, command: Command) -> State {
    match command {
        Command::Put { key, ttl_ms: 0, .. } | Command::Delete(key) => {
            state.remove(&key);
        }
        Command::Put { key, ttl_ms, wall_ms } => set(&mut state, index, key, ttl_ms, context(key, 0, wall_ms)),
        Command::Touch { key, ttl_ms, wall_ms } => {
            if state.contains_key(&key) {
                set(&mut state, index, key, ttl_ms, context(key, 0, wall_ms));
            }
        }
        Command::Expire { key, index } => {
            if state.get(&key).is_some_and(|entry| entry.index == index) {
                state.remove(&key);
            }
        }
    }
    state
}

fn context(key: Key, created_ns: u64, leader_start_ms: u64) -> Context {
    Context::new(created_ns).with_owner(u128::from(key) << 100).with_leader_start_ms(leader_start_ms)
}

fn set(state: &mut State, index: u64, key: Key, ttl_ms: u64, ctx: Context) {
    if ttl_ms == 0 || state.get(&key).is_some_and(|entry| entry.index >= index) {
        return;
    }
    let entry = Entry::new(key, index, ttl_ms).with_owner(ctx.owner).with_leader_start_ms(ctx.leader_start_ms);
    state.insert(key, entry);
}
