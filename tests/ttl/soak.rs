//! Three replicas under a steady load, with everything that goes wrong now and then: no key is lost or early, and
//! lateness and memory stay flat. Time is counted, not waited for.

use std::collections::{BTreeMap, HashMap, VecDeque};

use timer_wheel::ttl::{Context, Expiry, Outcome, Role, TtlQueue};

use crate::rng::Rng;
use crate::script::MS;

const KEYS: u64 = 20_000;
const LONGEST_TTL_MS: u64 = 20_000;
const MINUTE_MS: u64 = 60_000;
const ELECTION_MS: u64 = 10_000;
/// The wall clock, in milliseconds, when the soak begins.
const EPOCH_MS: u64 = 1_700_000_000_000;

#[derive(Clone, Copy)]
enum Command {
    Put { key: u32, ttl_ms: u64 },
    Delete(u32),
    Expire { key: u32, index: u64 },
}

struct Replica {
    queue: TtlQueue<u32>,
    /// The index of the last entry of the log that it has applied.
    applied: u64,
}

/// What is on its way to the log, or back to the leader that proposed it.
enum Message {
    Commit(Expiry<u32>),
    Refuse { leader: usize, expiry: Expiry<u32> },
}

struct Soak {
    random: Rng,
    now_ms: u64,
    replicas: [Replica; 3],
    leader: usize,
    /// The entries that some replica has not applied yet, each with the time of its commit. The last has index `last`.
    log: VecDeque<(Command, u64)>,
    last: u64,
    /// By the time of arrival.
    messages: BTreeMap<(u64, u64), Message>,
    sent: u64,
    /// The index and the deadline of each key, by the log alone.
    truth: HashMap<u32, (u64, u64)>,
    /// How late the expiries of this minute were committed, in milliseconds.
    late_ms: Vec<u64>,
}

impl Soak {
    fn new() -> Self {
        let replicas = [0; 3].map(|_| Replica { queue: TtlQueue::new(0), applied: 0 });
        let mut soak = Self {
            random: Rng(1),
            now_ms: 0,
            replicas,
            leader: 0,
            log: VecDeque::new(),
            last: 0,
            messages: BTreeMap::new(),
            sent: 0,
            truth: HashMap::new(),
            late_ms: Vec::new(),
        };
        soak.elect(0);
        soak
    }

    /// A millisecond, in which clients write something or not.
    fn step(&mut self, has_clients: bool) {
        self.now_ms += 1;
        let (key, choice) = (self.random.below(KEYS) as u32, self.random.below(20));
        if has_clients && choice < 16 {
            let ttl_ms = 1 + self.random.below(LONGEST_TTL_MS);
            self.commit(Command::Put { key, ttl_ms });
        } else if has_clients && choice == 16 {
            self.commit(Command::Delete(key));
        }
        while let Some(first) = self.messages.first_entry().filter(|first| first.key().0 <= self.now_ms) {
            match first.remove() {
                Message::Commit(expiry) => self.commit(Command::Expire { key: expiry.key, index: expiry.index }),
                Message::Refuse { leader, expiry } => {
                    self.replicas[leader].queue.failed(&expiry.key, expiry.index, self.now_ms * MS);
                }
            }
        }
        for nth in 0..self.replicas.len() {
            // A follower is up to three entries behind.
            let behind = if nth == self.leader { 0 } else { self.random.below(4) };
            self.apply(nth, self.last.saturating_sub(behind));
            self.poll(nth);
        }
        let least = self.replicas.iter().map(|replica| replica.applied).min().expect("there are three");
        self.log.drain(..self.log.len() - (self.last - least) as usize);
        if self.now_ms % ELECTION_MS == 0 {
            self.elect((self.leader + 1) % 3);
        }
        if self.now_ms % MINUTE_MS == MINUTE_MS / 2 {
            self.restart((self.leader + 1) % 3);
        }
    }

    fn commit(&mut self, command: Command) {
        self.last += 1;
        self.log.push_back((command, self.now_ms));
        match command {
            Command::Put { key, ttl_ms } => _ = self.truth.insert(key, (self.last, self.now_ms + ttl_ms)),
            Command::Delete(key) => _ = self.truth.remove(&key),
            Command::Expire { key, index } => {
                if let Some(&(_, deadline_ms)) = self.truth.get(&key).filter(|known| known.0 == index) {
                    assert!(deadline_ms <= self.now_ms, "no key is early");
                    self.late_ms.push(self.now_ms - deadline_ms);
                    self.truth.remove(&key);
                }
            }
        }
    }

