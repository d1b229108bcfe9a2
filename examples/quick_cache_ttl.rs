//! Gives each entry of [quick_cache] a time to live of its own, which that cache lacks: it evicts
//! by weight and use, a wheel beside it expires by time, and the two agree on what is there.
//!
//! [quick_cache]: https://docs.rs/quick_cache/0.7.0
//!
//! The cache stays as concurrent as it was: a read takes its lock for reading and no other. It is
//! sharded; so are the wheels, one a shard, and an insert evicts from its own shard only.
//!
//! What keeps them in step:
//!
//! - An entry carries its deadline and the key of its timer, the timer the key of its entry.
//! - A thread that changes a shard holds the lock of its wheel first and the cache's second.
//! - The cache's lifecycle hook runs under the cache's lock, so it only writes down whose timer is
//!   to go, for evicted, replaced and refused entries alike. The caller then cancels them.
//! - The wheel's advance removes an entry only if it still carries the timer that fired.
//! - All threads go by one clock. One whose time lags behind that of a wheel writes an entry that is
//!   overdue at once, no more.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel && cargo add quick_cache@0.7 rand@0.10 rand_pcg@0.10 --no-default-features`

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use timer_wheel::clock::nanoseconds;
use timer_wheel::{Budget, Caffeine, TimerKey, Wheel};

/// Seconds in the unit of the wheel.
const fn seconds(count: u64) -> u64 {
    nanoseconds(Duration::from_secs(count))
}

#[derive(Clone)]
struct Timed {
    value: Arc<[u8]>,
    deadline: u64,
    timer: TimerKey,
}

/// An entry weighs as much as its value has bytes.
#[derive(Clone)]
struct Bytes;

impl Weighter<u64, Timed> for Bytes {
    fn weight(&self, _: &u64, entry: &Timed) -> u64 {
        entry.value.len() as u64
    }
}

/// Writes down the entries that an insert drives out, and those it replaces.
#[derive(Clone)]
struct NoteGone;

impl Lifecycle<u64, Timed> for NoteGone {
    type RequestState = Vec<(u64, Timed)>;

    fn on_evict(&self, gone: &mut Self::RequestState, key: u64, entry: Timed) {
        gone.push((key, entry));
    }
}

struct TtlCache {
    cache: Cache<u64, Timed, Bytes, DefaultHashBuilder, NoteGone>,
    wheels: Vec<Mutex<Wheel<u64, Caffeine>>>,
}

impl TtlCache {
    fn new(entries: usize, bytes: u64) -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(entries)
            .weight_capacity(bytes)
            .shards(4)
            .build()
            .expect("both capacities are given");
        let cache = Cache::with_options(options, Bytes, DefaultHashBuilder::default(), NoteGone);
        let wheels = (0..cache.num_shards()).map(|_| Mutex::default()).collect();
        Self { cache, wheels }
    }

    fn wheel_of(&self, key: u64) -> MutexGuard<'_, Wheel<u64, Caffeine>> {
        let wheel = &self.wheels[self.cache.shard_index(&key)];
        wheel.lock().expect("no wheel is left broken")
    }

    /// Reads an entry that is not overdue, whether it has been swept or not.
    fn get(&self, key: u64, now: u64) -> Option<Arc<[u8]>> {
        let entry = self.cache.get(&key)?;
        (now < entry.deadline).then_some(entry.value)
    }

    /// Writes an entry that lives until `deadline`, if the cache admits it, and says how many
    /// entries gave way: evicted ones, the one of the same key, or this one.
    fn insert(&self, key: u64, value: Arc<[u8]>, deadline: u64) -> usize {
        let mut wheel = self.wheel_of(key);
        let entry = Timed { value, deadline, timer: wheel.schedule(deadline, key) };
        let mut gone = Vec::new();
        self.cache.insert_with_lifecycle(key, entry, &mut gone);
        for (evicted, entry) in &gone {
            let shards = [*evicted, key].map(|key| self.cache.shard_index(&key));
            assert_eq!(shards[0], shards[1], "a shard evicts its own entries");
            assert_eq!(wheel.cancel(entry.timer), Some(*evicted));
        }
        drop(wheel);
        gone.len() // and the values are dropped with no lock held
    }

    /// Takes an entry out. The hook is not told of that, so the timer is cancelled here.
    fn remove(&self, key: u64) -> Option<Arc<[u8]>> {
        let mut wheel = self.wheel_of(key);
        let (_, entry) = self.cache.remove(&key)?;
        wheel.cancel(entry.timer);
        Some(entry.value)
    }

    /// Removes what is overdue, within a budget that all shards share, and says how many entries that
    /// were and whether some are left.
    fn expire(&self, now: u64, budget: &mut Budget) -> (usize, bool) {
        let (mut expired, mut backlog) = (0, false);
        for wheel in &self.wheels {
            let mut wheel = wheel.lock().expect("no wheel is left broken");
            for timer in wheel.advance_with_budget(now, budget) {
                let is_its_entry = |entry: &Timed| entry.timer == timer.key;
                let removed = self.cache.remove_if(&timer.value, is_its_entry);
                assert!(removed.is_some(), "no timer is left without its entry");
                expired += 1;
            }
            backlog |= wheel.has_backlog();
        }
        (expired, backlog)
    }

    /// The number of timers: with nobody writing, that of entries.
    fn timers(&self) -> usize {
        let timers = |wheel: &Mutex<Wheel<_, _>>| wheel.lock().expect("not broken").len();
        self.wheels.iter().map(timers).sum()
    }
}

