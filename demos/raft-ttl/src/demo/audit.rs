//! What was promised, what was seen, and what of it does not go together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hdrhistogram::Histogram;

use crate::client::{self, Client};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::history::Expired;
use crate::message::{Reply, Request};
use crate::time::wall_us_now;
use crate::types::{Item, NodeId};

use super::PATIENCE;

/// The longest lateness that is told apart from longer ones: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// What the nodes acknowledged, and what they said expired.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// The keys with a TTL that were acknowledged, each with the wall-clock time before which it must
    /// not expire, in microseconds.
    promised: BTreeMap<String, u64>,
    seen: BTreeMap<NodeId, Seen>,
}

/// What one node said.
#[derive(Debug, Default)]
struct Seen {
    next: u64,
    /// Whether it was down: what it applies then is late because of that.
    is_catching_up: bool,
    expired: BTreeMap<String, Expired>,
    late_us: Vec<u64>,
    twice: u64,
}

/// What does not go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// Acknowledged keys that are neither there nor expired.
    pub(super) lost: u64,
    /// Keys that are there though they expired.
    pub(super) resurrected: u64,
    /// Keys that expired before their TTL was over.
    pub(super) early: u64,
    /// Keys that expired more than once on one node.
    pub(super) twice: u64,
    /// Keys that are there though their TTL is over.
    pub(super) left: u64,
}

impl Audit {
    /// Sets keys and takes down that they were acknowledged.
    pub(super) async fn put(client: &mut Client, items: Vec<Item>) -> Result<Self, Error> {
        let mut promised = BTreeMap::new();
        for item in &items {
            if let Some(ttl_ms) = item.ttl_ms {
                promised.insert(item.key.clone(), wall_us_now() + ttl_ms * 1_000);
            }
        }
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let put = client.insist(&Request::Put(items), deadline).await;
        put.map_err(|failure| Error::Unanswered(failure.to_string()))?;
        Ok(Self { promised, seen: BTreeMap::new() })
    }

    /// Adds what was promised elsewhere.
    pub(super) fn merge(&mut self, other: Self) {
        self.promised.extend(other.promised);
    }

    pub(super) fn promised(&self) -> u64 {
        self.promised.len() as u64
    }

    /// How many of the promised keys have expired on this node.
    pub(super) fn expired_on(&self, id: NodeId) -> u64 {
        self.seen.get(&id).map_or(0, |seen| seen.expired.len() as u64)
    }

    /// Asks a node for what it has not told yet.
    pub(super) async fn hear(&mut self, cluster: &Cluster, id: NodeId) {
        let seen = self.seen.entry(id).or_default();
        loop {
            let asked = client::ask(cluster.address(id), &Request::History(seen.next)).await;
            let Ok(Reply::History { first, expired, .. }) = asked else {
                return; // it is down, or about to be: it will be asked again
            };
            if expired.is_empty() {
                return;
            }
            seen.next = first + expired.len() as u64;
            for expired in expired {
                seen.add(expired);
            }
        }
    }

    /// A node was started again, and begins to tell anew.
    pub(super) fn restarted(&mut self, id: NodeId) {
        let seen = self.seen.entry(id).or_default();
        seen.next = 0;
        seen.is_catching_up = true;
    }

    /// What is wrong, given that each node has been heard to its end and `present` are the promised
    /// keys that any of them still has.
    pub(super) fn faults(&self, present: &BTreeSet<String>) -> Faults {
        let mut faults = Faults { twice: self.seen.values().map(|seen| seen.twice).sum(), ..Faults::default() };
        for (key, &not_before_us) in &self.promised {
            let mut tellings = self.seen.values().filter_map(|seen| seen.expired.get(key));
            let has_expired = tellings.clone().next().is_some();
            let is_early = |it: &Expired| it.at_us < not_before_us;
            faults.early += u64::from(tellings.any(is_early));
            match (has_expired, present.contains(key)) {
                (true, false) => {}
                (true, true) => faults.resurrected += 1,
                (false, true) => faults.left += 1,
                (false, false) => faults.lost += 1,
            }
        }
        faults
    }

    /// The promised keys that any node has. Nobody is asked for each of them if there are no keys but
    /// those that stay.
    pub(super) async fn present(&self, cluster: &Cluster, staying: u64) -> BTreeSet<String> {
        let mut present = BTreeSet::new();
        for id in cluster.ids() {
            let address = cluster.address(id);
            if matches!(client::status(address).await, Ok(status) if status.keys == staying) {
                continue;
            }
            for key in self.promised.keys() {
                let request = Request::Get { key: key.clone(), linearizable: false };
                if let Ok(Reply::Value { .. }) = client::ask(address, &request).await {
                    present.insert(key.clone());
                }
            }
        }
        present
    }

