//! A cache without values, whose entries expire by a queue of timers.
//!
//! Before the cache serves a request it advances its queue to the request's time, so no request meets an expired
//! entry. Keys are dense numbers: the entries are a plain table, and only a bounded cache keeps a list of recent use as
//! well. The cache is as cheap as possible, so that the costs of the queues show.
//!
//! Operations mean what they mean to memcached. An `add` of a present key, a change of its value and a hit are
//! accesses; accesses count for eviction, and start the TTL anew if the policy says so.
//!
//! A cache on an index wheel might keep a renewed deadline to itself and rearm the timer that fires too early. Timers of
//! equal deadline would then fire in another order than on the other queues, so the queue is told of every renewal.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use lru::LruCache;
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use timer_wheel_bench::queue::Queue;

use crate::figure::NS_PER_S;
use crate::trace::{KeyId, Operation, Request};

/// What starts an entry's TTL anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Expire {
    /// Writes
    AfterWrite,
    /// Writes and accesses (an idle timeout)
    AfterAccess,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// What starts an entry's TTL anew.
    pub(crate) expire: Expire,
    /// The TTL of all entries, instead of what the requests say.
    pub(crate) ttl_ns: Option<u64>,
    /// The most entries, present at once.
    pub(crate) capacity: Option<NonZeroUsize>,
}

impl Policy {
    /// When an entry that gets this TTL, in seconds, at this time expires; never without a TTL.
    fn deadline_ns(&self, at_ns: u64, ttl_s: u32) -> Option<u64> {
        let of_the_request = (ttl_s > 0).then(|| u64::from(ttl_s) * NS_PER_S);
        self.ttl_ns.or(of_the_request).map(|ttl_ns| at_ns + ttl_ns)
    }
}

/// Observes a cache and its queue, and changes nothing. What an observer ignores costs nothing.
pub(crate) trait Observer {
    fn advance_begins(&mut self) {}
    fn advanced(&mut self, _now_ns: u64) {}
    fn scheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}
    fn rescheduled(&mut self, _key: KeyId, _deadline_ns: u64) {}
    fn cancelled(&mut self, _key: KeyId) {}
    /// A key's timer fired, with the deadline the queue reports for it, on the way to a time.
    fn expired(&mut self, _now_ns: u64, _key: KeyId, _deadline_ns: u64) {}
}

impl Observer for () {}

/// What became of the requests, and of the entries.
///
/// Hits and misses are look-ups, and `writes` all other requests, whether they wrote or not. Entries made (`inserts`)
/// are those expired, evicted, deleted and left; `refreshes` are new deadlines of entries that were present.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub(crate) struct Counts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) writes: u64,
    pub(crate) inserts: u64,
    pub(crate) refreshes: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
    pub(crate) deleted: u64,
    pub(crate) left: u64,
}

#[derive(Clone, Copy, Debug)]
enum Entry<K> {
    Absent,
    /// Present, without a deadline.
    Lasting,
    /// Present, until its timer fires.
    Expiring {
        timer: K,
        ttl_s: u32,
    },
}

/// Keys in order of use.
type Recency = LruCache<KeyId, (), FxBuildHasher>;

/// The cache.
///
/// Invariant: an entry is `Expiring` exactly while its timer is set.
/// Invariant: a bounded cache's `recency` holds exactly the keys that are present.
pub(crate) struct Cache<Q: Queue<KeyId>> {
    queue: Q,
    policy: Policy,
    entries: Vec<Entry<Q::Key>>,
    recency: Option<Recency>,
    counts: Counts,
}

impl<Q: Queue<KeyId>> Cache<Q> {
    /// An empty cache for keys below a number.
    pub(crate) fn new(queue: Q, policy: Policy, keys: u32) -> Self {
        Self {
            queue,
            policy,
            entries: vec![Entry::Absent; keys as usize],
            // Unbounded, because a bounded one would set its whole capacity aside at once.
            recency: policy.capacity.map(|_| LruCache::unbounded_with_hasher(FxBuildHasher)),
            counts: Counts::default(),
        }
    }

    /// What became of the requests so far, but for the entries that are left.
    pub(crate) fn events(&self) -> Counts {
        self.counts
    }

    pub(crate) fn counts(&self) -> Counts {
        let is_there = |entry: &&Entry<_>| !matches!(entry, Entry::Absent);
        Counts { left: self.entries.iter().filter(is_there).count() as u64, ..self.counts }
    }

    pub(crate) fn queue(&self) -> &Q {
        &self.queue
    }

