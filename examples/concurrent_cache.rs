//! A cache for many threads: shards, each a lock around a map and a wheel of its own, and one
//! thread that expires what is overdue, off the request path and a budget at a time.
//!
//! Requests never expire anything. They read the deadline of the entry they find, so that an
//! overdue one is gone for them whether or not the sweeper has come round to it.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// A cache whose `sweeper` is woken when it must sleep less than it thought.
    fn new(now: u64, sweeper: Thread) -> Self {
        let shard = |_| Mutex::new(Shard { entries: HashMap::new(), timers: Wheel::with_geometry(now) });
        Self { shards: (0..SHARDS).map(shard).collect(), hasher: RandomState::new(), sweeper }
    }

    fn shard_of(&self, key: &K) -> MutexGuard<'_, Shard<K, V>> {
        let shard = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[shard].lock().expect("no shard is left broken")
    }

    /// The value of an entry that is not overdue.
    fn get(&self, key: &K, now: u64) -> Option<(V, u64)> {
        let shard = self.shard_of(key);
        let entry = shard.entries.get(key)?;
        (now < entry.deadline).then(|| (entry.value.clone(), entry.deadline))
    }

    /// Writes an entry that lives until `deadline`, and says whether it replaced another.
    fn insert(&self, key: K, value: V, deadline: u64) -> bool {
        let mut shard = self.shard_of(&key);
        // Each look is the read of a field: must the wheel be advanced sooner than before?
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

    /// Goes once round the shards, and says how many entries it expired and how many nanoseconds
    /// it may be until the next round.
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

    /// Sweeps until told to stop, and says how many entries that expired.
    fn run_sweeper(&self, clock: &SystemClock, stop: &AtomicBool) -> usize {
        let mut expired = 0;
        while !stop.load(Ordering::Acquire) {
            let (count, wait) = self.sweep(clock.now());
            expired += count;
            // An insert that needs us sooner unparks us, also between the sweep and here.
            match wait {
                Some(0) => {}
                Some(wait) => thread::park_timeout(Duration::from_nanos(wait)),
                None => thread::park(),
            }
        }
        expired
    }
}

#[derive(Default)]
struct Tally {
    written: AtomicU64,
    replaced: AtomicU64,
    removed: AtomicU64,
    hits: AtomicU64,
}

/// What one thread of a server does: reads, writes on a miss, removes now and then.
fn serve(cache: &Cache<u64, String>, clock: &SystemClock, worker: u64, tally: &Tally) {
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    for request in 0..20_000 {
        let key = (request * 31 + worker * 7) % 5_000;
        let now = clock.now();
        if let Some((value, deadline)) = cache.get(&key, now) {
            assert!(now < deadline && value == format!("value {key}"));
            count(&tally.hits);
        } else {
            let ttl = nanoseconds(Duration::from_millis(1 + key % 50));
            count(&tally.written);
            if cache.insert(key, format!("value {key}"), now + ttl) {
                count(&tally.replaced);
            }
        }
        if request % 100 == 99 && cache.remove(&key).is_some() {
            count(&tally.removed);
        }
    }
}

fn main() {
    let clock = SystemClock::new();
    let cache = Cache::new(clock.now(), thread::current());
    let (tally, stop) = (Tally::default(), AtomicBool::new(false));

    let swept = thread::scope(|scope| {
        let workers = (0..4).map(|worker| {
            let (cache, clock, tally) = (&cache, &clock, &tally);
            scope.spawn(move || serve(cache, clock, worker, tally))
        });
        let workers: Vec<_> = workers.collect();
        scope.spawn(|| {
            // All of them first: the sweeper must be stopped even if a request failed.
            let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            stop.store(true, Ordering::Release);
            cache.sweeper.unpark();
            assert!(ends.iter().all(Result::is_ok), "no request fails");
        });
        cache.run_sweeper(&clock, &stop)
    });

    // The end of time, for what is left.
    let mut left = 0;
    loop {
        let (expired, wait) = cache.sweep(u64::MAX);
        left += expired;
        if wait.is_none() {
            break;
        }
    }
    let written = tally.written.into_inner();
    let (replaced, removed) = (tally.replaced.into_inner(), tally.removed.into_inner());
    println!(
        "{} hits; {written} entries written: {replaced} replaced, {removed} removed, {swept} swept \
         while requests ran, {left} afterwards",
        tally.hits.into_inner()
    );
    assert_eq!(written, replaced + removed + (swept + left) as u64);
}
