//! Keys with TTLs, and a leader that dies while most of them wait.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{PATIENCE, Stage, Wishes, put};
use crate::client::Client;
use crate::cluster::GLANCE;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::types::{Item, NodeId};

/// How many clients write at once.
const CLIENTS: u64 = 16;

/// Keys without a TTL, which must all be there at the end.
const STAYING: u64 = 10;

pub(super) async fn show(wishes: &Wishes, stage: &mut Stage) -> Result<(), Error> {
    let mut ledger = write(wishes, stage).await?;
    let victim = stage.leader;
    ledger.hear(&stage.cluster, victim).await;
    let left = wishes.keys.saturating_sub(ledger.expired_on(victim));
    stage.cluster.kill(victim);
    stage.tell(format!("node {victim}, the leader, is killed; {left} keys wait to expire"));
    stage.await_leader().await?;

    let survivors: Vec<NodeId> = stage.cluster.ids().into_iter().filter(|&id| id != victim).collect();
    watch(wishes, stage, &mut ledger, &survivors).await?;
    come_back(stage, &mut ledger, victim).await?;
    stage.verdict(&ledger).await
}

/// Writes all keys, each by itself, and those that stay.
async fn write(wishes: &Wishes, stage: &mut Stage) -> Result<Ledger, Error> {
    let keys = wishes.keys;
    stage.advance_to("writing", keys + STAYING);
    let half = u64::try_from(wishes.ttl.as_millis() / 2).unwrap_or(u64::MAX);
    let mut writers = JoinSet::new();
    for writer in 0..CLIENTS {
        let mut client = Client::new(stage.cluster.addresses());
        let bar = stage.bar.clone();
        writers.spawn(async move {
            let mut ledger = Ledger::default();
            for nth in (writer..keys + STAYING).step_by(CLIENTS as usize) {
                // Neighbours in time get TTLs that are far apart.
                let ttl_ms = half + half * (nth * 7_919 % keys) / keys;
                let item = Item {
                    key: if nth < keys { format!("key {nth}") } else { format!("staying {nth}") },
                    value: format!("value {nth}"),
                    ttl_ms: (nth < keys).then_some(ttl_ms),
                };
                put(&mut client, vec![item], &mut ledger).await?;
                bar.inc(1);
            }
            Ok(ledger)
        });
    }
    let mut ledger = Ledger::default();
    while let Some(written) = writers.join_next().await {
        let written = written.unwrap_or_else(|panic| Err(Error::Broken(panic.to_string())));
        ledger.merge(written?);
    }
    let (shortest, longest) = (Duration::from_millis(half), wishes.ttl);
    stage.tell(format!(
        "{keys} keys with TTLs from {shortest:?} to {longest:?} are acknowledged, and {STAYING} without"
    ));
    Ok(ledger)
}

/// Waits until all keys have expired on these nodes.
async fn watch(wishes: &Wishes, stage: &mut Stage, ledger: &mut Ledger, nodes: &[NodeId]) -> Result<(), Error> {
    stage.advance_to("expiring", wishes.keys);
    let deadline = Instant::now() + wishes.ttl + PATIENCE;
    loop {
        for &id in nodes {
            ledger.hear(&stage.cluster, id).await;
        }
        let expired = nodes.iter().map(|&id| ledger.expired_on(id)).min();
        let expired = expired.unwrap_or(0);
        stage.bar.set_position(expired);
        if expired >= wishes.keys {
            stage.tell(format!("all of them have expired on nodes {nodes:?}"));
            return Ok(());
        }
        if Instant::now() >= deadline {
            // The verdict will say which kind of fault it is.
            stage.tell("not all of them have expired, and they are late");
            return Ok(());
        }
        sleep(GLANCE).await;
    }
}

/// Starts the dead node again and waits until all agree.
async fn come_back(stage: &mut Stage, ledger: &mut Ledger, victim: NodeId) -> Result<(), Error> {
    let started = stage.cluster.start(victim);
    started.map_err(|error| Error::Broken(format!("node {victim} does not start: {error}")))?;
    ledger.forget(victim);
    let agreed = stage.cluster.agreement(Instant::now() + PATIENCE, |status| status.keys >= STAYING);
    let agreed = agreed.await;
    let statuses = agreed.map_err(|statuses| stage.stuck("no agreement", &statuses))?;
    ledger.hear(&stage.cluster, victim).await;
    if let Some(status) = statuses.get(&victim) {
        stage.tell(format!(
            "node {victim} is back; all have applied {} entries and have digest {}",
            status.applied, status.digest
        ));
    }
    stage.bar.finish_and_clear();
    Ok(())
}
