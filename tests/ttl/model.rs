//! The model: a map of entries, and a look at all of them for every question. Slow, obviously right.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use timer_wheel::ttl::{Context, Entry, Outcome, Phase, Role, TtlConfig, TtlError, TtlStats, Waits};

/// A key of the tests.
pub(crate) type Key = u16;

/// What a poll proposes: key, index, owner, attempt.
pub(crate) type Proposal = (Key, u64, u128, u32);

/// What the model knows of one key.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) entry: Entry<Key>,
    pub(crate) deadline: u64,
    sequence: u64,
    state: State,
    pub(crate) attempts: u32,
    /// When it was last proposed.
    proposed: u64,
    /// Whether the entry was given a later deadline while it was queued.
    is_postponed: bool,
}

/// Where an entry stands, and since or until when. Equal times count in the order of `nth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Pending { since: u64, nth: u64 },
    Retrying { at: u64, nth: u64 },
}

/// A queue without a queue. Constant backoff only.
#[derive(Clone)]
pub(crate) struct Model {
    config: TtlConfig,
    role: Role,
    pub(crate) is_stopped: bool,
    pub(crate) now: u64,
    next: u64,
    known: BTreeMap<Key, Known>,
    pub(crate) stats: TtlStats,
    waits: AllWaits,
}

