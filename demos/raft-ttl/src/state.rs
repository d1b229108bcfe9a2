//! The replicated state: keys and values, and the TTLs of those that have one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use openraft::{Entry, EntryPayload};
use serde::{Deserialize, Serialize};
use timer_wheel::ttl::{Context, Entry as Ttl, TtlConfig, TtlError, TtlKey, TtlSet};

use crate::disk::DiskError;
use crate::history::{Expired, History};
use crate::time::{self, Clock};
use crate::types::{Answer, Command, Item, LogId, Membership, NodeId, TypeConfig};

/// A value and the index of the entry that set it, or its TTL, last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The value.
    pub value: Arc<str>,
    /// The index that an expiry must name to count.
    pub index: u64,
    /// What names its entry in the TTL layer of this replica, if it has a TTL. Other replicas have other
    /// handles, so it is in no snapshot and in no digest.
    #[serde(skip)]
    ttl: Option<TtlKey>,
}

impl Hash for Record {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.value, self.index).hash(state);
    }
}

type Records = BTreeMap<String, Record>;

/// What a replica knows. All but the history, and the phases within `ttls`, follows from the log.
#[derive(Debug)]
pub struct State {
    pub(crate) records: Records,
    /// The TTL layer: an entry for each record that has a TTL, under the same index.
    pub ttls: TtlSet<String>,
    pub(crate) applied: Option<LogId>,
    pub(crate) membership: Membership,
    pub(crate) history: History,
    /// Entries of the log that were batches of expiries, since the start.
    pub(crate) batches: u64,
    /// Expiries in them that found their key gone or set anew.
    pub(crate) overtaken: u64,
}

impl State {
    /// Nothing yet.
    pub(crate) fn new(config: TtlConfig, clock: &Clock) -> Self {
        Self {
            records: Records::new(),
            ttls: TtlSet::new(clock.now_ns(), config),
            applied: None,
            membership: Membership::default(),
            history: History::default(),
            batches: 0,
            overtaken: 0,
        }
    }

    /// Applies an entry of the log, on every replica alike.
    pub(crate) fn apply(&mut self, entry: Entry<TypeConfig>, clock: &Clock) -> Answer {
        let received_ns = clock.received(entry.log_id.index);
        self.applied = Some(entry.log_id);
        match entry.payload {
            EntryPayload::Blank => Answer::Done,
            EntryPayload::Membership(membership) => {
                self.membership = Membership::new(Some(entry.log_id), membership);
                Answer::Done
            }
            EntryPayload::Normal(Command::Expire { expiries, by }) => {
                self.batches += 1;
                for (key, index) in expiries {
                    self.expire(key, index, by, received_ns.is_none());
                }
                Answer::Done
            }
            EntryPayload::Normal(command) => {
                // A TTL counts from the time of receipt. In a replay nobody knows that, and the wall
                // clock must do.
                let begin = |wall_ms| Context {
                    owner: 0,
                    leader_start_ms: wall_ms,
                    created_ns: received_ns.unwrap_or_else(|| clock.moment_of(wall_ms)),
                };
                self.write(entry.log_id.index, command, begin)
            }
        }
    }

    fn write(&mut self, index: u64, command: Command, begin: impl Fn(u64) -> Context) -> Answer {
        match command {
            Command::Put { items, wall_ms } => {
                // What is refused here is refused before it is proposed already.
                for item in &items {
                    if let Err(reason) = item.check() {
                        return Answer::Refused(reason);
                    }
                }
                for item in items {
                    if let Err(reason) = self.put(index, item, begin(wall_ms)) {
                        return Answer::Refused(reason);
                    }
                }
                Answer::Done
            }
            Command::Touch {
                key,
                ttl_ms,
                wall_ms,
            } => {
                let Some(record) = self.records.get_mut(&key) else {
                    return Answer::Missing;
                };
                // A key that had no TTL gets one.
                match set(
                    &mut self.ttls,
                    record.ttl,
                    index,
                    key,
                    ttl_ms,
                    begin(wall_ms),
                ) {
                    Ok(ttl) => (record.ttl, record.index) = (ttl, index),
                    Err(error) => return Answer::Refused(error.to_string()),
                }
                Answer::Done
            }
            Command::Delete { key } => match self.records.remove(&key) {
                Some(record) => {
                    record.ttl.map(|ttl| self.ttls.remove(ttl));
                    Answer::Done
                }
                None => Answer::Missing,
            },
            Command::Barrier | Command::Expire { .. } => Answer::Done, // expiries are applied above
        }
    }

