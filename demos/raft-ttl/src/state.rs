//! The replicated state: keys and values, and the TTLs of those that have one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher, RandomState};
use std::io::Write;
use std::sync::Arc;

use openraft::{Entry, EntryPayload};
use serde::{Deserialize, Serialize};
use timer_wheel::Millis;
use timer_wheel::ttl::{Context, TtlError, TtlQueue};

use crate::disk::Cause;
use crate::frame::from_bytes;
use crate::time::{self, NS_PER_MS};
use crate::types::{Answer, Command, Expired, Item, LogId, Membership, NodeId, Stamped, TypeConfig, check_length};

/// A value and the index of the entry that set it, or its TTL, last.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub struct Record {
    pub value: Arc<str>,
    /// The index that an expiry must name to count.
    pub index: u64,
    /// When its TTL began and how long it is, in milliseconds, if it has one.
    ttl: Option<(u64, u64)>,
}

type Records = BTreeMap<String, Record>;

/// A snapshot: the latest stamp, and the records, which say their TTLs.
pub(crate) type Image = (u64, Records);

/// What a replica knows. All but the counts, and the phases within `ttls`, follows from the log.
pub struct State {
    pub(crate) records: Records,
    /// The TTL layer: an entry for each record that has a TTL, under the same index. Strangers choose the keys.
    pub ttls: TtlQueue<String, Millis, RandomState>,
    /// A number that replicas have in common that applied the same log, and hardly any others. It is the sum over the
    /// records, kept up to date with each, so that to tell it costs nothing.
    pub(crate) digest: u64,
    /// The latest stamp.
    stamp_ms: u64,
    pub(crate) applied: Option<LogId>,
    pub(crate) membership: Membership,
    /// Where each expiry is told, if anybody listens.
    pub(crate) tell: Option<Box<dyn Write + Send>>,
    /// How many there were since the start.
    pub(crate) expired: u64,
    /// Entries of the log that were batches of expiries, since the start.
    pub(crate) batches: u64,
    /// Expiries in them that found their key gone or set anew.
    pub(crate) overtaken: u64,
    /// Answers to reads, since the start.
    pub(crate) reads: u64,
}

impl State {
    /// Nothing yet, at a time that is certainly over. The layer's time is that of the cluster, and does not go back.
    pub(crate) fn new(origin_ns: u64) -> Self {
        Self {
            records: Records::new(),
            ttls: TtlQueue::new(origin_ns),
            digest: 0,
            stamp_ms: 0,
            applied: None,
            membership: Membership::default(),
            tell: None,
            expired: 0,
            batches: 0,
            overtaken: 0,
            reads: 0,
        }
    }

