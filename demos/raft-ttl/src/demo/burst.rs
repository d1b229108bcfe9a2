//! Many keys that are due at one moment.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{PATIENCE, Stage, Wishes, put};
use crate::client::{self, Client};
use crate::cluster::GLANCE;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::message::{Reply, Request};
use crate::time::wall_ms_now;
use crate::types::Item;

/// How many keys are written at once.
const KEYS_A_PUT: u64 = 100;

/// How soon after its deadline a burst of 20,000 should be gone everywhere.
const GOAL: Duration = Duration::from_millis(1_500);

pub(super) async fn show(wishes: &Wishes, stage: &mut Stage) -> Result<(), Error> {
    let ttl_ms = u64::try_from(wishes.ttl.as_millis()).unwrap_or(u64::MAX);
    let deadline_ms = wall_ms_now() + ttl_ms;
    let mut ledger = write(wishes, stage, deadline_ms).await?;
    let left = Duration::from_millis(deadline_ms.saturating_sub(wall_ms_now()));
    stage.tell(format!("all of them are due in {left:?}"));
    watch(wishes, stage, left).await?;

    for id in stage.cluster.ids() {
        ledger.hear(&stage.cluster, id).await;
    }
    report(stage, &ledger, deadline_ms).await;
    stage.verdict(&ledger).await
}

/// Writes all keys, each with what is left until the deadline as its TTL.
async fn write(wishes: &Wishes, stage: &mut Stage, deadline_ms: u64) -> Result<Ledger, Error> {
    stage.advance_to("writing", wishes.keys);
    let mut ledger = Ledger::default();
    let mut client = Client::new(stage.cluster.addresses());
    for first in (0..wishes.keys).step_by(KEYS_A_PUT as usize) {
        let ttl_ms = deadline_ms.saturating_sub(wall_ms_now());
        if ttl_ms == 0 {
            let problem = "the keys could not be written in that time: use a longer --ttl";
            return Err(Error::Arguments(problem.to_owned()));
        }
        let last = (first + KEYS_A_PUT).min(wishes.keys);
        let items = (first..last).map(|nth| Item {
            key: format!("key {nth}"),
            value: format!("value {nth}"),
            ttl_ms: Some(ttl_ms),
        });
        put(&mut client, items.collect(), &mut ledger).await?;
        stage.bar.set_position(last);
    }
    stage.tell(format!("{} keys are acknowledged", wishes.keys));
    Ok(ledger)
}

/// Waits until all is gone, without asking for more than numbers.
async fn watch(wishes: &Wishes, stage: &mut Stage, left: Duration) -> Result<(), Error> {
    stage.advance_to("expiring", wishes.keys);
    let deadline = Instant::now() + left + PATIENCE;
    sleep(left).await;
    loop {
        let mut fewest = u64::MAX;
        for address in stage.cluster.addresses() {
            let asked = client::ask(address, &Request::History(u64::MAX)).await;
            let total = match asked {
                Ok(Reply::History { total, .. }) => total,
                _ => 0,
            };
            fewest = fewest.min(total);
        }
        stage.bar.set_position(fewest);
        if fewest >= wishes.keys {
            stage.bar.finish_and_clear();
            return Ok(());
        }
        if Instant::now() >= deadline {
            let statuses = stage.cluster.statuses().await;
            return Err(stage.stuck("not all keys are gone", &statuses));
        }
        sleep(GLANCE).await;
    }
}

/// How long it took on each node.
async fn report(stage: &Stage, ledger: &Ledger, deadline_ms: u64) {
    let mut longest = Duration::ZERO;
    for (id, last_us) in ledger.last_us() {
        let took = Duration::from_micros(last_us.saturating_sub(deadline_ms * 1_000));
        longest = longest.max(took);
        stage.tell(format!("gone on node {id} {took:?} after the deadline"));
    }
    let statuses = stage.cluster.statuses().await;
    let batches = statuses.values().map(|status| status.batches).max();
    let batches = batches.unwrap_or(0);
    stage.tell(format!("the expiries took {batches} entries of the log"));
    let outcome = if longest <= GOAL { "met" } else { "missed" };
    stage.tell(format!("the goal of {GOAL:?} for 20000 keys is {outcome}: {longest:?}"));
}
