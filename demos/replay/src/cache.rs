//! A cache without values, whose entries expire by a queue of timers.
//!
//! Before it serves a request it advances its queue to the request's time, so that no request ever meets
//! an entry whose time is up. Keys are dense numbers, so that the entries are a plain table and a request
//! costs one look into it; only a bounded cache keeps a list of recent use beside it. All that is as cheap
//! as it can be, in order that the queue is what one sees.
//!
//! Operations mean what they mean to memcached. An `add` of a present key, a change of its value and a
//! hit are accesses; accesses count for eviction, and start the TTL anew if the policy says so.

use std::num::NonZeroUsize;

use crate::figure::NS_PER_S;
use crate::observer::Observer;
use crate::queue::{Backlog, Queue};
use crate::trace::{KeyId, Operation, Request};
use clap::ValueEnum;
use lru::LruCache;
use rustc_hash::FxBuildHasher;

/// What starts an entry's TTL anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Expire {
    /// Writes
    AfterWrite,
    /// Writes and accesses (an idle timeout)
    AfterAccess,
}

/// The rules a cache keeps.
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
        let ttl_ns = match self.ttl_ns {
            Some(ttl_ns) => ttl_ns,
            None if ttl_s == 0 => return None,
            None => u64::from(ttl_s) * NS_PER_S,
        };
        Some(at_ns + ttl_ns)
    }
}

/// What became of the requests, and of the entries.
///
/// Hits, misses and writes are all the requests; entries made are those expired, evicted, deleted and left.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    /// Look-ups that found their key.
    pub(crate) hits: u64,
    /// Look-ups that did not.
    pub(crate) misses: u64,
    /// Requests that are no look-ups, whatever they did.
    pub(crate) writes: u64,
    /// Entries made.
    pub(crate) inserts: u64,
    /// New deadlines for entries that were there.
    pub(crate) refreshes: u64,
    /// Entries whose time was up.
    pub(crate) expired: u64,
    /// Entries that made room for another.
    pub(crate) evicted: u64,
    /// Entries that a client removed.
    pub(crate) deleted: u64,
    /// Entries that are there.
    pub(crate) left: u64,
}

/// A key's place in the table.
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
pub(crate) struct Cache<Q: Queue> {
    queue: Q,
    policy: Policy,
    entries: Vec<Entry<Q::Key>>,
    recency: Option<Recency>,
    counts: Counts,
}

impl<Q: Queue> Cache<Q> {
    /// An empty cache for keys below a number.
    pub(crate) fn new(queue: Q, policy: Policy, keys: u32) -> Self {
        Self {
            queue,
            policy,
            entries: vec![Entry::Absent; keys as usize],
            // Unbounded, because a bounded one would set its whole capacity aside at once.
            recency: policy
                .capacity
                .map(|_| LruCache::unbounded_with_hasher(FxBuildHasher)),
            counts: Counts::default(),
        }
    }

    /// What became of the requests so far. O(keys).
    pub(crate) fn counts(&self) -> Counts {
        let is_there = |entry: &&Entry<_>| !matches!(entry, Entry::Absent);
        Counts {
            left: self.entries.iter().filter(is_there).count() as u64,
            ..self.counts
        }
    }

    /// The cache's queue.
    pub(crate) fn queue(&self) -> &Q {
        &self.queue
    }

    /// Serves one request, none of which may be earlier than the one before.
    pub(crate) fn serve(&mut self, request: Request, observer: &mut impl Observer) {
        self.advance(request.at_ns, observer);
        let is_present = !matches!(self.entries[request.key().index()], Entry::Absent);
        self.counts.writes += u64::from(!request.operation().is_look_up());
        match (request.operation(), is_present) {
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
            (Operation::Delete, true) => self.delete(request.key(), observer),
            (Operation::Replace | Operation::Modify | Operation::Delete, false) => {}
        }
    }