    /// Serves one request, none of which may be earlier than the one before.
    pub(crate) fn serve(&mut self, request: Request, observer: &mut impl Observer) {
        self.advance(request.at_ns, observer);
        let is_present = !matches!(self.entries[request.key.index()], Entry::Absent);
        let is_look_up = matches!(request.operation, Operation::Get | Operation::Fetch);
        self.counts.writes += u64::from(!is_look_up);
        match (request.operation, is_present) {
            (Operation::Get | Operation::Fetch, true) => {
                self.counts.hits += 1;
                self.access(request, observer);
            }
            (Operation::Get, false) => self.counts.misses += 1,
            (Operation::Fetch, false) => {
                self.counts.misses += 1;
                self.insert(request, observer);
            }
            (Operation::Set | Operation::Add, false) => self.insert(request, observer),
            (Operation::Set | Operation::Replace, true) => self.overwrite(request, observer),
            (Operation::Add | Operation::Modify, true) => self.access(request, observer),
            (Operation::Delete, true) => {
                self.counts.deleted += 1;
                if let Some(recency) = &mut self.recency {
                    recency.pop(&request.key);
                }
                self.remove(request.key, observer);
            }
            (Operation::Replace | Operation::Modify | Operation::Delete, false) => {}
        }
    }

    pub(crate) fn advance(&mut self, now_ns: u64, observer: &mut impl Observer) {
        observer.advance_begins();
        self.queue.advance(now_ns, |deadline_ns, key| {
            observer.expired(now_ns, key, deadline_ns);
            self.counts.expired += 1;
            self.entries[key.index()] = Entry::Absent;
            if let Some(recency) = &mut self.recency {
                recency.pop(&key);
            }
        });
        observer.advanced(now_ns);
    }

    fn insert(&mut self, request: Request, observer: &mut impl Observer) {
        let key = request.key;
        let deadline_ns = self.policy.deadline_ns(request.at_ns, request.ttl_s);
        self.counts.inserts += 1;
        self.expire_at(key, deadline_ns, request.ttl_s, observer);
        let (Some(recency), Some(capacity)) = (&mut self.recency, self.policy.capacity) else {
            return;
        };
        recency.put(key, ());
        if recency.len() > capacity.get()
            && let Some((victim, ())) = recency.pop_lru()
        {
            self.counts.evicted += 1;
            self.remove(victim, observer);
        }
    }

    fn overwrite(&mut self, request: Request, observer: &mut impl Observer) {
        let deadline_ns = self.policy.deadline_ns(request.at_ns, request.ttl_s);
        self.counts.refreshes += u64::from(deadline_ns.is_some());
        self.expire_at(request.key, deadline_ns, request.ttl_s, observer);
        self.use_again(request.key);
    }

    fn access(&mut self, request: Request, observer: &mut impl Observer) {
        let key = request.key;
        if self.policy.expire == Expire::AfterAccess
            && let Entry::Expiring { ttl_s, .. } = self.entries[key.index()]
        {
            let deadline_ns = self.policy.deadline_ns(request.at_ns, ttl_s);
            self.counts.refreshes += 1;
            self.expire_at(key, deadline_ns, ttl_s, observer);
        }
        self.use_again(key);
    }

    fn expire_at(&mut self, key: KeyId, deadline_ns: Option<u64>, ttl_s: u32, observer: &mut impl Observer) {
        let entry = &mut self.entries[key.index()];
        match (*entry, deadline_ns) {
            (Entry::Expiring { mut timer, .. }, Some(deadline_ns)) => {
                self.queue.reschedule(&mut timer, deadline_ns);
                *entry = Entry::Expiring { timer, ttl_s };
                observer.rescheduled(key, deadline_ns);
            }
            (Entry::Expiring { timer, .. }, None) => {
                *entry = Entry::Lasting;
                self.queue.cancel(timer);
                observer.cancelled(key);
            }
            (_, Some(deadline_ns)) => {
                let timer = self.queue.schedule(deadline_ns, key);
                *entry = Entry::Expiring { timer, ttl_s };
                observer.scheduled(key, deadline_ns);
            }
            (_, None) => *entry = Entry::Lasting,
        }
    }

    fn remove(&mut self, key: KeyId, observer: &mut impl Observer) {
        let entry = std::mem::replace(&mut self.entries[key.index()], Entry::Absent);
        if let Entry::Expiring { timer, .. } = entry {
            self.queue.cancel(timer);
            observer.cancelled(key);
        }
    }

    /// Notes an access, for eviction.
    fn use_again(&mut self, key: KeyId) {
        if let Some(recency) = &mut self.recency {
            recency.promote(&key);
        }
    }
}

#[cfg(test)]
mod tests;
