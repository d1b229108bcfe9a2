//! A follower that is polled keeps up: after its election it is as quick as a leader.

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, Expiry, Outcome, Role, TtlConfig, TtlKey, TtlSet};

use crate::pair::moves_of_an_entry;
use crate::script::MS;
use crate::start::{SECOND, config};

const MINUTE: u64 = 60 * SECOND;

const HOUR: u64 = 60 * MINUTE;

const DAY: u64 = 24 * HOUR;

/// More than ten polls may visit.
const COUNT: u32 = 50_000;

/// A store of so many keys, each with its handle, and a set that is told the time as a program tells it.
struct Store {
    set: TtlSet<u32>,
    handles: Vec<TtlKey>,
    now: u64,
    index: u64,
    sleeps: u64,
    /// Since the last sleep.
    polls: u64,
}

impl Store {
    /// Keys whose TTLs began at time 0.
    fn new(config: TtlConfig, ttl_ms: impl Fn(u32) -> u64) -> Self {
        let mut set = TtlSet::new(0);
        set.set_config(config).unwrap();
        let init = |key| set.init(key, 1, ttl_ms(key), Context::default()).unwrap().expect("the TTL is not 0");
        let handles = (0..COUNT).map(init).collect();
        Self { set, handles, now: 0, index: 1, sleeps: 0, polls: 0 }
    }

    /// Sleeps as long as the set says, and polls, until a time.
    fn live_until(&mut self, time: u64) {
        while let Some(at) = self.set.wake_at().filter(|&at| at <= time) {
            if at > self.now {
                self.sleeps += 1;
                self.polls = 0;
            }
            self.now = at.max(self.now);
            self.polls += 1;
            assert!(self.polls < 1_000, "no progress");
            assert_eq!(self.set.poll(self.now).count(), 0, "a follower proposes nothing");
            if let Some(next) = self.set.wake_at().filter(|&next| next != self.now) {
                assert!(next >= self.now + MINUTE, "woken up after {} ns", next - self.now);
            }
        }
        self.now = time;
    }

    /// Gives a key another TTL, as the log says.
    fn update(&mut self, key: u32, ttl_ms: u64) {
        self.index += 1;
        let ctx = Context::new(self.now);
        assert_eq!(self.set.update(self.handles[key as usize], self.index, ttl_ms, ctx), Ok(Outcome::Updated));
    }

    /// The keys that are applied once this replica leads, and the polls that it took to find the first and all of them.
    fn lead(&mut self) -> (Vec<u32>, usize, usize) {
        self.set.role_change(Role::Leader, self.now);
        let (mut keys, mut first, mut polls) = (Vec::new(), 0, 0);
        while self.set.wake_at().is_some_and(|at| at <= self.now) {
            polls += 1;
            let due: Vec<Expiry<u32>> = self.set.poll(self.now).collect();
            if keys.is_empty() && !due.is_empty() {
                first = polls;
            }
            for due in due {
                assert_eq!(self.set.applied(due.handle, due.index), Outcome::Applied);
                keys.push(due.key);
            }
        }
        self.set.check_invariants();
        (keys, first, polls)
    }
}

/// Checks that a follower that is elected now proposes all that is overdue, in order, in no more polls than batches and
/// a tenth.
#[track_caller]
fn check_election(store: &mut Store, least_overdue: usize) {
    let overdue = store.set.iter().take_while(|info| info.deadline_ns <= store.now);
    let expected: Vec<u32> = overdue.map(|info| info.entry.key).collect();
    assert!(expected.len() >= least_overdue, "{} are overdue", expected.len());
    let batches = expected.len().div_ceil(store.set.config().expire_batch);
    let (keys, first, polls) = store.lead();
    assert_eq!(keys, expected);
    assert!(first <= 3, "the first expiry comes with poll {first}");
    assert!(polls <= 3 + batches + batches / 10, "{polls} polls for {batches} batches");
}

/// As late as possible before the next poll.
fn just_before_the_next_poll(store: &mut Store) {
    store.now = store.set.wake_at().map_or(store.now + HOUR, |at| at - 1);
}

