//! The model: a map of entries, and a look at all of them for every question. Slow, obviously right.

use std::collections::BTreeMap;

use timer_wheel::ttl::{Context, Entry, Outcome, Phase, Role, TtlConfig, TtlError, TtlStats};

/// A key of the tests.
pub(crate) type Key = u16;

/// What the model knows of one key.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) entry: Entry<Key>,
    pub(crate) deadline: u64,
    sequence: u64,
    state: State,
    pub(crate) attempts: u32,
    /// Whether the entry was given a later deadline while it was queued.
    is_postponed: bool,
}

/// Where an entry stands, and since or until when. Equal times count in the order of `nth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Queued,
    Pending { since: u64, nth: u64 },
    Retrying { at: u64, nth: u64 },
}

/// What a poll proposes: key, index, owner, attempt.
pub(crate) type Proposal = (Key, u64, u128, u32);

/// A queue without a queue. Constant backoff only.
#[derive(Clone)]
pub(crate) struct Model {
    config: TtlConfig,
    role: Role,
    is_stopped: bool,
    now: u64,
    next: u64,
    known: BTreeMap<Key, Known>,
    counters: Count,
}

/// How much more a poll may do.
#[derive(Default)]
struct Left {
    expiries: usize,
    retries: usize,
    timeouts: usize,
    /// What was in flight when the poll began. A flight that the poll begins does not end in it.
    flights_before: u64,
}

/// One thing that a poll does.
enum Step {
    TimedOut,
    Proposed(Proposal),
}

/// The counters, which cannot be made outside of the crate.
#[derive(Clone, Copy, Default)]
struct Count {
    scheduled: u64,
    updated: u64,
    stale: u64,
    expired: u64,
    applied: u64,
    failed: u64,
    timed_out: u64,
    retried: u64,
    requeued: u64,
    longest_pending_ns: u64,
}

fn ns(duration: std::time::Duration) -> u64 {
    duration.as_nanos().try_into().expect("fits")
}

