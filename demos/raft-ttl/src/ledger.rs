//! What was acknowledged, what was seen, and whether that goes together: the books that the chaos and the
//! tests keep.

use std::collections::{BTreeMap, BTreeSet};

use std::io;

use tokio::time::Instant;

use crate::client::{self, Client, Failure};
use crate::cluster::Cluster;
use crate::history::Expired;
use crate::message::{Reply, Request};
use crate::time::wall_us_now;
use crate::types::{Item, NodeId};

/// What is known of a key that was written once.
#[derive(Debug)]
struct Written {
    is_acknowledged: bool,
    /// The wall-clock time before which it must not expire, in microseconds, if it has a TTL.
    not_before_us: Option<u64>,
}

/// All keys that were written, each once, and all that nodes told of their expiry.
#[derive(Debug, Default)]
pub struct Ledger {
    written: BTreeMap<String, Written>,
    /// By key, the indexes under which it expired.
    expired: BTreeMap<String, BTreeSet<u64>>,
    /// How far each node has told in its present life, and which expiries it has applied in it.
    heard: BTreeMap<NodeId, (u64, BTreeSet<(String, u64)>)>,
    early: u64,
    twice: u64,
}

/// The counts at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Keys that were written.
    pub attempted: u64,
    /// Those of which a node said that it was done.
    pub acknowledged: u64,
    /// Those of which nobody did.
    pub unsure: u64,
    /// Those that are known to have expired.
    pub expired: u64,
    /// Acknowledged ones that are neither there nor expired as they should.
    pub lost: u64,
    /// Those that came back: there though they expired, or expired under two indexes.
    pub resurrected: u64,
    /// Expiries before the TTL was over.
    pub early: u64,
    /// Expiries that a node applied more than once in one life.
    pub twice: u64,
}

impl Ledger {
    /// Writes a key that has not been written before, once, and says whether that was acknowledged.
    ///
    /// # Errors
    ///
    /// An answer to it that there should not be.
    pub async fn write(client: &mut Client, item: Item, deadline: Instant) -> Result<Self, Failure> {
        let mut ledger = Self::default();
        let not_before_us = item.ttl_ms.map(|ms| wall_us_now() + ms * 1_000);
        let key = item.key.clone();
        let written = client.lead(&Request::Put(vec![item]), deadline).await;
        let is_acknowledged = match written {
            Ok(Reply::Done { .. }) => true,
            Err(Failure::Unsure(_) | Failure::NoLeader(_)) => false,
            Ok(other) => return Err(Failure::Refused(format!("a write gives {other:?}"))),
            Err(failure) => return Err(failure),
        };
        let written = Written { is_acknowledged, not_before_us };
        ledger.written.insert(key, written);
        Ok(ledger)
    }

    /// Takes down that a write of several keys was acknowledged that began at this time.
    pub fn promise(&mut self, items: &[Item], began_us: u64) {
        for item in items {
            let written = Written { is_acknowledged: true, not_before_us: item.ttl_ms.map(|ms| began_us + ms * 1_000) };
            self.written.insert(item.key.clone(), written);
        }
    }

    /// Adds what was written elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.written.extend(other.written);
    }

    /// Asks a node for what it has not told yet. It may be down.
    pub async fn hear(&mut self, nodes: &Cluster, id: NodeId) {
        loop {
            let next = self.heard.entry(id).or_default().0;
            let asked = client::ask(nodes.address(id), &Request::History(next)).await;
            let Ok(Reply::History { first, expired, .. }) = asked else {
                return; // it will be asked again
            };
            if expired.is_empty() {
                return;
            }
            self.heard.entry(id).or_default().0 = first + expired.len() as u64;
            for expired in expired {
                self.note(id, expired);
            }
        }
    }

    fn note(&mut self, id: NodeId, expired: Expired) {
        let Expired { key, index, .. } = expired;
        let written = &self.written;
        let not_before_us = written.get(&key).and_then(|written| written.not_before_us);
        self.early += u64::from(not_before_us.is_some_and(|us| expired.at_us < us));
        self.expired.entry(key.clone()).or_default().insert(index);
        let applied = &mut self.heard.entry(id).or_default().1;
        self.twice += u64::from(!applied.insert((key, index)));
    }

    /// A node has lost its memory: it tells from the beginning.
    pub fn forget(&mut self, id: NodeId) {
        self.heard.remove(&id);
    }

    /// Up to so many keys that are known to have expired, from this one on.
    pub fn gone(&self, from: &str, most: usize) -> Vec<String> {
        let range = self.expired.range(from.to_owned()..);
        range.map(|(key, _)| key.clone()).take(most).collect()
    }

    /// How many keys are known to have expired.
    pub fn expired(&self) -> usize {
        self.expired.len()
    }

    /// The counts, when all TTLs are over, all nodes agree and each has been heard: no key with a TTL
    /// may be anywhere, and every acknowledged one must have expired; the others must be everywhere.
    ///
    /// # Errors
    ///
    /// When a node does not answer.
    pub async fn counts(&self, nodes: &Cluster) -> io::Result<Counts> {
        let mut counts = Counts { early: self.early, twice: self.twice, ..Counts::default() };
        let mut present = BTreeMap::<&str, usize>::new();
        let mut keys = 0;
        for (key, written) in &self.written {
            if written.not_before_us.is_some() {
                continue;
            }
            for id in nodes.ids() {
                let request = Request::Get { key: key.clone(), linearizable: false };
                if let Reply::Value { .. } = answer(nodes, id, &request).await? {
                    *present.entry(key).or_default() += 1;
                    keys += 1;
                }
            }
        }
        // Whatever else is there has a TTL, which is over.
        let statuses = nodes.statuses().await;
        if statuses.len() < nodes.ids().len() {
            let problem = "a node does not say how many keys it has";
            return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
        }
        let held: u64 = statuses.values().map(|status| status.keys).sum();
        counts.resurrected += held - keys;
        for (key, written) in &self.written {
            let expiries = self.expired.get(key).map_or(0, BTreeSet::len);
            counts.attempted += 1;
            counts.acknowledged += u64::from(written.is_acknowledged);
            counts.unsure += u64::from(!written.is_acknowledged);
            counts.expired += u64::from(expiries > 0);
            // Each key is written once, so it can expire under one index only.
            counts.resurrected += u64::from(expiries > 1);
            let is_safe = match written.not_before_us {
                Some(_) => expiries > 0,
                None => present.get(key.as_str()) == Some(&nodes.ids().len()),
            };
            counts.lost += u64::from(written.is_acknowledged && !is_safe);
        }
        Ok(counts)
    }
}

impl Counts {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        [self.lost, self.resurrected, self.early, self.twice] == [0; 4]
    }
}

/// Asks one node, a few times if others keep it from answering.
async fn answer(nodes: &Cluster, id: NodeId, request: &Request) -> io::Result<Reply> {
    for _ in 0..3 {
        match client::ask(nodes.address(id), request).await {
            Ok(Reply::Busy(_)) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            answer => return answer,
        }
    }
    client::ask(nodes.address(id), request).await
}