    /// Lets everything expire that is due.
    pub(crate) fn advance(&mut self, now_ns: u64, observer: &mut impl Observer) {
        loop {
            observer.call_begins();
            let backlog = self.queue.advance(now_ns, |key, deadline_ns| {
                observer.expired(now_ns, key, deadline_ns);
                self.counts.expired += 1;
                self.entries[key.index()] = Entry::Absent;
                if let Some(recency) = &mut self.recency {
                    recency.pop(&key);
                }
            });
            observer.call_ended();
            if backlog == Backlog::Done {
                break;
            }
        }
        observer.advanced(now_ns);
    }

    fn insert(&mut self, request: Request, observer: &mut impl Observer) {
        let key = request.key();
        self.counts.inserts += 1;
        self.entries[key.index()] = Entry::Lasting;
        if let Some(deadline_ns) = self.policy.deadline_ns(request.at_ns, request.ttl_s) {
            self.schedule(key, deadline_ns, request.ttl_s, observer);
        }
        self.make_room_for(key, observer);
    }

    fn schedule(&mut self, key: KeyId, deadline_ns: u64, ttl_s: u32, observer: &mut impl Observer) {
        let timer = self.queue.schedule(deadline_ns, key);
        self.entries[key.index()] = Entry::Expiring { timer, ttl_s };
        observer.scheduled(key, deadline_ns);
    }

    fn overwrite(&mut self, request: Request, observer: &mut impl Observer) {
        let key = request.key();
        let ttl_s = request.ttl_s;
        let deadline_ns = self.policy.deadline_ns(request.at_ns, ttl_s);
        match (self.entries[key.index()], deadline_ns) {
            (Entry::Expiring { timer, .. }, Some(deadline_ns)) => {
                self.entries[key.index()] = Entry::Expiring { timer, ttl_s };
                self.reschedule(key, timer, deadline_ns, observer);
            }
            (Entry::Expiring { timer, .. }, None) => {
                self.queue.cancel(timer);
                self.entries[key.index()] = Entry::Lasting;
                observer.cancelled(key);
            }
            (_, Some(deadline_ns)) => {
                self.counts.refreshes += 1;
                self.schedule(key, deadline_ns, ttl_s, observer);
            }
            (_, None) => {}
        }
        self.use_again(key);
    }

    fn access(&mut self, request: Request, observer: &mut impl Observer) {
        let key = request.key();
        if self.policy.expire == Expire::AfterAccess
            && let Entry::Expiring { timer, ttl_s } = self.entries[key.index()]
            && let Some(deadline_ns) = self.policy.deadline_ns(request.at_ns, ttl_s)
        {
            self.reschedule(key, timer, deadline_ns, observer);
        }
        self.use_again(key);
    }

    fn reschedule(
        &mut self,
        key: KeyId,
        timer: Q::Key,
        deadline_ns: u64,
        observer: &mut impl Observer,
    ) {
        self.counts.refreshes += 1;
        self.queue.reschedule(timer, deadline_ns);
        observer.rescheduled(key, deadline_ns);
    }

    fn delete(&mut self, key: KeyId, observer: &mut impl Observer) {
        self.counts.deleted += 1;
        if let Some(recency) = &mut self.recency {
            recency.pop(&key);
        }
        self.remove(key, observer);
    }

    /// Forgets a key and its timer.
    fn remove(&mut self, key: KeyId, observer: &mut impl Observer) {
        let entry = std::mem::replace(&mut self.entries[key.index()], Entry::Absent);
        if let Entry::Expiring { timer, .. } = entry {
            self.queue.cancel(timer);
            observer.cancelled(key);
        }
    }

    fn use_again(&mut self, key: KeyId) {
        if let Some(recency) = &mut self.recency {
            recency.promote(&key);
        }
    }

    /// Notes a newcomer, and evicts who was not used for longest if it is one too many.
    fn make_room_for(&mut self, newcomer: KeyId, observer: &mut impl Observer) {
        let (Some(recency), Some(capacity)) = (&mut self.recency, self.policy.capacity) else {
            return;
        };
        recency.put(newcomer, ());
        if recency.len() > capacity.get()
            && let Some((victim, ())) = recency.pop_lru()
        {
            self.counts.evicted += 1;
            self.remove(victim, observer);
        }
    }
}

#[cfg(test)]
mod tests;
