//! What was acknowledged, what was seen, and whether that goes together: the books that the demonstrations, the
//! chaos and the tests keep.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::mem;

use tokio::time::Instant;

use crate::client::Client;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::message::{Reply, Request};
use crate::report;
use crate::time::wall_us_now;
use crate::types::{Command, Expired, Item, NodeId};

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
    /// By key, the indexes under which it expired, and who proposed that.
    expired: BTreeMap<String, BTreeMap<u64, NodeId>>,
    pub(crate) heard: BTreeMap<NodeId, Heard>,
    early: u64,
    twice: u64,
}

/// What one node has told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// How many expiries it has applied in its present life.
    expired: usize,
    /// How late they were, in microseconds, in its first life: what it applies after that is late because it was down.
    late_us: Vec<u64>,
    /// When it applied the last one by the wall clock, in microseconds.
    pub(crate) last_us: u64,
}

/// The counts at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub acknowledged: u64,
    /// Acknowledged ones that are neither there nor expired as they should.
    pub lost: u64,
    /// Those that came back: there though they expired, or expired under two indexes.
    pub resurrected: u64,
    /// Expiries before the TTL was over.
    pub early: u64,
    /// Expiries that a node applied more than once in one life, or that nodes applied by the word of different ones.
    pub twice: u64,
}

impl Ledger {
    /// Writes a key that has not been written before, once, and takes down whether that was acknowledged.
    pub async fn write(&mut self, client: &mut Client, item: Item, deadline: Instant) -> Result<(), Error> {
        let not_before_us = item.ttl_ms.map(|ms| wall_us_now() + ms * 1_000);
        let key = item.key.clone();
        let written = client.lead(&Request::Write(Command::Put(vec![item])), deadline).await;
        let is_acknowledged = match written {
            Ok(Reply::Done { .. }) => true,
            Err(Error::Unsure(_) | Error::Unanswered(_)) => false,
            other => return Err(Error::Broken(format!("a write gives {other:?}"))),
        };
        self.written.insert(key, Written { is_acknowledged, not_before_us });
        Ok(())
    }

