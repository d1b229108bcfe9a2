//! A cache for many threads. Each shard is a lock around a map and a wheel of its own. One thread expires overdue
//! entries off the request path, a budget at a time.
//!
//! Requests never expire anything. They check the deadline of the entry they find, so an overdue entry is a miss even
//! before the sweeper has removed it.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::Duration;

use timer_wheel::clock::{SystemClock, nanoseconds};
use timer_wheel::{Budget, Compact, TimerKey, Wheel};

const SHARDS: usize = 16;
/// What one visit of the sweeper to a shard may do while it holds the lock.
const BUDGET: Budget = Budget::of_work(64);

struct Shard<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Many small wheels: the geometry with the fewest buckets.
    timers: Wheel<K, Compact>,
}

struct Entry<V> {
    value: V,
    deadline: u64,
    timer: TimerKey,
}

struct Cache<K, V> {
    shards: Vec<Mutex<Shard<K, V>>>,
    hasher: RandomState,
    sweeper: Thread,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// A cache whose `sweeper` is woken when it must wake up sooner than it planned.
    fn new(now: u64, sweeper: Thread) -> Self {
        let shard = |_| Mutex::new(Shard { entries: HashMap::new(), timers: Wheel::with_geometry(now) });
        Self { shards: (0..SHARDS).map(shard).collect(), hasher: RandomState::new(), sweeper }
    }

    fn shard_of(&self, key: &K) -> MutexGuard<'_, Shard<K, V>> {
        let shard = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[shard].lock().expect("no shard is left broken")
    }

    /// The value of an entry that is not overdue.
    fn get(&self, key: &K, now: u64) -> Option<V> {
        let shard = self.shard_of(key);
        let entry = shard.entries.get(key)?;
        (now < entry.deadline).then(|| entry.value.clone())
    }

    /// Writes an entry that lives until `deadline`, and returns whether it replaced another.
    fn insert(&self, key: K, value: V, deadline: u64) -> bool {
        let mut shard = self.shard_of(&key);
        // `wake_at` reads a field. It shows whether the wheel must be advanced sooner than before.
        let wake = shard.timers.wake_at();
        let timer = shard.timers.schedule(deadline, key.clone());
        let sooner = wake.is_none_or(|wake| shard.timers.wake_at() < Some(wake));
        let entry = Entry { value, deadline, timer };
        let replaced = shard.entries.insert(key, entry);
        if let Some(old) = &replaced {
            shard.timers.cancel(old.timer);
        }
        drop(shard);
        if sooner {
            self.sweeper.unpark();
        }
        replaced.is_some() // and dropped with no lock held
    }

    fn remove(&self, key: &K) -> Option<V> {
        let mut shard = self.shard_of(key);
        let entry = shard.entries.remove(key)?;
        shard.timers.cancel(entry.timer);
        Some(entry.value)
    }

    /// Visits each shard once. Returns the number of entries that expired, and the nanoseconds until the next round.
    fn sweep(&self, now: u64) -> (usize, Option<u64>) {
        let mut expired = 0;
        let mut wait = None;
        for shard in &self.shards {
            let mut shard = shard.lock().expect("no shard is left broken");
            let Shard { entries, timers } = &mut *shard;
            let mut budget = BUDGET;
            let due = timers.advance_with_budget(now, &mut budget);
            let gone: Vec<_> = due.filter_map(|timer| entries.remove(&timer.value)).collect();
            // 0 while there is a backlog, so that the next round comes at once.
            wait = [wait, timers.expiration_delay()].into_iter().flatten().min();
            drop(shard);
            assert!(gone.len() <= BUDGET.work, "the lock was held for no more");
            expired += gone.len(); // the values are dropped here, with no lock held
        }
        (expired, wait)
    }

    /// Sweeps until `stop` is set, and returns the number of entries that expired.
    fn run_sweeper(&self, clock: &SystemClock, stop: &AtomicBool) -> usize {
        let mut expired = 0;
        while !stop.load(Ordering::Acquire) {
            let (count, wait) = self.sweep(clock.now());
            expired += count;
            // An insert that needs us sooner unparks us, even between the sweep and here.
            match wait {
                Some(0) => {}
                Some(wait) => thread::park_timeout(Duration::from_nanos(wait)),
                None => thread::park(),
            }
        }
        expired
    }
}

/// What one thread of a server has done.
#[derive(Default)]
struct Served {
    hits: u64,
    written: u64,
    /// Replaced or removed.
    gone: u64,
}

/// Reads, writes on a miss, removes now and then.
fn serve(cache: &Cache<u64, String>, clock: &SystemClock, worker: u64) -> Served {
    let mut served = Served::default();
    for request in 0..20_000 {
        let key = (request * 31 + worker * 7) % 5_000;
        let now = clock.now();
        if let Some(value) = cache.get(&key, now) {
            assert_eq!(value, format!("value {key}"));
            served.hits += 1;
        } else {
            let ttl = nanoseconds(Duration::from_millis(1 + key % 50));
            served.written += 1;
            served.gone += u64::from(cache.insert(key, format!("value {key}"), now + ttl));
        }
        if request % 100 == 99 {
            served.gone += u64::from(cache.remove(&key).is_some());
        }
    }
    served
}

fn main() {
    let clock = SystemClock::new();
    let cache = Cache::new(clock.now(), thread::current());
    let stop = AtomicBool::new(false);

    let (swept, served) = thread::scope(|scope| {
        let workers = [0, 1, 2, 3].map(|worker| {
            let (cache, clock) = (&cache, &clock);
            scope.spawn(move || serve(cache, clock, worker))
        });
        let server = scope.spawn(|| {
            // Join all first: the sweeper must be stopped even if a request failed.
            let ends = workers.map(|worker| worker.join());
            stop.store(true, Ordering::Release);
            cache.sweeper.unpark();
            ends.map(|end| end.expect("no request fails"))
        });
        (cache.run_sweeper(&clock, &stop), server.join().expect("no request fails"))
    });

    // A last sweep at the end of time, for the entries that are left.
    let mut left = 0;
    loop {
        let (expired, wait) = cache.sweep(u64::MAX);
        left += expired;
        if wait.is_none() {
            break;
        }
    }
    let sum = |count: fn(&Served) -> u64| served.iter().map(count).sum::<u64>();
    let (written, gone) = (sum(|it| it.written), sum(|it| it.gone));
    println!(
        "{} hits; {written} entries written: {gone} replaced or removed, {swept} swept while requests ran, {left} afterwards",
        sum(|it| it.hits)
    );
    assert_eq!(written, gone + (swept + left) as u64);
}