    /// Who proposed how many, what expired on each node, and how late.
    pub(super) fn table(&self) -> String {
        let mut proposers: BTreeMap<NodeId, BTreeSet<&str>> = BTreeMap::new();
        for expired in self.seen.values().flat_map(|seen| seen.expired.values()) {
            let keys = proposers.entry(expired.by).or_default();
            keys.insert(&expired.key);
        }
        let mut table = format!(
            "\n{:8}{:>10}{:>10}{:>14}{:>14}{:>14}\n",
            "node", "proposed", "expired", "median late", "p99", "longest"
        );
        for (id, seen) in &self.seen {
            let proposed = proposers.get(id).map_or(0, BTreeSet::len);
            let late = seen.lateness_us();
            let [median, p99, longest] = match late.len() {
                0 => ["-"; 3].map(str::to_owned),
                _ => [0.5, 0.99, 1.0].map(|q| milliseconds(late.value_at_quantile(q))),
            };
            let expired = seen.expired.len();
            let _ = writeln!(table, "{id:<8}{proposed:>10}{expired:>10}{median:>14}{p99:>14}{longest:>14}");
        }
        table
    }

    /// When the last key expired on each node, in microseconds by the wall clock.
    pub(super) fn last_us(&self) -> BTreeMap<NodeId, u64> {
        let last = |seen: &Seen| seen.expired.values().map(|it| it.at_us).max().unwrap_or(0);
        self.seen.iter().map(|(&id, seen)| (id, last(seen))).collect()
    }
}

impl Seen {
    fn add(&mut self, expired: Expired) {
        match self.expired.get(&expired.key) {
            // Set again by a client that had no answer, which makes it another TTL.
            Some(known) if known.index < expired.index => {}
            Some(_) => {
                self.twice += u64::from(!self.is_catching_up);
                return;
            }
            None => {}
        }
        if !self.is_catching_up {
            let due_us = expired.due_ms.saturating_mul(1_000);
            self.late_us.push(expired.at_us.saturating_sub(due_us));
        }
        self.expired.insert(expired.key.clone(), expired);
    }

    /// How late the keys expired, but for those of which it is not known.
    fn lateness_us(&self) -> Histogram<u64> {
        let mut late = Histogram::new_with_max(LONGEST_US, 3).expect("these bounds can be had");
        for &us in &self.late_us {
            late.saturating_record(us);
        }
        late
    }
}

/// Microseconds as milliseconds.
fn milliseconds(us: u64) -> String {
    format!("{:.1} ms", us as f64 / 1_000.0)
}

impl Faults {
    /// The verdict in a line, which is an error if anything is wrong.
    pub(super) fn verdict(self, promised: u64) -> Result<String, Error> {
        let Self { lost, resurrected, early, twice, left } = self;
        let line = format!(
            "acknowledged {promised}, lost {lost}, resurrected {resurrected}, early {early}, \
             expired twice {twice}, left behind {left}"
        );
        if self == Self::default() { Ok(line) } else { Err(Error::Broken(line)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expired(key: &str, at_us: u64) -> Expired {
        Expired { key: key.to_owned(), index: 7, by: 1, due_ms: 1, at_us }
    }

    fn audit(promised: &[&str], told: &[&[Expired]]) -> Audit {
        let mut audit = Audit::default();
        for &key in promised {
            audit.promised.insert(key.to_owned(), 1_000);
        }
        for (id, told) in (1..).zip(told) {
            let seen = audit.seen.entry(id).or_default();
            told.iter().for_each(|it| seen.add(it.clone()));
        }
        audit
    }

    fn keys(keys: &[&str]) -> BTreeSet<String> {
        keys.iter().map(|&key| key.to_owned()).collect()
    }

    #[test]
    fn what_expired_in_time_everywhere_is_no_fault() {
        let told = [expired("a", 1_000), expired("b", 2_000)];
        let audit = audit(&["a", "b"], &[&told, &told]);
        let faults = audit.faults(&keys(&[]));
        assert_eq!(faults, Faults::default());
        assert!(faults.verdict(2).is_ok());
        assert_eq!(audit.last_us()[&1], 2_000);
    }

    #[test]
    fn each_fault_is_found_and_counted() {
        let twice = [expired("early", 999), expired("back", 1_500), expired("back", 1_600)];
        let audit = audit(&["early", "back", "lost", "left"], &[&twice]);
        let faults = audit.faults(&keys(&["back", "left"]));
        let expected = Faults { lost: 1, resurrected: 1, early: 1, twice: 1, left: 1 };
        assert_eq!(faults, expected);
        assert!(faults.verdict(4).is_err());
    }
}