    /// Applies an entry of the log, on every replica alike.
    pub(crate) fn apply(&mut self, entry: Entry<TypeConfig>) -> Answer {
        self.applied = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => Answer::Done,
            EntryPayload::Membership(membership) => {
                self.membership = Membership::new(Some(entry.log_id), membership);
                Answer::Done
            }
            EntryPayload::Normal(Stamped { stamp_ms, command }) => {
                // A leader whose time was late would have its TTLs end early under the next.
                self.stamp_ms = self.stamp_ms.max(stamp_ms);
                let written = self.write(entry.log_id.index, self.stamp_ms, command);
                written.unwrap_or_else(|reason| Answer::Refused(reason.to_string()))
            }
        }
    }

    /// Most of what is refused here is refused before it is proposed already.
    fn write(&mut self, index: u64, stamp_ms: u64, command: Command) -> Result<Answer, Cause> {
        match command {
            Command::Put(items) => {
                items.iter().try_for_each(Item::check)?;
                for Item { key, value, ttl_ms } in items {
                    let ttl = ttl_ms.map(|ttl_ms| (stamp_ms, ttl_ms));
                    self.set(key, Record { value: value.into(), index, ttl })?;
                }
            }
            Command::Touch { key, ttl_ms } => {
                // A key that had no TTL gets one.
                let Some(record) = self.records.get(&key) else { return Ok(Answer::Missing) };
                let value = Arc::clone(&record.value);
                self.set(key, Record { value, index, ttl: Some((stamp_ms, ttl_ms)) })?;
            }
            Command::Delete(key) if self.delete(&key).is_none() => return Ok(Answer::Missing),
            Command::Delete(_) => {}
            Command::Expire { expiries, by } => {
                self.batches += 1;
                for (key, index) in expiries {
                    self.expire(key, index, by);
                }
                if let Some(tell) = &mut self.tell {
                    let _ = tell.flush();
                }
            }
            Command::Join { key, parts, ttl_ms } => {
                let values = parts.iter().map(|part| Some(&*self.records.get(part)?.value));
                let values: Option<Vec<&str>> = values.collect();
                let values = values.ok_or("a part of the value is not there, or not any more")?;
                // Before it is joined: the parts may be one and the same, many times.
                check_length(values.iter().map(|value| value.len()).sum())?;
                let value = values.concat();
                for part in parts {
                    self.delete(&part);
                }
                return self.write(index, stamp_ms, Command::Put(vec![Item { key, value, ttl_ms }]));
            }
        }
        Ok(Answer::Done)
    }

    /// Puts a record in the place of the one that there was.
    fn set(&mut self, key: String, record: Record) -> Result<(), TtlError> {
        if let Some((stamp_ms, ttl_ms)) = record.ttl {
            // The layer's clock is the time of the cluster. So a TTL begins at its stamp on all replicas alike, whenever the
            // entry arrived and in a replay too.
            self.ttls.init(key.clone(), record.index, ttl_ms, Context::new(ns(stamp_ms)))?;
        } else {
            self.ttls.remove(&key);
        }
        self.take(&key);
        self.digest = self.digest.wrapping_add(digest(&key, &record));
        self.records.insert(key, record);
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Option<Record> {
        self.ttls.remove(key);
        self.take(key)
    }

    /// Takes a record out, its TTL left where it is.
    fn take(&mut self, key: &str) -> Option<Record> {
        let record = self.records.remove(key)?;
        self.digest = self.digest.wrapping_sub(digest(key, &record));
        Some(record)
    }

    /// Deletes a key if it still carries this index. The layer is told in either case.
    fn expire(&mut self, key: String, index: u64, by: NodeId) {
        self.ttls.applied(&key, index);
        if self.records.get(&key).is_none_or(|record| record.index != index) {
            self.overtaken += 1;
        } else if let Some(Record { ttl, .. }) = self.take(&key) {
            self.expired += 1;
            let Some(tell) = &mut self.tell else { return };
            let due_ms = ttl.map_or(0, |(stamp_ms, ttl_ms)| stamp_ms.saturating_add(ttl_ms));
            let expired = Expired { key, index, by, due_ms, at_us: time::wall_us_now() };
            // The node goes on if nobody listens any more.
            let _ = serde_json::to_writer(&mut *tell, &expired);
            let _ = tell.write_all(b"\n");
        }
    }

    /// A copy to be written without keeping others from the state.
    pub(crate) fn image(&self) -> Image {
        (self.stamp_ms, self.records.clone())
    }

    /// Puts a snapshot in the place of everything, the timers included.
    pub(crate) fn restore(
        &mut self,
        snapshot: &[u8],
        applied: Option<LogId>,
        membership: Membership,
    ) -> Result<(), Cause> {
        let (stamp_ms, records): Image = from_bytes(snapshot)?;
        // Each TTL begins at its stamp again. `TtlQueue::restore` is for replicas whose clocks have nothing in common.
        self.ttls.clear();
        (self.records, self.digest) = (Records::new(), 0);
        for (key, record) in records {
            self.set(key, record)?;
        }
        (self.stamp_ms, self.applied, self.membership) = (stamp_ms, applied, membership);
        Ok(())
    }
}

