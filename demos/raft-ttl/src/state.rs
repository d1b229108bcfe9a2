//! The replicated state: keys and values, and the TTLs of those that have one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use openraft::{Entry, EntryPayload};
use serde::{Deserialize, Serialize};
use timer_wheel::ttl::{Context, TtlConfig, TtlQueue, decode};

use crate::disk::DiskError;
use crate::history::{Expired, History};
use crate::time::{self, Clock};
use crate::types::{Answer, Command, Item, LogId, Membership, NodeId, TypeConfig};

/// A value and the index of the entry that set it, or its TTL, last.
#[derive(Clone, Debug, Hash, Serialize, Deserialize)]
pub struct Record {
    /// The value.
    pub value: Arc<str>,
    /// The index that an expiry must name to count.
    pub index: u64,
}

type Records = BTreeMap<String, Record>;

/// What a replica knows. All but the history, and the phases within `ttls`, follows from the log.
#[derive(Debug)]
pub struct State {
    pub(crate) records: Records,
    /// The TTL layer: an entry for each record that has a TTL, under the same index.
    pub ttls: TtlQueue<String>,
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
            ttls: TtlQueue::new(clock.now_ns(), config),
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
                self.ttls.prefetch(expiries.iter().map(|(key, _)| key));
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
                match self.ttls.init(index, key, ttl_ms, begin(wall_ms)) {
                    Ok(_) => record.index = index,
                    Err(error) => return Answer::Refused(error.to_string()),
                }
                Answer::Done
            }
            Command::Delete { key } => {
                self.ttls.remove(&key);
                match self.records.remove(&key) {
                    Some(_) => Answer::Done,
                    None => Answer::Missing,
                }
            }
            Command::Barrier | Command::Expire { .. } => Answer::Done, // expiries are applied above
        }
    }

    fn put(&mut self, index: u64, item: Item, ctx: Context) -> Result<(), String> {
        match item.ttl_ms {
            None => drop(self.ttls.remove(&item.key)),
            Some(ttl_ms) => {
                let set = self.ttls.init(index, item.key.clone(), ttl_ms, ctx);
                set.map_err(|error| error.to_string())?;
            }
        }
        let value = item.value.into();
        self.records.insert(item.key, Record { value, index });
        Ok(())
    }

    /// Deletes a key if it still carries this index. The layer is told in either case.
    fn expire(&mut self, key: String, index: u64, by: NodeId, is_replay: bool) {
        let is_same = self
            .records
            .get(&key)
            .is_some_and(|record| record.index == index);
        if is_same {
            self.records.remove(&key);
            let due_ms = self.ttls.get(&key).map_or(0, |timer| {
                let entry = timer.entry;
                entry.leader_start_ms.saturating_add(entry.ttl_ms)
            });
            self.history.add(Expired {
                key: key.clone(),
                index,
                by,
                due_ms,
                at_us: time::wall_us_now(),
                is_replay,
            });
        } else {
            self.overtaken += 1;
        }
        self.ttls.applied(&key, index);
    }

    /// A number that replicas have in common that applied the same log, and hardly any others. O(n).
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.records.hash(&mut hasher);
        self.encoded_ttls().hash(&mut hasher);
        hasher.finish()
    }

    fn encoded_ttls(&self) -> Vec<u8> {
        self.ttls
            .encode(|key, bytes| bytes.extend_from_slice(key.as_bytes()))
    }

    /// A copy to be [written](Image::write) without keeping others from the state.
    pub(crate) fn image(&self) -> Image {
        Image {
            records: self.records.clone(),
            ttls: self.encoded_ttls(),
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
        let Image { records, ttls } = Image::read(snapshot)?;
        let entries = decode(&ttls, |key| String::from_utf8(key.to_vec()).ok())?;
        let is_sound = |key: &String, index| records.get(key).is_some_and(|it| it.index == index);
        if !entries
            .iter()
            .all(|entry| is_sound(&entry.key, entry.index))
        {
            return Err("the snapshot has a TTL without its key".into());
        }
        self.ttls
            .restore(entries, clock.now_ns(), time::wall_ms_now())?;
        self.records = records;
        self.applied = applied;
        self.membership = membership;
        Ok(())
    }
}

/// A snapshot: the number of bytes of the encoded TTLs in eight bytes, those, and the records in JSON.
#[derive(Debug)]
pub(crate) struct Image {
    records: Records,
    ttls: Vec<u8>,
}

impl Image {
    pub(crate) fn write(&self) -> Result<Vec<u8>, DiskError> {
        let mut bytes = (self.ttls.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.ttls);
        serde_json::to_writer(&mut bytes, &self.records)?;
        Ok(bytes)
    }

    fn read(bytes: &[u8]) -> Result<Self, DiskError> {
        let cut = || DiskError::from("the snapshot is cut short");
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
        let (ttls, records) = rest.split_at_checked(length).ok_or_else(cut)?;
        Ok(Self {
            records: serde_json::from_slice(records)?,
            ttls: ttls.to_vec(),
        })
    }
}
