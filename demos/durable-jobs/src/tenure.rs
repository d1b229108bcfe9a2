//! Which worker looks after which partition. It is decided by leases in the store, which serve efficiency only: two workers
//! that look after one partition do no harm.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Result;
use crate::store::{Layout, Lease, Store};

/// The first place of a worker. Partitions have smaller numbers. A place that is over is taken by the next worker, so there
/// are as many as there were workers at one time.
pub const FIRST_PLACE: u64 = 1 << 32;

/// Renews the leases of a worker on one store, and takes more until it has its share. Answers which partitions it has.
///
/// A partition is taken if nobody has it, or if its owner has more than its share. The owner notices when it renews.
pub async fn balance(store: &dyn Store, layout: Layout, owner: u64, now: u64, length: u64) -> Result<Vec<u32>> {
    let leases: BTreeMap<u64, Lease> = store.leases().await?.into_iter().map(|lease| (lease.key, lease)).collect();
    let is_free = |key: &u64| leases.get(key).is_none_or(|lease| lease.until <= now);
    let place = leases.range(FIRST_PLACE..).find(|(_, lease)| lease.owner == owner).map(|(key, _)| *key);
    let place = place.or_else(|| (FIRST_PLACE..).find(is_free)).unwrap_or(FIRST_PLACE);
    let others = leases.range(FIRST_PLACE..).map(|(_, lease)| lease);
    let others: HashSet<u64> =
        others.filter(|lease| lease.owner != owner && lease.until > now).map(|lease| lease.owner).collect();

    let share = layout.parts().count().div_ceil(others.len() + 1);
    let keeper = |part: u32| {
        let lease = leases.get(&part.into())?;
        (lease.owner == owner || lease.until > now && others.contains(&lease.owner)).then_some(lease.owner)
    };
    let mut held = HashMap::from([(owner, 0)]);
    layout.parts().filter_map(keeper).for_each(|keeper| *held.entry(keeper).or_default() += 1);
    let mut keys = Vec::new();
    for part in layout.parts() {
        let keeper = keeper(part);
        if keeper != Some(owner) {
            if keeper.is_some_and(|keeper| held[&keeper] <= share) || held[&owner] >= share {
                continue;
            }
            keeper.into_iter().for_each(|keeper| *held.entry(keeper).or_default() -= 1);
            *held.entry(owner).or_default() += 1;
        }
        keys.push(part.into());
    }
    keys.push(place);
    let until = now.saturating_add(length);
    let wanted = |key| Lease { key, owner, epoch: leases.get(&key).map_or(0, |seen| seen.epoch) + 1, until };
    let wanted: Vec<Lease> = keys.into_iter().map(wanted).collect();
    let got = wanted.iter().zip(store.lease(&wanted).await?).filter(|(lease, got)| *got && lease.key < FIRST_PLACE);
    Ok(got.map(|(lease, _)| lease.key as u32).collect())
}

/// Ends the leases of a worker, so that others need not wait.
pub async fn release(store: &dyn Store, owner: u64) -> Result<()> {
    let mine = store.leases().await?.into_iter().filter(|lease| lease.owner == owner);
    let ended: Vec<Lease> = mine.map(|lease| Lease { epoch: lease.epoch + 1, until: 0, ..lease }).collect();
    store.lease(&ended).await.map(drop)
}