/// Nobody leads for a day, in which everything expires. The batch is large, so that polls have little to spare.
#[test]
fn overdue_entries_wait_in_order() {
    let ttl_ms = |key| 1 + u64::from(key) * DAY / MS / u64::from(COUNT);
    let mut store = Store::new(config(|it| it.expire_batch = 2_000), ttl_ms);
    store.live_until(DAY + HOUR);
    check_election(&mut store, COUNT as usize);
    assert!(store.sleeps <= (DAY + HOUR) / MINUTE);
}

/// An entry whose expiry is never applied is not in the way of the others.
#[test]
fn overdue_entry_holds_nothing_up() {
    let mut store = Store::new(TtlConfig::default(), |key| if key == 0 { 1 } else { 7 * DAY / MS + u64::from(key) });
    store.live_until(7 * DAY + SECOND);
    just_before_the_next_poll(&mut store);
    check_election(&mut store, 1_000);
}

/// Every entry is postponed each hour, and keeps its place on the wheel until its old deadline.
#[test]
fn renewed_entries_are_moved_meanwhile() {
    let mut store = Store::new(TtlConfig::default(), |key| 2 * HOUR / MS + u64::from(key % 1_000));
    for hour in 1..=48 {
        (0..COUNT).for_each(|key| store.update(key, 2 * HOUR / MS + u64::from(key % 1_000)));
        store.live_until(hour * HOUR);
    }
    store.live_until(49 * HOUR + SECOND / 2);
    just_before_the_next_poll(&mut store);
    check_election(&mut store, 100);
}

/// Ours, in its fifth year: a follower's wheel was a minute ahead of the set's clock. Elected while its deadlines still
/// cascaded, it found the first timer due by the wheel's clock and not by the set's, and moved nothing: it asked to be
/// polled at once, for ever.
#[test]
fn leader_that_was_elected_while_a_crowd_migrates_is_never_polled_for_nothing() {
    for (budget, crowd_ms) in (1..=10).flat_map(|budget| [60_001, 120_000, 600_000].map(|crowd_ms| (budget, crowd_ms)))
    {
        for polls in [1, 20, 255] {
            let mut set: TtlSet<u32> = TtlSet::new(0);
            set.set_config(config(|it| it.poll_budget = budget)).unwrap();
            for key in 0..1_040 {
                let ttl_ms = if key < 1_000 { crowd_ms } else { 59_000 };
                assert!(set.init(key, 1, ttl_ms, Context::default()).is_ok_and(|handle| handle.is_some()));
            }
            let mut now = 0;
            for step in [0, 2 * SECOND] {
                now += step;
                for _ in 0..polls {
                    assert!(set.wake_at().is_none_or(|at| at > now) || set.poll(now).count() == 0);
                }
            }
            set.role_change(Role::Leader, now);
            // For each move a bucket is opened and the entry moved.
            let (mut polls, most) = (0, 100 + 1_040 * (2 * moves_of_an_entry::<Millis>() + 1));
            while let Some(at) = set.wake_at() {
                now = now.max(at);
                for due in set.poll(now).collect::<Vec<_>>() {
                    assert!(set.get(due.handle).is_some_and(|info| info.deadline_ns <= now), "early, or twice");
                    assert_eq!(set.applied(due.handle, due.index), Outcome::Applied);
                }
                polls += 1;
                assert!(polls <= most, "{polls} polls, and {} entries are left", set.len());
            }
            assert!(set.is_empty());
        }
    }
}

/// Not before its first entry is due within a minute, then once a minute, and not without entries.
#[test]
fn follower_is_polled_as_rarely_as_will_do() {
    let mut set: TtlSet<u32> = TtlSet::new(0);
    assert_eq!(set.wake_at(), None);
    let first = set.init(0, 1, HOUR / MS, Context::default()).unwrap().expect("the TTL is not 0");
    assert_eq!(set.wake_at(), Some(HOUR - MINUTE));
    for now in [HOUR - MINUTE, HOUR, DAY] {
        assert_eq!(set.poll(now).count(), 0);
        assert_eq!(set.wake_at(), Some(now + MINUTE), "its expiry has not been applied");
    }
    assert_eq!(set.applied(first, 1), Outcome::Applied);
    assert_eq!(set.wake_at(), None);
    set.init(1, 2, 1, Context::default()).unwrap();
    set.stop();
    assert_eq!((set.poll(2 * DAY).count(), set.wake_at()), (0, None));
}
