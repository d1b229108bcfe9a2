//! Three replicas whose polls do one to ten units of work each, and whose entries come in bursts.

use timer_wheel::Millis;
use timer_wheel::ttl::{Context, Expiry, Outcome, Role, TtlKey, TtlSet};

use crate::arbitrary::{Drawn, check};
use crate::bytes::{Decoder, Draw};
use crate::pair::moves_of_an_entry;
use crate::script::MS;
use crate::start::{SECOND, config};

const REPLICAS: usize = 3;

/// One thing that happens to all replicas, or to one.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The log sets one TTL on so many keys.
    Burst { count: u16, ttl_ms: u64 },
    /// A replica polls as soon as it is asked to, so many times.
    Poll { replica: usize, times: u8 },
    /// All clocks move.
    Pass(u64),
    /// A replica becomes the leader, and the others followers.
    Elect(usize),
}

/// The budget of a poll, and what happens.
#[derive(Debug, Default)]
struct History {
    budget: usize,
    events: Vec<Event>,
}

impl Draw for History {
    type Script = Self;

    fn begin(decoder: &mut Decoder<'_>) -> Self {
        Self { budget: usize::from(1 + decoder.below(10)), events: Vec::new() }
    }

    fn extend(history: &mut Self, decoder: &mut Decoder<'_>) {
        let replica = usize::from(decoder.byte()) % REPLICAS;
        history.events.push(match decoder.below(8) {
            0..=1 => {
                let count = decoder.choose(&[20, 300, 1_000]);
                Event::Burst { count, ttl_ms: 1 + u64::from(decoder.byte()) * decoder.choose(&[1, 100, 1_000, 60_000]) }
            }
            2..=4 => Event::Poll { replica, times: decoder.byte() },
            5 | 6 => Event::Pass(u64::from(decoder.byte()) * decoder.choose(&[MS, 100 * MS, SECOND])),
            _ => Event::Elect(replica),
        });
    }
}

/// Replicas that apply each entry of the log at once.
struct Replicas {
    sets: [TtlSet<usize, Millis>; REPLICAS],
    /// The handle of each key on each replica.
    handles: Vec<[TtlKey; REPLICAS]>,
    now: u64,
    leader: usize,
}

impl Replicas {
    fn run(History { budget, events }: &History) {
        let mut set = TtlSet::new(0);
        set.set_config(config(|it| it.poll_budget = *budget)).unwrap();
        let mut replicas = Self { sets: [set.clone(), set.clone(), set], handles: Vec::new(), now: 0, leader: 0 };
        replicas.elect(0);
        for &event in events {
            match event {
                Event::Burst { count, ttl_ms } => (0..count).for_each(|_| replicas.init(ttl_ms)),
                Event::Poll { replica, times } => {
                    for _ in 0..times {
                        if replicas.sets[replica].wake_at().is_some_and(|at| at <= replicas.now) {
                            replicas.poll(replica);
                        }
                    }
                }
                Event::Pass(span) => replicas.now += span,
                Event::Elect(replica) => replicas.elect(replica),
            }
        }
        replicas.expire_all();
    }

    fn init(&mut self, ttl_ms: u64) {
        let (key, context) = (self.handles.len(), Context::new(self.now));
        let init = |set: &mut TtlSet<usize>| set.init(key, 1, ttl_ms, context).unwrap().expect("the TTL is not 0");
        self.handles.push(self.sets.each_mut().map(init));
    }

    fn elect(&mut self, leader: usize) {
        self.leader = leader;
        for (nth, set) in self.sets.iter_mut().enumerate() {
            set.role_change(if nth == leader { Role::Leader } else { Role::Follower }, self.now);
        }
    }

    /// Polls a replica. What it proposes is applied at once.
    fn poll(&mut self, replica: usize) {
        let due: Vec<Expiry<usize>> = self.sets[replica].poll(self.now).collect();
        assert!(due.is_empty() || replica == self.leader, "a follower proposes nothing");
        for due in due {
            for (set, handle) in self.sets.iter_mut().zip(self.handles[due.key]) {
                assert!(set.get(handle).is_some_and(|info| info.deadline_ns <= self.now), "early, or twice");
                assert_eq!(set.applied(handle, due.index), Outcome::Applied);
            }
        }
    }

    /// Polls the leader whenever it asks. No poll may be for nothing: there are no more than moves and expiries.
    fn expire_all(mut self) {
        let entries = self.sets[self.leader].len();
        // For each move a bucket is opened and the entry moved.
        let most = 100 + entries * (2 * moves_of_an_entry::<Millis>() + 1);
        let mut polls = 0;
        while let Some(at) = self.sets[self.leader].wake_at() {
            self.now = self.now.max(at);
            self.poll(self.leader);
            polls += 1;
            assert!(polls <= most, "{polls} polls, and {} of {entries} entries are left", self.sets[self.leader].len());
        }
        assert!(self.sets.iter().all(TtlSet::is_empty), "each entry expires on all replicas");
        self.sets.iter().for_each(TtlSet::check_invariants);
    }
}

/// Our own, in its fifth year: a follower's wheel was a minute ahead of the set's clock. Elected while its deadlines still
/// cascaded, it found the first timer due by the wheel's clock and not by the set's, and moved nothing: it asked to be
/// polled at once, for ever.
#[test]
fn leader_with_a_small_budget_is_never_polled_for_nothing() {
    check(300, 40, |history: Drawn<History>| Replicas::run(&history.script()));
}

/// The shortest such history: a crowd that migrates while an entry in front of it is not due yet.
#[test]
fn follower_that_is_elected_while_a_crowd_migrates_goes_on_with_it() {
    for budget in 1..=10 {
        for polls in [1, 20, 255] {
            let crowd = Event::Burst { count: 1_000, ttl_ms: 120_000 };
            let first = Event::Burst { count: 40, ttl_ms: 59_000 };
            let poll = Event::Poll { replica: 1, times: polls };
            let events = vec![crowd, first, poll, Event::Pass(2 * SECOND), poll, Event::Elect(1)];
            Replicas::run(&History { budget, events });
        }
    }
}
