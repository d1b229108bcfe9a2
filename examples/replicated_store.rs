//! The TTL layer around a log: what a replicated store does with each entry, with a snapshot, and in the loop that
//! proposes.
//!
//! One replica stands for all, and its log commits whatever is proposed. `demos/raft-ttl` has the same on a consensus
//! engine.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features ttl`

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use timer_wheel::ttl::{Context, Entry, Role, TtlConfig, TtlError, TtlKey, TtlSet};
use timer_wheel::{Clock, SystemClock};

/// Expiries to be proposed: each key with the index that its record must still have.
type Expiries = Vec<(String, u64)>;

/// An entry of the log.
enum Command {
    Set {
        key: String,
        value: String,
        ttl_ms: u64,
        /// The leader's wall clock when it proposed the command.
        wall_ms: u64,
    },
    Delete(String),
    Expire(Expiries),
}

/// What the engine tells the loop.
enum Event {
    /// The role has changed, or the term.
    Role(Role),
    /// An entry of the log, and its index.
    Committed(u64, Command),
    /// The log refused these.
    Refused(Expiries),
}

#[derive(Clone)]
struct Record {
    value: String,
    /// The index that set it.
    index: u64,
    /// `None` if it never expires.
    ttl: Option<TtlKey>,
}

struct Store {
    records: BTreeMap<String, Record>,
    ttls: TtlSet<String>,
}

impl Store {
    fn new(now: u64) -> Self {
        Self { records: BTreeMap::new(), ttls: TtlSet::new(now) }
    }

    fn handle(&self, key: &str) -> Option<TtlKey> {
        self.records.get(key)?.ttl
    }

    /// Applies an entry that this replica received at `received` on its monotonic clock. Every replica does.
    fn apply(&mut self, index: u64, command: Command, received: u64) -> Result<(), TtlError> {
        match command {
            Command::Set { key, value, ttl_ms, wall_ms } => {
                let context = Context::new(received).with_leader_start_ms(wall_ms);
                let ttl = match self.handle(&key) {
                    Some(handle) if ttl_ms == 0 => self.ttls.remove(handle).and(None),
                    Some(handle) => self.ttls.update(handle, index, ttl_ms, context).map(|_| Some(handle))?,
                    None => self.ttls.init(key.clone(), index, ttl_ms, context)?,
                };
                self.records.insert(key, Record { value, index, ttl });
            }
            Command::Delete(key) => {
                self.handle(&key).and_then(|handle| self.ttls.remove(handle));
                self.records.remove(&key);
            }
            Command::Expire(expiries) => {
                for (key, index) in expiries {
                    // Whatever the index of the record, so that no proposal stays pending.
                    self.handle(&key).map(|handle| self.ttls.applied(handle, index));
                    if self.records.get(&key).is_some_and(|record| record.index == index) {
                        self.records.remove(&key);
                    }
                }
            }
        }
        Ok(())
    }

    /// Replaces everything by a snapshot: records and TTLs of one moment.
    fn install(
        &mut self,
        mut records: BTreeMap<String, Record>,
        ttls: Vec<Entry<String>>,
        (now, wall_ms): (u64, u64),
    ) -> Result<(), TtlError> {
        let keys: Vec<String> = ttls.iter().map(|entry| entry.key.clone()).collect();
        records.values_mut().for_each(|record| record.ttl = None);
        for (key, handle) in keys.iter().zip(self.ttls.restore(ttls, now, wall_ms)?) {
            records.get_mut(key).expect("a key with a TTL has a record").ttl = Some(handle);
        }
        self.records = records;
        Ok(())
    }

    /// Runs on every replica until the engine stops. `propose` must not wait for the outcome.
    fn drive(
        &mut self,
        clock: &impl Clock,
        events: &Receiver<Event>,
        mut propose: impl FnMut(Expiries),
    ) -> Result<(), TtlError> {
        loop {
            let wait = self.ttls.wake_at().map_or(Duration::MAX, |at| clock.until(at));
            match events.recv_timeout(wait) {
                Ok(Event::Role(role)) => self.ttls.role_change(role, clock.now()),
                Ok(Event::Committed(index, command)) => self.apply(index, command, clock.now())?,
                Ok(Event::Refused(expiries)) => {
                    for (key, index) in expiries {
                        self.handle(&key).map(|handle| self.ttls.failed(handle, index, clock.now()));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let due: Expiries = self.ttls.poll(clock.now()).map(|expiry| (expiry.key, expiry.index)).collect();
            if !due.is_empty() {
                propose(due); // as one entry of the log
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = SystemClock::new();
    let mut store = Store::new(clock.now());
    let (engine, events) = mpsc::channel();
    engine.send(Event::Role(Role::Leader))?;
    let sessions = [("short", 5), ("refused once", 5), ("long", 60_000), ("deleted", 5), ("without a TTL", 0)];
    for (index, (key, ttl_ms)) in (1..).zip(sessions) {
        let set = Command::Set { key: key.into(), value: format!("session {index}"), ttl_ms, wall_ms: 0 };
        engine.send(Event::Committed(index, set))?;
    }
    engine.send(Event::Committed(6, Command::Delete("deleted".into())))?;

    let (mut engine, mut last, mut has_refused) = (Some(engine), 6, false);
    let mut impatient = TtlConfig::default(); // so that the program ends soon
    impatient.retry_delay = Duration::from_millis(10);
    store.ttls.set_config(impatient)?;
    store.drive(&clock, &events, |mut expiries| {
        let Some(open) = engine.take() else { return };
        let refused = expiries.iter().position(|(key, _)| key == "refused once");
        if let (false, Some(refused)) = (has_refused, refused) {
            has_refused = true;
            let refused = vec![expiries.remove(refused)];
            open.send(Event::Refused(refused)).expect("the loop runs");
        }
        last += 1;
        let is_last = has_refused && expiries.iter().any(|(key, _)| key == "refused once");
        open.send(Event::Committed(last, Command::Expire(expiries))).expect("the loop runs");
        engine = (!is_last).then_some(open); // closed after that one, so that the loop ends
    })?;
    assert!(store.records.keys().eq(["long", "without a TTL"]));

    // Another replica, half a minute after the leader set the TTL.
    let mut replica = Store::new(0);
    let ttls = store.ttls.snapshot().into_iter().cloned().collect();
    replica.install(store.records.clone(), ttls, (0, 30_000))?;
    let handle = replica.handle("long").ok_or("the TTL is kept")?;
    assert_eq!(replica.ttls.remaining(handle, 0), Some(30_000_000_000));
    println!("kept: {:?}", replica.records.values().map(|record| &record.value).collect::<Vec<_>>());
    Ok(())
}