impl Model {
    pub(crate) fn new(now: u64, config: TtlConfig) -> Self {
        Self {
            config,
            role: Role::Follower,
            is_stopped: false,
            now,
            next: 0,
            known: BTreeMap::new(),
            counters: Count::default(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Known> {
        self.known.get(&key)
    }

    pub(crate) fn count(&self, phase: Phase) -> usize {
        let known = self.known.values();
        known.filter(|known| known.phase() == phase).count()
    }

    /// The entries that are queued and were postponed.
    pub(crate) fn postponed(&self) -> usize {
        let known = self.known.values();
        let is_postponed = |known: &&Known| known.is_postponed && known.state == State::Queued;
        known.filter(is_postponed).count()
    }

    /// Proposals that had no answer in time.
    pub(crate) fn timed_out(&self) -> u64 {
        self.counters.timed_out
    }

    pub(crate) fn is_proposing(&self) -> bool {
        self.role == Role::Leader && !self.is_stopped
    }

    /// All entries in order of deadline, first come first among equals.
    pub(crate) fn ascending(&self) -> Vec<&Known> {
        let mut known: Vec<&Known> = self.known.values().collect();
        known.sort_by_key(|known| (known.deadline, known.sequence));
        known
    }

    /// All entries in order of key.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry<Key>> {
        self.known.values().map(|known| &known.entry)
    }

    fn take_next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn set(
        &mut self,
        must_exist: bool,
        index: u64,
        key: Key,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError> {
        if ttl_ms == 0 {
            return Ok(Outcome::Ignored);
        }
        let max_ms = ns(self.config.max_ttl()) / 1_000_000;
        if ttl_ms > max_ms {
            return Err(TtlError::TtlTooLong { ttl_ms, max_ms });
        }
        let old = self.known.get(&key);
        if old.is_none() && must_exist {
            return Ok(Outcome::Missing);
        }
        if old.is_some_and(|old| old.entry.index >= index) {
            self.counters.stale += 1;
            return Ok(Outcome::Stale);
        }
        let had_one = old.is_some();
        let ttl = u128::from(ttl_ms) * 1_000_000;
        let deadline = clamped(u128::from(ctx.created_ns) + ttl);
        let is_postponed = old.is_some_and(|old| old.state == State::Queued && deadline >= old.deadline);
        self.drop_entry(key);
        let entry = Entry::new(key, index, ttl_ms).with_owner(ctx.owner).with_leader_start_ms(ctx.leader_start_ms);
        self.insert(entry, deadline, is_postponed);
        if had_one {
            self.counters.updated += 1;
            return Ok(Outcome::Updated);
        }
        self.counters.scheduled += 1;
        Ok(Outcome::Scheduled)
    }

    fn insert(&mut self, entry: Entry<Key>, deadline: u64, is_postponed: bool) {
        let known =
            Known { deadline, sequence: self.take_next(), state: State::Queued, attempts: 0, is_postponed, entry };
        self.known.insert(known.entry.key, known);
    }

    /// Whether there was an entry.
    pub(crate) fn remove(&mut self, key: Key) -> bool {
        self.drop_entry(key)
    }

    pub(crate) fn applied(&mut self, key: Key, index: u64) -> Outcome {
        if self.get(key).is_none_or(|known| known.entry.index != index) {
            self.counters.stale += 1;
            return Outcome::Stale;
        }
        self.drop_entry(key);
        self.counters.applied += 1;
        Outcome::Applied
    }

    pub(crate) fn failed(&mut self, key: Key, index: u64, now: u64) -> Outcome {
        self.now = self.now.max(now);
        let is_pending = |known: &&Known| known.entry.index == index && matches!(known.state, State::Pending { .. });
        if self.known.get(&key).filter(is_pending).is_none() {
            self.counters.stale += 1;
            return Outcome::Stale;
        }
        self.fail(key);
        self.counters.failed += 1;
        Outcome::Failed
    }

    fn fail(&mut self, key: Key) {
        self.count_wait(key);
        let nth = self.take_next();
        let at = self.now.saturating_add(ns(self.config.retry_delay()));
        let known = self.known.get_mut(&key).expect("it is pending");
        known.state = State::Retrying { at, nth };
    }

    fn drop_entry(&mut self, key: Key) -> bool {
        self.count_wait(key);
        self.known.remove(&key).is_some()
    }

    fn count_wait(&mut self, key: Key) {
        if let Some(State::Pending { since, .. }) = self.known.get(&key).map(|known| known.state) {
            let longest = &mut self.counters.longest_pending_ns;
            *longest = (*longest).max(self.now - since);
        }
    }

    /// A poll of which `pulled` items at most are taken.
    pub(crate) fn poll(&mut self, now: u64, pulled: usize) -> Vec<Proposal> {
        let mut left = self.begin(now);
        let mut proposals = Vec::new();
        while proposals.len() < pulled {
            match self.step(&mut left) {
                Some(Step::Proposed(proposal)) => proposals.push(proposal),
                Some(Step::TimedOut) => {}
                None => break,
            }
        }
        proposals
    }

    /// A poll that yields so many items, counts so many timeouts in all, and then finds no more for want of a budget.
    pub(crate) fn poll_cut_short(&mut self, now: u64, yielded: usize, timed_out: u64) -> Vec<Proposal> {
        let mut left = self.begin(now);
        let mut proposals = Vec::new();
        while proposals.len() < yielded || self.counters.timed_out < timed_out {
            match self.step(&mut left) {
                Some(Step::Proposed(proposal)) => proposals.push(proposal),
                Some(Step::TimedOut) => {}
                None => break,
            }
        }
        proposals
    }

    fn begin(&mut self, now: u64) -> Left {
        self.now = self.now.max(now);
        let (expiries, retries) = (self.config.expire_batch(), self.config.retry_batch());
        match self.is_proposing() {
            true => Left { expiries, retries, timeouts: expiries + retries, flights_before: self.next },
            false => Left::default(),
        }
    }

    /// What is in flight comes before what is due.
    fn step(&mut self, left: &mut Left) -> Option<Step> {
        self.end_flight(left).or_else(|| self.next_expiry(left).map(Step::Proposed))
    }

    /// Ends the flight that is over first, if one is by now: a timeout fails, a retry is proposed.
    fn end_flight(&mut self, left: &mut Left) -> Option<Step> {
        let ends = self.known.values().filter_map(|known| {
            let (until, nth) = self.until(known)?;
            Some((until, nth, known.entry.key))
        });
        let is_over = |&(until, nth, _): &(u64, u64, Key)| until <= self.now && nth <= left.flights_before;
        let (_, _, key) = ends.min().filter(is_over)?;
        if let State::Retrying { .. } = self.known[&key].state {
            left.retries = left.retries.checked_sub(1)?;
            self.counters.retried += 1;
            return Some(Step::Proposed(self.propose(key)));
        }
        left.timeouts = left.timeouts.checked_sub(1)?;
        self.counters.timed_out += 1;
        self.fail(key);
        Some(Step::TimedOut)
    }

    fn next_expiry(&mut self, left: &mut Left) -> Option<Proposal> {
        if self.in_flight() >= self.config.max_pending() {
            return None;
        }
        let due = self.ascending().into_iter();
        let key = due
            .filter(|known| known.state == State::Queued && known.deadline <= self.now)
            .map(|known| known.entry.key)
            .next()?;
        left.expiries = left.expiries.checked_sub(1)?;
        self.counters.expired += 1;
        Some(self.propose(key))
    }

    /// When the flight of an entry ends, and its place among equals.
    fn until(&self, known: &Known) -> Option<(u64, u64)> {
        match known.state {
            State::Queued => None,
            State::Pending { since, nth } => {
                let timeout = ns(self.config.pending_timeout());
                Some((since.saturating_add(timeout), nth))
            }
            State::Retrying { at, nth } => Some((at, nth)),
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.known.len() - self.count(Phase::Queued)
    }

    fn propose(&mut self, key: Key) -> Proposal {
        let nth = self.take_next();
        let since = self.now;
        let known = self.known.get_mut(&key).expect("it is due");
        known.state = State::Pending { since, nth };
        known.attempts += 1;
        (key, known.entry.index, known.entry.owner, known.attempts)
    }

    /// The exact wait from `now` on.
    pub(crate) fn next_wake(&self, now: u64) -> Option<u64> {
        if !self.is_proposing() {
            return None;
        }
        let is_crowded = self.in_flight() >= self.config.max_pending();
        let times = self.known.values().filter_map(|known| match self.until(known) {
            Some((until, _)) => Some(until),
            None => (!is_crowded).then_some(known.deadline),
        });
        Some(times.min()?.saturating_sub(now.max(self.now)))
    }

    pub(crate) fn role_change(&mut self, role: Role, now: u64) {
        self.now = self.now.max(now);
        self.role = role;
        let keys: Vec<Key> = self.known.keys().copied().collect();
        for key in keys {
            self.count_wait(key);
            let known = self.known.get_mut(&key).expect("it was there");
            self.counters.requeued += u64::from(known.state != State::Queued);
            known.state = State::Queued;
            known.attempts = 0;
        }
    }

    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(crate) fn restore(&mut self, entries: Vec<Entry<Key>>, now: u64, wall_now_ms: u64) {
        self.now = self.now.max(now);
        self.known.clear();
        for entry in entries {
            let elapsed = wall_now_ms.saturating_sub(entry.leader_start_ms);
            let end = u128::from(self.now) + u128::from(entry.ttl_ms) * 1_000_000;
            let deadline = clamped(end.saturating_sub(u128::from(elapsed) * 1_000_000));
            self.insert(entry, deadline, false);
        }
    }

    /// Whether these are the counters of the model.
    #[track_caller]
    pub(crate) fn assert_counters(&self, found: TtlStats) {
        let Count {
            scheduled,
            updated,
            stale,
            expired,
            applied,
            failed,
            timed_out,
            retried,
            requeued,
            longest_pending_ns,
        } = self.counters;
        assert_eq!(
            [found.scheduled, found.updated, found.stale],
            [scheduled, updated, stale],
            "scheduled, updated, stale"
        );
        assert_eq!(
            [found.expired, found.applied, found.failed],
            [expired, applied, failed],
            "expired, applied, failed"
        );
        assert_eq!(
            [found.timed_out, found.retried, found.requeued],
            [timed_out, retried, requeued],
            "timed out, retried, requeued"
        );
        assert_eq!(found.longest_pending_ns, longest_pending_ns, "longest pending");
    }
}

impl Known {
    /// When the entry was proposed, if it is pending.
    pub(crate) fn pending_since(&self) -> Option<u64> {
        match self.state {
            State::Pending { since, .. } => Some(since),
            _ => None,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            State::Queued => Phase::Queued,
            State::Pending { .. } => Phase::Pending,
            State::Retrying { .. } => Phase::Retrying,
        }
    }
}

fn clamped(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}
