//! Scripts for one queue and its model, and their decoding from bytes.

use timer_wheel::Geometry;
use timer_wheel::ttl::{Context, Entry, Role, TtlConfig};

use super::model::Key;
use super::pair::Pair;
use crate::bytes::{Decoder, Draw};

/// Keys of a script: few, so that operations meet.
const KEYS: u8 = 12;

/// Keys of a crowd, behind those.
const CROWD: Key = 1_000;

pub(crate) const MS: u64 = 1_000_000;

/// A span of time in nanoseconds.
pub(crate) type Span = u64;

/// One operation. Times are as seen from the clock of the moment.
///
/// `Bunch` sets `count` keys from `key` on, each due `apart` after the one before. `Poll` is dropped once `pulled`
/// items were taken. `Drive` sleeps for exactly as long as the queue says, so many times, and polls to the end each
/// time. `Restore` goes back to the snapshot of the last `Save`, with the wall clock moved.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Init { key: Key, set: Set },
    Update { key: Key, set: Set },
    Bunch { key: Key, count: Key, apart: Span, set: Set },
    Remove(Key),
    Applied(Answer),
    Failed { answer: Answer, ahead: Span },
    Poll { ahead: Span, pulled: u8 },
    Drive { wake_ups: u8, within: Span },
    Role { role: Role, ahead: Span },
    Save,
    Restore { ahead: Span, wall: i16 },
    Clear,
    Stop,
}

/// A TTL to be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    /// How many indexes back: 0 is a new one.
    pub(crate) back: u8,
    pub(crate) ttl_ms: u64,
    /// How long ago the command was received.
    pub(crate) ago: Span,
}

/// The answer to the proposal so many before the latest, or to one that was never made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Proposal(u8),
    Other { key: Key, back: u8 },
}

/// A configuration, a clock to start at and the operations from there.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) batches: (u8, u8),
    pub(crate) max_pending: u8,
    pub(crate) start: u64,
    pub(crate) ops: Vec<Op>,
}

impl Decoder<'_> {
    fn key(&mut self) -> Key {
        self.below(KEYS).into()
    }

    /// A span as they matter here: nothing, around a tick, a retry, a timeout, or any.
    pub(crate) fn span(&mut self) -> Span {
        let choice = self.byte();
        let some = u64::from(self.byte());
        match choice % 16 {
            0..=3 => 0,
            4 => some,
            5..=7 => some * MS / 4,
            8 | 9 => some % 4 * 500 * MS,
            10 => 1_000 * MS - 1 + some % 3,
            11 => 10_000 * MS - 1 + some % 3,
            12 => (1 << 20) - 1 + some % 3,
            13 => some * 1_000 * MS,
            14 => some << 48,
            _ => self.word() >> (some % 64),
        }
    }

    fn set(&mut self) -> Set {
        let back = match self.below(4) {
            3 => self.below(6),
            _ => 0,
        };
        let some = u64::from(self.byte());
        let ttl_ms = match self.below(16) {
            0 => 0,
            1..=8 => some % 20 + 1,
            9..=12 => some * 10,
            13 => 36_500 * 86_400_000 + some % 2,
            14 => some << 32,
            _ => self.word() >> (some % 64),
        };
        Set { back, ttl_ms, ago: self.span() }
    }

    fn answer(&mut self) -> Answer {
        match self.below(5) {
            4 => Answer::Other { key: self.key(), back: self.below(6) },
            _ => Answer::Proposal(self.below(8)),
        }
    }

    pub(crate) fn role(&mut self) -> Role {
        if self.below(3) == 0 { Role::Follower } else { Role::Leader }
    }
}

