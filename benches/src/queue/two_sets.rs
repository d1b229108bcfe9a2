//! The design of Dongting's `TtlManager`, without its defects: two ordered sets and a map.
//!
//! One set holds the entries that wait for their deadline, the other those that are in flight, by when their answer is
//! overdue. Every change of an entry takes it out of one set and puts it into one. It keeps of an entry what the rules name
//! (T1 in `docs/ttl.md`), and leaves out what is not measured: refused proposals, changes of role, snapshots.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use timer_wheel::ttl::{Context, DefaultHashBuilder, TtlConfig};

use super::ttl::{Layer, Proposal};
use crate::workload::MILLISECOND;

/// An entry, and its place in one of the sets.
#[derive(Debug)]
struct Info {
    index: u64,
    #[expect(dead_code, reason = "an entry has it, and weighs as much")]
    kept: (Context, u64),
    /// Its deadline, or while it is in flight when its answer is overdue.
    at: u64,
    sequence: u64,
    is_in_flight: bool,
}

/// Keys with a TTL, in two ordered sets. Every operation is O(log n).
///
/// Invariant: each entry of the map is in one of the sets, where its place says.
#[derive(Debug)]
pub struct TwoSets {
    config: TtlConfig,
    next_sequence: u64,
    map: HashMap<u32, Info, DefaultHashBuilder>,
    queued: BTreeSet<(u64, u64, u32)>,
    in_flight: BTreeSet<(u64, u64, u32)>,
}

impl TwoSets {
    fn info(&mut self, index: u64, ttl_ms: u64, ctx: Context) -> Info {
        let at = ctx.created_ns.saturating_add(ttl_ms.saturating_mul(MILLISECOND));
        self.next_sequence += 1;
        Info { index, kept: (ctx, ttl_ms), at, sequence: self.next_sequence, is_in_flight: false }
    }

    /// Takes an entry out of the set that it is in.
    fn withdraw(&mut self, key: u32, at: u64, sequence: u64, is_in_flight: bool) {
        let set = if is_in_flight { &mut self.in_flight } else { &mut self.queued };
        set.remove(&(at, sequence, key));
    }
}

impl Layer for TwoSets {
    const NAME: &'static str = "two-sets";
    type Key = u32;

    fn new() -> Self {
        Self {
            config: TtlConfig::default(),
            next_sequence: 0,
            map: HashMap::default(),
            queued: BTreeSet::new(),
            in_flight: BTreeSet::new(),
        }
    }

    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> u32 {
        let info = self.info(index, ttl_ms, ctx);
        if let Entry::Vacant(entry) = self.map.entry(key) {
            self.queued.insert((info.at, info.sequence, key));
            entry.insert(info);
        }
        key
    }

    fn update(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> bool {
        let info = self.info(index, ttl_ms, ctx);
        let Some(known) = self.map.get_mut(&key).filter(|known| known.index < index) else {
            return false;
        };
        let place = (info.at, info.sequence, key);
        let old = std::mem::replace(known, info);
        self.withdraw(key, old.at, old.sequence, old.is_in_flight);
        self.queued.insert(place)
    }

    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<u32>>) -> bool {
        let overdue = now.saturating_add(self.config.pending_timeout.as_nanos() as u64);
        for _ in 0..self.config.expire_batch {
            let Some(&(at, sequence, key)) = self.queued.first().filter(|(at, ..)| *at <= now) else {
                return false;
            };
            self.queued.pop_first();
            self.in_flight.insert((overdue, sequence, key));
            let info = self.map.get_mut(&key).expect("every place has an entry");
            debug_assert_eq!(info.at, at);
            (info.at, info.is_in_flight) = (overdue, true);
            due.push((key, info.index, key));
        }
        true
    }

    fn applied(&mut self, (key, index, _): Proposal<u32>) {
        if self.map.get(&key).is_some_and(|info| info.index == index) {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: u32) -> Option<u32> {
        let info = self.map.remove(&key)?;
        self.withdraw(key, info.at, info.sequence, info.is_in_flight);
        Some(key)
    }

    fn clear(&mut self) {
        self.map.clear();
        self.queued.clear();
        self.in_flight.clear();
    }
}