    /// Takes down that a write of several keys was acknowledged that began at this time.
    pub fn promise(&mut self, items: &[Item], began_us: u64) {
        for item in items {
            let not_before_us = item.ttl_ms.map(|ms| began_us + ms * 1_000);
            self.written.insert(item.key.clone(), Written { is_acknowledged: true, not_before_us });
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.written.extend(other.written);
    }

    /// Takes down anew all that the nodes have told.
    pub fn hear(&mut self, nodes: &Cluster) {
        *self = Self { written: mem::take(&mut self.written), ..Self::default() };
        for id in nodes.ids() {
            for (life, expiries) in nodes.expired(id).into_iter().enumerate() {
                self.note(id, life, expiries);
            }
        }
    }

    /// Takes down what a node has told in one of its lives.
    fn note(&mut self, id: NodeId, life: usize, expiries: Vec<Expired>) {
        let heard = self.heard.entry(id).or_default();
        heard.expired = expiries.len();
        let mut applied = BTreeSet::new();
        for Expired { key, index, by, due_ms, at_us } in expiries {
            let not_before_us = self.written.get(&key).and_then(|written| written.not_before_us);
            self.early += u64::from(not_before_us.is_some_and(|us| at_us < us));
            let told = self.expired.entry(key.clone()).or_default().insert(index, by);
            self.twice += u64::from(told.is_some_and(|other| other != by));
            if life == 0 {
                heard.late_us.push(at_us.saturating_sub(due_ms.saturating_mul(1_000)));
            }
            heard.last_us = heard.last_us.max(at_us);
            self.twice += u64::from(!applied.insert((key, index)));
        }
    }

    /// Who proposed how many, what expired on each node, and how late.
    pub fn table(&self) -> impl Display + use<> {
        let mut table = report::plain(&["node", "proposed", "expired", "median late", "p99", "longest"]);
        for (id, heard) in &self.heard {
            let by_it = |expiries: &&BTreeMap<u64, NodeId>| expiries.values().any(|by| by == id);
            let (proposed, expired) = (self.expired.values().filter(by_it).count(), heard.expired);
            let mut late_us = heard.late_us.clone();
            late_us.sort_unstable();
            let late = [50, 99, 100].map(|percent| match late_us.len() {
                0 => "-".to_owned(),
                told => format!("{:.1} ms", late_us[(told - 1) * percent / 100] as f64 / 1_000.0),
            });
            table.add_row([id.to_string(), proposed.to_string(), expired.to_string()].into_iter().chain(late));
        }
        table
    }

    /// The counts, when all TTLs are over and all nodes agree: no key with a TTL
    /// may be anywhere, and every acknowledged one must have expired; the others must be everywhere.
    pub async fn counts(&mut self, nodes: &Cluster) -> Result<Counts, Error> {
        self.hear(nodes);
        let statuses = nodes.statuses().await;
        if statuses.len() < nodes.ids().len() {
            return Err(Error::Unanswered("a node does not say how many keys it has".to_owned()));
        }
        // All keys that are anywhere, until those are found that should be.
        let mut surplus: u64 = statuses.values().map(|status| status.keys).sum();
        let mut counts = Counts { early: self.early, twice: self.twice, ..Counts::default() };
        for (key, written) in &self.written {
            let expiries = self.expired.get(key).map_or(0, BTreeMap::len);
            counts.acknowledged += u64::from(written.is_acknowledged);
            // Each key is written once, so it can expire under one index only.
            counts.resurrected += u64::from(expiries > 1);
            let mut is_safe = expiries > 0;
            if written.not_before_us.is_none() {
                is_safe = true;
                for id in nodes.ids() {
                    let request = Request::Get { key: key.clone(), linearizable: false, from: 0 };
                    let is_there = matches!(nodes.ask(id, &request).await?, Reply::Value { .. });
                    surplus -= u64::from(is_there);
                    is_safe &= is_there;
                }
            }
            counts.lost += u64::from(written.is_acknowledged && !is_safe);
        }
        counts.resurrected += surplus;
        Ok(counts)
    }
}

impl Counts {
    /// All of it in a line. It is an error if anything is wrong, and if nothing was done.
    pub fn verdict(&self) -> Result<String, Error> {
        let Self { acknowledged, lost, resurrected, early, twice } = *self;
        let line = format!(
            "acknowledged {acknowledged}, lost {lost}, resurrected {resurrected}, early {early}, twice {twice}"
        );
        let is_sound = [lost, resurrected, early, twice] == [0; 4] && acknowledged > 0;
        if is_sound { Ok(line) } else { Err(Error::Broken(line)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_that_is_early_or_told_twice_is_counted_and_what_a_restarted_node_tells_again_is_not() {
        let mut ledger = Ledger::default();
        let items = ["a", "b"].map(|key| Item { key: key.to_owned(), value: String::new(), ttl_ms: Some(1) });
        ledger.promise(&items, 0);
        let expired = |key: &str, at_us| Expired { key: key.to_owned(), index: 7, by: 2, due_ms: 1, at_us };
        ledger.note(1, 0, vec![expired("a", 1_000)]);
        assert_eq!((ledger.early, ledger.twice), (0, 0));
        ledger.note(1, 0, vec![expired("b", 999), expired("a", 1_500), expired("a", 1_500)]);
        assert_eq!((ledger.early, ledger.twice), (1, 1));
        ledger.note(1, 1, vec![expired("a", 9_000)]);
        ledger.note(2, 0, vec![Expired { by: 3, ..expired("b", 1_000) }]);
        assert_eq!((ledger.twice, ledger.heard[&1].expired), (2, 1));
        assert_eq!((&ledger.heard[&1].late_us, ledger.heard[&1].last_us), (&vec![0, 0, 500, 500], 9_000));
    }

    #[test]
    fn verdict_is_an_error_if_anything_is_wrong_or_nothing_was_done() {
        let sound = Counts { acknowledged: 3, ..Counts::default() };
        assert_eq!(sound.verdict().unwrap(), "acknowledged 3, lost 0, resurrected 0, early 0, twice 0");
        let wrong = [
            Counts { acknowledged: 0, ..sound },
            Counts { lost: 1, ..sound },
            Counts { resurrected: 1, ..sound },
            Counts { early: 1, ..sound },
            Counts { twice: 1, ..sound },
        ];
        assert!(wrong.iter().all(|counts| counts.verdict().is_err()));
    }
}