impl Op {
    fn read(decoder: &mut Decoder<'_>) -> Self {
        match decoder.below(64) {
            0..=11 => Self::Init { key: decoder.key(), set: decoder.set() },
            12..=18 => Self::Update { key: decoder.key(), set: decoder.set() },
            19..=21 => {
                let (key, count) = match decoder.below(12) {
                    0 => (CROWD + 32 * decoder.key(), 2 * Key::from(decoder.byte())),
                    _ => (decoder.key(), Key::from(decoder.below(2 * KEYS))),
                };
                let apart = if decoder.below(4) == 0 { decoder.span() } else { 0 };
                Self::Bunch { key, count, apart, set: decoder.set() }
            }
            22..=24 => Self::Remove(decoder.key()),
            25..=31 => Self::Applied(decoder.answer()),
            32..=37 => Self::Failed { answer: decoder.answer(), ahead: decoder.span() },
            38..=50 => {
                let ahead = decoder.span();
                Self::Poll { ahead, pulled: if decoder.below(4) == 0 { decoder.below(4) } else { u8::MAX } }
            }
            51..=54 => Self::Drive { wake_ups: decoder.choose(&[0, 1, 2, 3, 4, 30]), within: decoder.span() },
            55..=59 => Self::Role { role: decoder.role(), ahead: decoder.span() },
            60 => Self::Save,
            61 => Self::Restore { ahead: decoder.span(), wall: i16::from_le_bytes([decoder.byte(), decoder.byte()]) },
            62 => match decoder.below(4) {
                0 => Self::Stop,
                _ => Self::Clear,
            },
            _ => Self::Poll { ahead: 0, pulled: u8::MAX },
        }
    }
}

impl Draw for Script {
    type Script = Self;

    fn begin(decoder: &mut Decoder<'_>) -> Self {
        let batches = (decoder.below(4), decoder.below(4));
        // In most scripts more than there are keys.
        let max_pending = if decoder.below(4) == 0 { 1 + decoder.below(2 * KEYS) } else { u8::MAX };
        let start = match decoder.below(4) {
            0 => 0,
            1 => decoder.span(),
            2 => decoder.word(),
            _ => u64::MAX - decoder.span(),
        };
        Self { batches, max_pending, start, ops: Vec::new() }
    }

    fn extend(script: &mut Self, decoder: &mut Decoder<'_>) {
        script.ops.push(Op::read(decoder));
    }
}

impl Script {
    /// Runs all operations, and then acknowledges everything until nothing is left.
    pub(crate) fn run<G: Geometry>(&self) {
        let mut config = TtlConfig::default();
        config.expire_batch = usize::from(self.batches.0) + 1;
        config.retry_batch = usize::from(self.batches.1) + 1;
        config.max_pending = usize::from(self.max_pending);
        // In some scripts a poll comes nowhere near its batches.
        config.poll_budget = match self.batches {
            (1, 1..) => 1,
            (2, 2..) => 5,
            _ => config.poll_budget,
        };
        let pair = Pair::<G>::new(self.start, config);
        let mut run = Run { pair, index: 10, wall_ms: 1_700_000_000_000, proposals: Vec::new(), saved: Vec::new() };
        self.ops.iter().for_each(|op| run.apply(*op));
        run.pair.compare_all();
        run.finish();
    }
}

/// A pair on its way through a script.
struct Run<G: Geometry> {
    pair: Pair<G>,
    index: u64,
    wall_ms: u64,
    proposals: Vec<(Key, u64)>,
    saved: Vec<Entry<Key>>,
}

impl<G: Geometry> Run<G> {
    fn apply(&mut self, op: Op) {
        match op {
            // Either a TTL that is refused or one that is not: the pair compares.
            Op::Init { key, set } => {
                let (index, ctx) = self.take_index(key, set);
                _ = self.pair.init(key, index, set.ttl_ms, ctx);
            }
            Op::Update { key, set } => {
                let (index, ctx) = self.take_index(key, set);
                _ = self.pair.update(key, index, set.ttl_ms, ctx);
            }
            Op::Bunch { key, count, apart, mut set } => {
                for key in key..key + count {
                    let (index, ctx) = self.take_index(key, set);
                    _ = self.pair.init_unseen(key, index, set.ttl_ms, ctx);
                    set.ago = set.ago.saturating_sub(apart);
                }
                self.pair.compare();
            }
            Op::Remove(key) => self.pair.remove(key),
            Op::Applied(answer) => {
                let (key, index) = self.resolve(answer);
                self.pair.applied(key, index);
            }
            Op::Failed { answer, ahead } => {
                let (key, index) = self.resolve(answer);
                self.pair.failed(key, index, self.at(ahead));
            }
            Op::Poll { ahead, pulled: u8::MAX } => self.poll(self.at(ahead), usize::MAX),
            Op::Poll { ahead, pulled } => self.poll(self.at(ahead), usize::from(pulled)),
            Op::Drive { wake_ups, within } => self.drive(wake_ups, within),
            Op::Role { role, ahead } => self.pair.role_change(role, self.at(ahead)),
            Op::Save => self.saved = self.pair.entries(),
            Op::Restore { ahead, wall } => {
                let wall_ms = self.wall_ms.saturating_add_signed(i64::from(wall));
                self.pair.restore(self.saved.clone(), self.at(ahead), wall_ms);
                self.saved = self.pair.entries();
            }
            Op::Clear => self.pair.restore(Vec::new(), 0, 0),
            Op::Stop => self.pair.stop(),
        }
    }