/// Each wait that was counted, in nanoseconds.
#[derive(Clone, Default)]
struct AllWaits {
    first: Vec<u64>,
    retry: Vec<u64>,
    pending_times: Vec<u64>,
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

fn ns(duration: Duration) -> u64 {
    duration.as_nanos().try_into().expect("fits")
}

fn clamped(time: u128) -> u64 {
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// Compares a histogram with all that was counted in it.
fn same_waits(found: &Waits, waits: &[u64]) {
    let total = waits.iter().fold(0, |sum: u64, wait| sum.saturating_add(*wait));
    assert_eq!(found.count(), waits.len() as u64);
    assert_eq!(found.mean_ns(), total / found.count().max(1));
    assert_eq!(found.longest_ns(), waits.iter().copied().max().unwrap_or(0));
    let (mut above, mut below) = (None, 0);
    for (up_to, count) in found.buckets() {
        let belongs = |wait: &&u64| above.is_none_or(|above| **wait > above) && **wait <= up_to;
        assert_eq!(count, waits.iter().filter(belongs).count() as u64, "up to {up_to} ns");
        below += count;
        if count != 0 {
            let most = found.at_most_ns((below as f64 - 0.5) / waits.len() as f64);
            assert!(most <= up_to && above.is_none_or(|above| most > above), "{most} ns");
        }
        above = Some(up_to);
    }
    assert_eq!(found.at_most_ns(1.0), found.longest_ns());
}

impl Model {
    pub(crate) fn new(now: u64, config: TtlConfig) -> Self {
        let (known, stats) = (BTreeMap::new(), TtlStats::default());
        let waits = AllWaits::default();
        Self { config, role: Role::Follower, is_stopped: false, now, next: 0, known, stats, waits }
    }

    /// Compares the histograms with all that should have been counted in them. O(n) for all that was.
    pub(crate) fn check_waits(&self, found: &TtlStats) {
        same_waits(&found.first_waits, &self.waits.first);
        same_waits(&found.retry_waits, &self.waits.retry);
        same_waits(&found.pending_times, &self.waits.pending_times);
    }

    /// Compares counts and lengths.
    pub(crate) fn check_stats(&self, mut found: TtlStats) {
        for (waits, all) in [
            (&mut found.first_waits, &self.waits.first),
            (&mut found.retry_waits, &self.waits.retry),
            (&mut found.pending_times, &self.waits.pending_times),
        ] {
            assert_eq!(mem::take(waits).count(), all.len() as u64);
        }
        let lengths = [self.len(), self.count(Phase::Pending), self.count(Phase::Retrying)];
        assert_eq!([found.len, found.pending, found.retrying], lengths);
        (found.len, found.pending, found.retrying) = (0, 0, 0);
        assert_eq!(found, self.stats);
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Known> {
        self.known.get(&key)
    }

    pub(crate) fn count(&self, phase: Phase) -> usize {
        self.known.values().filter(|known| known.phase() == phase).count()
    }

    fn in_flight(&self) -> usize {
        self.len() - self.count(Phase::Queued)
    }

    /// The entries that are queued and were postponed.
    pub(crate) fn postponed(&self) -> usize {
        let is_postponed = |known: &&Known| known.is_postponed && known.state == State::Queued;
        self.known.values().filter(is_postponed).count()
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
        key: Key,
        index: u64,
        ttl_ms: u64,
        ctx: Context,
    ) -> Result<Outcome, TtlError> {
        if ttl_ms == 0 {
            return Ok(Outcome::Ignored);
        }
        let max_ms = ns(self.config.max_ttl) / 1_000_000;
        if ttl_ms > max_ms {
            return Err(TtlError::TtlTooLong { ttl_ms, max_ms });
        }
        let old = self.known.get(&key).map(|old| (old.entry.index, old.state, old.deadline));
        let deadline = clamped(u128::from(ctx.created_ns) + u128::from(ttl_ms) * 1_000_000);
        let (outcome, counter) = match old {
            None if must_exist => return Ok(Outcome::Missing),
            None => (Outcome::Scheduled, &mut self.stats.scheduled),
            Some((old, ..)) if old >= index => (Outcome::Stale, &mut self.stats.stale),
            Some(_) => (Outcome::Updated, &mut self.stats.updated),
        };
        *counter += 1;
        if outcome != Outcome::Stale {
            self.remove(key);
            let is_postponed = old.is_some_and(|(_, state, old)| state == State::Queued && deadline >= old);
            let entry = Entry::new(key, index, ttl_ms).with_owner(ctx.owner).with_leader_start_ms(ctx.leader_start_ms);
            self.insert(entry, deadline, is_postponed);
        }
        Ok(outcome)
    }

    fn insert(&mut self, entry: Entry<Key>, deadline: u64, is_postponed: bool) {
        let (sequence, state) = (self.take_next(), State::Queued);
        let known = Known { deadline, sequence, state, attempts: 0, proposed: 0, is_postponed, entry };
        self.known.insert(known.entry.key, known);
    }

    /// Whether there was an entry.
    pub(crate) fn remove(&mut self, key: Key) -> bool {
        self.count_wait(key);
        self.known.remove(&key).is_some()
    }

    pub(crate) fn applied(&mut self, key: Key, index: u64) -> Outcome {
        if self.get(key).is_none_or(|known| known.entry.index != index) {
            self.stats.stale += 1;
            return Outcome::Stale;
        }
        self.remove(key);
        self.stats.applied += 1;
        Outcome::Applied
    }

    pub(crate) fn failed(&mut self, key: Key, index: u64, now: u64) -> Outcome {
        self.now = self.now.max(now);
        let is_pending = |known: &Known| known.entry.index == index && known.phase() == Phase::Pending;
        if !self.get(key).is_some_and(is_pending) {
            self.stats.stale += 1;
            return Outcome::Stale;
        }
        self.fail(key);
        self.stats.failed += 1;
        Outcome::Failed
    }

    fn fail(&mut self, key: Key) {
        self.count_wait(key);
        let (at, nth) = (self.now.saturating_add(ns(self.config.retry_delay)), self.take_next());
        self.known.get_mut(&key).expect("it is pending").state = State::Retrying { at, nth };
    }

    fn count_wait(&mut self, key: Key) {
        let since = self.get(key).and_then(Known::pending_since);
        self.waits.pending_times.extend(since.map(|since| self.now - since));
    }

    /// A poll of which `pulled` items at most are taken.
    pub(crate) fn poll(&mut self, now: u64, pulled: usize) -> Vec<Proposal> {
        self.poll_while(now, |_, proposals| proposals < pulled)
    }

    /// A poll that yields so many items, counts so many timeouts in all, and then finds no more for want of a budget.
    pub(crate) fn poll_cut_short(&mut self, now: u64, yielded: usize, timed_out: u64) -> Vec<Proposal> {
        self.poll_while(now, |model, proposals| proposals < yielded || model.stats.timed_out < timed_out)
    }

    fn poll_while(&mut self, now: u64, goes_on: impl Fn(&Self, usize) -> bool) -> Vec<Proposal> {
        self.now = self.now.max(now);
        let (expiries, retries) = (self.config.expire_batch, self.config.retry_batch);
        let mut left = match self.is_proposing() {
            true => Left { expiries, retries, timeouts: expiries + retries, flights_before: self.next },
            false => Left::default(),
        };
        let mut proposals = Vec::new();
        while goes_on(self, proposals.len()) {
            // What is in flight comes before what is due.
            match self.end_flight(&mut left).or_else(|| self.next_expiry(&mut left)) {
                Some(Step::Proposed(proposal)) => proposals.push(proposal),
                Some(Step::TimedOut) => {}
                None => break,
            }
        }
        proposals
    }

    /// Ends the flight that is over first, if one is by now: a timeout fails, a retry is proposed.
    fn end_flight(&mut self, left: &mut Left) -> Option<Step> {
        let ends = self.known.values().filter_map(|known| Some((self.until(known)?, known.entry.key)));
        let is_over = |&((until, nth), _): &((u64, u64), Key)| until <= self.now && nth <= left.flights_before;
        let (_, key) = ends.min().filter(is_over)?;
        if self.known[&key].phase() == Phase::Retrying {
            left.retries = left.retries.checked_sub(1)?;
            self.stats.retried += 1;
            self.waits.retry.push(self.now - self.known[&key].proposed);
            return Some(self.propose(key));
        }
        left.timeouts = left.timeouts.checked_sub(1)?;
        self.stats.timed_out += 1;
        self.fail(key);
        Some(Step::TimedOut)
    }

    fn next_expiry(&mut self, left: &mut Left) -> Option<Step> {
        if self.in_flight() >= self.config.max_pending {
            return None;
        }
        let is_due = |known: &&Known| known.state == State::Queued && known.deadline <= self.now;
        let due = self.known.values().filter(is_due);
        let key = due.min_by_key(|known| (known.deadline, known.sequence))?.entry.key;
        left.expiries = left.expiries.checked_sub(1)?;
        self.stats.expired += 1;
        self.waits.first.push(self.now - self.known[&key].deadline);
        Some(self.propose(key))
    }

    /// When the flight of an entry ends, and its place among equals.
    fn until(&self, known: &Known) -> Option<(u64, u64)> {
        match known.state {
            State::Queued => None,
            State::Pending { since, nth } => Some((since.saturating_add(ns(self.config.pending_timeout)), nth)),
            State::Retrying { at, nth } => Some((at, nth)),
        }
    }

    fn propose(&mut self, key: Key) -> Step {
        let state = State::Pending { since: self.now, nth: self.take_next() };
        let known = self.known.get_mut(&key).expect("it is due");
        (known.state, known.attempts, known.proposed) = (state, known.attempts + 1, self.now);
        Step::Proposed((key, known.entry.index, known.entry.owner, known.attempts))
    }

    /// The exact wait.
    pub(crate) fn expiration_delay(&self) -> Option<u64> {
        if !self.is_proposing() {
            return None;
        }
        let is_crowded = self.in_flight() >= self.config.max_pending;
        let times = self.known.values().filter_map(|known| match self.until(known) {
            Some((until, _)) => Some(until),
            None => (!is_crowded).then_some(known.deadline),
        });
        Some(times.min()?.saturating_sub(self.now))
    }

    pub(crate) fn role_change(&mut self, role: Role, now: u64) {
        self.now = self.now.max(now);
        self.role = role;
        self.stats.requeued += self.in_flight() as u64;
        let keys: Vec<Key> = self.known.keys().copied().collect();
        keys.into_iter().for_each(|key| self.count_wait(key));
        for known in self.known.values_mut() {
            (known.state, known.attempts) = (State::Queued, 0);
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