#[derive(Default)]
struct Tally {
    written: usize,
    gone: usize,
    removed: usize,
    expired: usize,
}

/// Ten minutes of a server in 80,000 requests, on any number of threads.
#[derive(Default)]
struct Requests(AtomicU64);

impl Requests {
    const NUMBER: u64 = 80_000;

    /// The number of the next request and when it comes, until there are no more. One counter for all
    /// threads is one clock: time goes on alike however they take turns.
    fn next(&self) -> Option<(u64, u64)> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let now = number * seconds(600) / Self::NUMBER;
        (number < Self::NUMBER).then_some((number, now))
    }
}

/// One thread of the server: pages that live for a minute, sessions for ten, errors for a second.
fn serve(cache: &TtlCache, requests: &Requests, seed: u64) -> Tally {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut tally = Tally::default();
    while let Some((number, now)) = requests.next() {
        let key = random.random_range(0..4_000u64).min(random.random_range(0..4_000));
        if cache.get(key, now).is_none() {
            let ttl = seconds([60, 600, 1][key as usize % 3]);
            let value = vec![0; 100 + key as usize % 900].into();
            tally.written += 1;
            tally.gone += cache.insert(key, value, now + ttl);
        }
        if number % 50 == 0 {
            tally.removed += usize::from(cache.remove(random.random_range(0..4_000)).is_some());
            tally.expired += cache.expire(now, &mut Budget::of_work(100)).0;
        }
    }
    tally
}

fn main() {
    let cache = TtlCache::new(2_000, 1_000_000);

    // The hook speaks of all that goes without our asking: here of an entry that is replaced, and
    // of one that is too heavy to be admitted.
    let value = |bytes| Arc::from(vec![0; bytes]);
    assert_eq!(cache.insert(1, value(10), seconds(5)), 0);
    assert_eq!(cache.insert(1, value(20), seconds(9)), 1);
    assert_eq!(cache.insert(2, value(900_000), seconds(9)), 1);
    assert_eq!((cache.cache.len(), cache.timers()), (1, 1));
    assert_eq!(cache.expire(seconds(5), &mut Budget::of_work(100)), (0, false), "replaced");
    assert_eq!(cache.get(1, seconds(9) - 1).map(|value| value.len()), Some(20));
    assert_eq!(cache.get(1, seconds(9)), None, "overdue, if not swept");
    assert_eq!(cache.expire(seconds(9), &mut Budget::of_work(100)), (1, false));

    let requests = Requests::default();
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let (cache, requests) = (&cache, &requests);
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || serve(cache, requests, seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no request fails")).collect()
    });
    let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
    let (written, gone, removed) = (sum(|t| t.written), sum(|t| t.gone), sum(|t| t.removed));
    let (expired, left) = (sum(|t| t.expired), cache.cache.len());
    println!(
        "{written} entries written: {gone} evicted or replaced, {removed} removed, {expired} \
         expired, {left} left, each with a timer"
    );
    assert_eq!(written, gone + removed + expired + left);
    assert_eq!(cache.timers(), left);
    // What follows from the requests alone; how many of each depends on how the threads meet.
    let happened = [gone, removed, expired, left].map(|count| count > 0);
    assert_eq!(happened, [true; 4]);

    // Everything ends, and nothing is left of it.
    let (mut last, mut backlog) = (0, true);
    while backlog {
        let (expired, more) = cache.expire(seconds(2_000), &mut Budget::of_work(100));
        (last, backlog) = (last + expired, more);
    }
    assert_eq!((last, cache.cache.len(), cache.timers()), (left, 0, 0));
}