    fn at(&self, ahead: Span) -> u64 {
        self.pair.model.now.saturating_add(ahead)
    }

    fn take_index(&mut self, key: Key, set: Set) -> (u64, Context) {
        self.index += u64::from(set.back == 0);
        let index = self.index.saturating_sub(u64::from(set.back));
        let ctx = Context::new(self.pair.model.now.saturating_sub(set.ago))
            .with_owner(u128::from(key) << 64 | u128::from(index))
            .with_leader_start_ms(self.wall_ms - u64::from(set.back));
        (index, ctx)
    }

    fn resolve(&self, answer: Answer) -> (Key, u64) {
        match answer {
            Answer::Proposal(back) => self.proposals.iter().rev().nth(usize::from(back)).copied().unwrap_or((0, 0)),
            Answer::Other { key, back } => (key, self.index.saturating_sub(u64::from(back))),
        }
    }

    fn poll(&mut self, now: u64, pulled: usize) {
        let found = self.pair.poll(now, pulled).into_iter();
        self.proposals.extend(found.map(|(key, index, ..)| (key, index)));
    }

    fn drive(&mut self, wake_ups: u8, within: Span) {
        let (mut was_idle_at_once, mut idle) = (false, 0);
        for _ in 0..wake_ups {
            let now = self.pair.model.now;
            let wait = self.pair.queue.expiration_delay();
            let Some(wait) = wait.filter(|&wait| wait <= within) else {
                return;
            };
            let done = |pair: &Pair<G>| pair.stats().expired + pair.stats().retried + pair.stats().timed_out;
            let (may_run_short, before) = (self.pair.may_run_short(), done(&self.pair));
            self.poll(now.saturating_add(wait), usize::MAX);
            // A follower is never told of anything.
            let is_idle = done(&self.pair) == before && self.pair.model.is_proposing();
            // After a wait of 0 it may be a budget that was used up.
            idle = if is_idle { idle + usize::from(wait != 0) } else { 0 };
            assert!(idle <= self.pair.most_idle_wake_ups(), "{idle} wake-ups for nothing in a row");
            // Once it may be a part of a crowd that was moved ahead.
            let is_idle_at_once = is_idle && wait == 0;
            assert!(!is_idle_at_once || !was_idle_at_once || may_run_short, "nothing to do, twice in a row at once");
            was_idle_at_once = is_idle_at_once;
        }
    }

    /// On a live leader nothing stays for ever: every proposal is acknowledged, and the queue ends
    /// up empty after no more polls than batches.
    fn finish(mut self) {
        if self.pair.model.is_stopped {
            assert_eq!(self.pair.queue.wake_at(), None);
            return;
        }
        self.pair.role_change(Role::Leader, u64::MAX);
        let mut polls = 0;
        let most = self.pair.model.len() as u64 + 300 + self.pair.most_work();
        while !self.pair.queue.is_empty() {
            assert_eq!(self.pair.queue.expiration_delay(), Some(0));
            for (key, index, ..) in self.pair.poll(u64::MAX, usize::MAX) {
                self.pair.applied(key, index);
            }
            polls += 1;
            assert!(polls <= most, "something stays for ever");
        }
        assert_eq!(self.pair.queue.wake_at(), None);
    }
}