    fn apply(&mut self, nth: usize, until: u64) {
        let Replica { queue, applied } = &mut self.replicas[nth];
        let first = self.last + 1 - self.log.len() as u64;
        while *applied < until {
            *applied += 1;
            let (command, at_ms) = self.log[(*applied - first) as usize];
            match command {
                Command::Put { key, ttl_ms } => {
                    let context = Context::new(self.now_ms * MS).with_leader_start_ms(EPOCH_MS + at_ms);
                    let outcome = queue.init(key, *applied, ttl_ms, context);
                    assert!(matches!(outcome, Ok(Outcome::Scheduled | Outcome::Updated)));
                }
                Command::Delete(key) => _ = queue.remove(&key),
                Command::Expire { key, index } => _ = queue.applied(&key, index),
            }
        }
    }

    fn poll(&mut self, nth: usize) {
        let now = self.now_ms * MS;
        if self.replicas[nth].queue.wake_at().is_none_or(|at| at > now) {
            return;
        }
        for expiry in self.replicas[nth].queue.poll(now) {
            assert_eq!(nth, self.leader, "a follower proposes nothing");
            let (fate, travel_ms) = (self.random.below(1_000), 1 + self.random.below(20));
            let mut send = |message| {
                self.sent += 1;
                self.messages.insert((self.now_ms + travel_ms, self.sent), message);
            };
            match fate {
                0..=4 => {} // lost
                5..=14 => send(Message::Refuse { leader: nth, expiry }),
                15..=24 => {
                    send(Message::Commit(expiry.clone()));
                    send(Message::Commit(expiry));
                }
                _ => send(Message::Commit(expiry)),
            }
        }
    }

    fn elect(&mut self, leader: usize) {
        self.leader = leader;
        self.apply(leader, self.last);
        for (nth, Replica { queue, .. }) in self.replicas.iter_mut().enumerate() {
            queue.role_change(if nth == leader { Role::Leader } else { Role::Follower }, self.now_ms * MS);
        }
    }

    /// A replica loses its memory, and is given the snapshot of the leader.
    fn restart(&mut self, nth: usize) {
        let from = &self.replicas[self.leader];
        let entries: Vec<_> = from.queue.as_set().snapshot().into_iter().cloned().collect();
        let mut replica = Replica { queue: TtlQueue::new(self.now_ms * MS), applied: from.applied };
        replica.queue.restore(entries, self.now_ms * MS, EPOCH_MS + self.now_ms).unwrap();
        self.replicas[nth] = replica;
    }

    /// The 99th percentile of the lateness since it was last asked for, in milliseconds.
    fn take_p99_ms(&mut self) -> u64 {
        self.late_ms.sort_unstable();
        let p99 = self.late_ms[self.late_ms.len() * 99 / 100];
        self.late_ms.clear();
        p99
    }
}

/// The memory of this process in KiB, where the system tells.
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn soak(minutes: u64) {
    let mut soak = Soak::new();
    let mut minute = || {
        (0..MINUTE_MS).for_each(|_| soak.step(true));
        (soak.take_p99_ms(), memory_kib())
    };
    let warm = minute();
    let mut last = warm;
    for _ in 1..minutes {
        last = minute();
        assert!(last.0 <= 2 * warm.0, "p99 of a minute: {} ms, in the first {} ms", last.0, warm.0);
    }
    println!(
        "p99 of the first and the last minute {} and {} ms; memory {:?} and {:?} KiB",
        warm.0, last.0, warm.1, last.1
    );
    // Other tests of this program come and go meanwhile, unless it runs alone.
    let spare_kib = 20 << 10;
    assert!(last.1 <= warm.1.map(|kib| kib + spare_kib), "{last:?}, in the first minute {warm:?}");

    // Each key goes, however often its expiry is lost.
    for _ in 0..2 * MINUTE_MS {
        soak.step(false);
    }
    assert_eq!(soak.truth.len(), 0, "no key is lost");
    assert!(soak.replicas.iter().all(|replica| replica.queue.is_empty()));
}

#[test]
fn soak_of_three_minutes_loses_no_key_and_stays_flat() {
    soak(3);
}

#[test]
#[ignore = "takes minutes"]
fn soak_of_ten_hours_loses_no_key_and_stays_flat() {
    soak(600);
}
