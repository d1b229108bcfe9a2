//! TTLs as a queue: each call is an entry of the log, and each expiry is applied as soon as it is proposed.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use timer_wheel::ttl::{Context, DefaultHashBuilder, Outcome, Role, TtlConfig, TtlKey, TtlQueue, TtlSet};

use super::Need::{self, Budget, First, Horizon};
use super::{Order, Queue};
use crate::workload::MILLISECOND;

/// Keys with TTLs, on the leader.
pub trait Layer {
    /// The name under which it stands in tables.
    const NAME: &'static str;
    type Key: Copy;

    /// Without a key, at time 0.
    fn new() -> Self;
    /// Sets the TTL of a key that has none.
    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> Self::Key;
    /// Sets another TTL. `false` if there was none.
    fn update(&mut self, key: Self::Key, index: u64, ttl_ms: u64, ctx: Context) -> bool;
    /// Proposes what is due, and says whether more is.
    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<Self::Key>>) -> bool;
    /// Ends a TTL whose expiry has come back.
    fn applied(&mut self, proposal: Proposal<Self::Key>);
    fn remove(&mut self, key: Self::Key) -> Option<u32>;
}

/// An expiry that a poll proposes: what names its entry, the index, and the key.
pub type Proposal<N> = (N, u64, u32);

/// A layer and the log around it.
#[derive(Debug)]
pub struct Applied<L: Layer> {
    layer: L,
    index: u64,
    due: Vec<Proposal<L::Key>>,
}

/// By how much the layer's time is ahead, so that every deadline takes a TTL of a millisecond or more.
const AHEAD: u64 = MILLISECOND;

/// The TTL for a deadline, and the moment from which on it counts: the deadline is kept to the nanosecond.
#[inline]
fn lifetime(deadline: u64) -> (u64, Context) {
    (deadline / MILLISECOND + AHEAD / MILLISECOND, Context::new(deadline % MILLISECOND))
}

impl<L: Layer> Queue for Applied<L> {
    const NAME: &'static str = L::NAME;
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[First, Budget, Horizon];
    type Key = L::Key;