fn ns(ms: u64) -> u64 {
    ms.saturating_mul(NS_PER_MS)
}

/// The part that a record has in the digest of all. O(length).
fn digest(key: &str, record: &Record) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, record).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::to_bytes;
    use crate::limits::MAX_VALUE;
    use crate::types::DiskId;
    use openraft::CommittedLeaderId;
    use std::collections::BTreeSet;

    /// Its stamp is a thousand milliseconds and its index.
    fn apply(state: &mut State, index: u64, command: Command) -> Answer {
        apply_at(state, 1_000 + index, index, command)
    }

    fn apply_at(state: &mut State, stamp_ms: u64, index: u64, command: Command) -> Answer {
        let log_id = LogId::new(CommittedLeaderId::new(1, DiskId(1)), index);
        let stamped = Stamped { stamp_ms, command };
        state.apply(Entry { log_id, payload: EntryPayload::Normal(stamped) })
    }

    fn put(key: &str, value: &str, ttl_ms: impl Into<Option<u64>>) -> Command {
        Command::Put(vec![Item { key: key.to_owned(), value: value.to_owned(), ttl_ms: ttl_ms.into() }])
    }

    #[test]
    fn digest_that_is_kept_is_that_of_the_records() {
        let mut state = State::new(0);
        let key = || "a".to_owned();
        let expire = |index| Command::Expire { expiries: vec![(key(), index)], by: 1 };
        let touch = Command::Touch { key: key(), ttl_ms: 70 };
        let put = [put("a", "one", None), put("b", "two", 50), put("a", "one", 50), put("a", "other", 50)];
        let mut seen = BTreeSet::from([0]);
        for (index, command) in (1..).zip(put.into_iter().chain([touch, expire(4), expire(5), Command::Delete(key())]))
        {
            apply(&mut state, index, command);
            let mut other = State::new(7);
            other.restore(&to_bytes(&state.image()).unwrap(), state.applied, Membership::default()).unwrap();
            assert_eq!(other.digest, state.digest, "after {index}");
            seen.insert(state.digest);
        }
        // An expiry of another index and a key that is gone change nothing; all else has another one.
        assert_eq!(seen.len(), 7, "{seen:x?}");
    }

    #[test]
    fn ttl_begins_at_its_stamp_and_no_earlier_than_the_latest_also_after_a_snapshot() {
        let mut state = State::new(0);
        apply_at(&mut state, 2_000, 1, put("a", "one", 50));
        // The layer's time has come further than that meanwhile.
        let mut other = State::new(ns(2_020) + 1);
        other.restore(&to_bytes(&state.image()).unwrap(), state.applied, Membership::default()).unwrap();
        for state in [&mut state, &mut other] {
            apply_at(state, 1_000, 2, put("b", "two", 50));
            for key in ["a", "b"] {
                assert_eq!(state.ttls.remaining(key, ns(2_030)), Some(ns(20)));
            }
        }
    }

    #[test]
    fn parts_are_joined_at_once_or_not_at_all() {
        let mut state = State::new(0);
        apply(&mut state, 1, put("a", "one ", 50));
        apply(&mut state, 2, put("b", "two", 50));
        let join = |parts: &[&str]| {
            let parts = parts.iter().map(|&part| part.to_owned()).collect();
            Command::Join { key: "a".to_owned(), parts, ttl_ms: Some(70) }
        };
        let before = state.digest;
        for parts in [&["a", "none"][..], &["a"; MAX_VALUE / 4 + 1]] {
            assert!(matches!(apply(&mut state, 3, join(parts)), Answer::Refused(_)));
            assert_eq!(state.digest, before);
        }
        assert_eq!(apply(&mut state, 4, join(&["a", "b", "a"])), Answer::Done);
        let all = (&*state.records["a"].value, state.records.len(), state.ttls.len());
        assert_eq!(all, ("one twoone ", 1, 1));
        assert_eq!(state.ttls.remaining("a", ns(1_004)), Some(ns(70)));
    }
}