    fn put(&mut self, index: u64, item: Item, ctx: Context) -> Result<(), String> {
        let known = self.records.get(&item.key).and_then(|record| record.ttl);
        let ttl = match item.ttl_ms {
            None => {
                known.map(|ttl| self.ttls.remove(ttl));
                None
            }
            Some(ttl_ms) => {
                let set = set(&mut self.ttls, known, index, item.key.clone(), ttl_ms, ctx);
                set.map_err(|error| error.to_string())?
            }
        };
        let value = item.value.into();
        self.records.insert(item.key, Record { value, index, ttl });
        Ok(())
    }

    /// How long a key has left at `now_ns`, in nanoseconds, if it has a TTL.
    pub fn remaining_ns(&self, key: &str, now_ns: u64) -> Option<u64> {
        self.ttls.remaining(self.records.get(key)?.ttl?, now_ns)
    }

    /// Notes that the proposal to expire a key at an index was refused.
    pub(crate) fn refused(&mut self, key: &str, index: u64, now_ns: u64) {
        if let Some(ttl) = self.records.get(key).and_then(|record| record.ttl) {
            self.ttls.failed(ttl, index, now_ns);
        }
    }

    /// Deletes a key if it still carries this index. The layer is told in either case.
    fn expire(&mut self, key: String, index: u64, by: NodeId, is_replay: bool) {
        let Some(record) = self.records.get(&key) else {
            self.overtaken += 1;
            return;
        };
        let is_same = record.index == index;
        let due_ms = record.ttl.map_or(0, |ttl| {
            let info = self.ttls.get(ttl);
            let entry =
                info.map(|info| info.entry.leader_start_ms.saturating_add(info.entry.ttl_ms));
            self.ttls.applied(ttl, index);
            entry.unwrap_or(0)
        });
        if !is_same {
            self.overtaken += 1;
            return;
        }
        self.records.remove(&key);
        self.history.add(Expired {
            key,
            index,
            by,
            due_ms,
            at_us: time::wall_us_now(),
            is_replay,
        });
    }

    /// A number that replicas have in common that applied the same log, and hardly any others. O(n).
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.records.hash(&mut hasher);
        for ttl in self.ttls.snapshot() {
            (&ttl.key, ttl.index, ttl.owner).hash(&mut hasher);
            (ttl.leader_start_ms, ttl.ttl_ms).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A copy to be [written](Image::write) without keeping others from the state.
    pub(crate) fn image(&self) -> Image {
        Image {
            records: self.records.clone(),
            ttls: self.ttls.snapshot().cloned().collect(),
        }
    }

    /// Puts a snapshot in the place of everything, the timers included.
    pub(crate) fn restore(
        &mut self,
        snapshot: &[u8],
        applied: Option<LogId>,
        membership: Membership,
        clock: &Clock,
    ) -> Result<(), DiskError> {
        let Image { mut records, ttls } = serde_json::from_slice(snapshot)?;
        let is_sound = |ttl: &Ttl<String>| {
            let record = records.get(&ttl.key);
            record.is_some_and(|record| record.index == ttl.index)
        };
        if !ttls.iter().all(is_sound) || !ttls.is_sorted_by(|one, next| one.key < next.key) {
            return Err("the snapshot has a TTL without its key, or two with one".into());
        }
        let keys: Vec<String> = ttls.iter().map(|ttl| ttl.key.clone()).collect();
        let handles = self
            .ttls
            .restore(ttls, clock.now_ns(), time::wall_ms_now())?;
        for (key, handle) in keys.iter().zip(handles) {
            if let Some(record) = records.get_mut(key) {
                record.ttl = Some(handle);
            }
        }
        self.records = records;
        self.applied = applied;
        self.membership = membership;
        Ok(())
    }
}

/// Sets or changes the TTL of a record that has this handle, or none, and answers the handle it has then.
fn set(
    ttls: &mut TtlSet<String>,
    known: Option<TtlKey>,
    index: u64,
    key: String,
    ttl_ms: u64,
    ctx: Context,
) -> Result<Option<TtlKey>, TtlError> {
    match known {
        Some(ttl) => ttls.update(index, ttl, ttl_ms, ctx).map(|_| known),
        None => ttls.init(index, key, ttl_ms, ctx),
    }
}

/// A snapshot, in JSON: the records, and the TTLs of those that have one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Image {
    records: Records,
    ttls: Vec<Ttl<String>>,
}

impl Image {
    pub(crate) fn write(&self) -> Result<Vec<u8>, DiskError> {
        Ok(serde_json::to_vec(self)?)
    }
}