    fn new(_now: u64) -> Self {
        Self { layer: L::new(), index: 0, due: Vec::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> L::Key {
        let (ttl_ms, ctx) = lifetime(deadline);
        self.index += 1;
        self.layer.init(value, self.index, ttl_ms, ctx)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        loop {
            let has_more = self.layer.poll(now + AHEAD, &mut self.due);
            for proposal in self.due.drain(..) {
                self.layer.applied(proposal);
                fire(now, proposal.2);
            }
            if !has_more {
                return;
            }
        }
    }

    #[inline]
    fn cancel(&mut self, key: L::Key) -> Option<u32> {
        self.layer.remove(key)
    }

    #[inline(always)]
    fn reschedule(&mut self, key: &mut L::Key, deadline: u64) -> bool {
        let (ttl_ms, ctx) = lifetime(deadline);
        self.index += 1;
        self.layer.update(*key, self.index, ttl_ms, ctx)
    }
}

/// A layer of the library: what `init` gives becomes the name of the entry, and `$by` is how a call takes that name.
macro_rules! layer {
    ($layer:ident, $name:ty, |$key:ident, $given:ident| $named:expr, $field:ident, |$entry:ident| $by:expr) => {
        impl Layer for $layer<u32> {
            const NAME: &'static str = stringify!($layer);
            type Key = $name;

            fn new() -> Self {
                let mut layer = Self::new(0);
                layer.role_change(Role::Leader, 0);
                layer
            }

            #[inline]
            fn init(&mut self, $key: u32, index: u64, ttl_ms: u64, ctx: Context) -> $name {
                let $given = self.init($key, index, ttl_ms, ctx).expect("the TTL is not too long");
                $named
            }

            #[inline]
            fn update(&mut self, $entry: $name, index: u64, ttl_ms: u64, ctx: Context) -> bool {
                self.update($by, index, ttl_ms, ctx) == Ok(Outcome::Updated)
            }

            #[inline]
            fn poll(&mut self, now: u64, due: &mut Vec<Proposal<$name>>) -> bool {
                due.extend(self.poll(now).map(|it| (it.$field, it.index, it.key)));
                self.expiration_delay() == Some(0)
            }

            #[inline]
            fn applied(&mut self, ($entry, index, _): Proposal<$name>) {
                self.applied($by, index);
            }

            #[inline]
            fn remove(&mut self, $entry: $name) -> Option<u32> {
                self.remove($by)
            }
        }
    };
}
layer!(TtlSet, TtlKey, |key, given| given.expect("nor zero"), handle, |entry| entry);
layer!(TtlQueue, u32, |key, _given| key, key, |entry| &entry);

/// The design of Dongting's `TtlManager`, without its defects: two ordered sets and a map. Every operation is O(log n).
///
/// One set holds the entries that wait for their deadline, the other those that are in flight, by when their answer is
/// overdue. It keeps of an entry what the rules name (T1 in `docs/ttl.md`), and leaves out what is not measured:
/// refused proposals, changes of role, snapshots.
///
/// Invariant: each entry of the map is in one of the sets, where its place says.
#[derive(Debug, Default)]
pub struct TwoSets {
    config: TtlConfig,
    next_sequence: u64,
    map: HashMap<u32, Info, DefaultHashBuilder>,
    queued: BTreeSet<Place>,
    in_flight: BTreeSet<Place>,
}

/// The deadline, or while the entry is in flight when its answer is overdue; the sequence; the key.
type Place = (u64, u64, u32);

#[derive(Debug)]
struct Info {
    index: u64,
    #[expect(dead_code, reason = "an entry has it, and weighs as much")]
    kept: (Context, u64),
    place: Place,
    is_in_flight: bool,
}

impl TwoSets {
    fn info(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> Info {
        let at = ctx.created_ns.saturating_add(ttl_ms.saturating_mul(MILLISECOND));
        self.next_sequence += 1;
        Info { index, kept: (ctx, ttl_ms), place: (at, self.next_sequence, key), is_in_flight: false }
    }

    /// Takes an entry out of the set that it is in.
    fn withdraw(&mut self, info: &Info) {
        let set = if info.is_in_flight { &mut self.in_flight } else { &mut self.queued };
        set.remove(&info.place);
    }
}

impl Layer for TwoSets {
    const NAME: &'static str = "two-sets";
    type Key = u32;

    fn new() -> Self {
        Self::default()
    }

    fn init(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> u32 {
        let info = self.info(key, index, ttl_ms, ctx);
        if let Entry::Vacant(entry) = self.map.entry(key) {
            self.queued.insert(info.place);
            entry.insert(info);
        }
        key
    }

    fn update(&mut self, key: u32, index: u64, ttl_ms: u64, ctx: Context) -> bool {
        let info = self.info(key, index, ttl_ms, ctx);
        let Some(known) = self.map.get_mut(&key).filter(|known| known.index < index) else {
            return false;
        };
        let place = info.place;
        let old = std::mem::replace(known, info);
        self.withdraw(&old);
        self.queued.insert(place)
    }

    fn poll(&mut self, now: u64, due: &mut Vec<Proposal<u32>>) -> bool {
        let overdue = now.saturating_add(self.config.pending_timeout.as_nanos() as u64);
        for _ in 0..self.config.expire_batch {
            let Some(&(_, sequence, key)) = self.queued.first().filter(|(at, ..)| *at <= now) else {
                return false;
            };
            self.queued.pop_first();
            let place = (overdue, sequence, key);
            self.in_flight.insert(place);
            let info = self.map.get_mut(&key).expect("every place has an entry");
            (info.place, info.is_in_flight) = (place, true);
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
        self.withdraw(&info);
        Some(key)
    }
}
