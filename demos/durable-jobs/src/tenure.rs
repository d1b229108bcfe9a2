//! Which worker looks after which partition. It is decided by leases in the store, which serve efficiency only: two workers
//! that look after one partition do no harm.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::store::{Layout, Lease, Store};

/// The first number of a worker. Partitions have smaller ones.
pub const FIRST_WORKER: u64 = 1 << 32;

/// After so many times its length a worker's lease that is over is removed by another one.
const FORGOTTEN: u64 = 10;

/// Renews the leases of a worker on one store, and takes more until it has its share. Answers which partitions it has.
///
/// A partition is taken if nobody has it, or if its owner has more than its share. The owner notices when it renews.
pub async fn balance(store: &dyn Store, layout: Layout, owner: u64, now: u64, length: u64) -> Result<Vec<u32>> {
    let leases: HashMap<u64, Lease> = store.leases().await?.into_iter().map(|lease| (lease.key, lease)).collect();
    let wanted = |key: u64| {
        let epoch = leases.get(&key).map_or(1, |seen| seen.epoch + u64::from(seen.owner != owner));
        (leases.get(&key).copied(), Some(Lease { key, owner, epoch, until: now.saturating_add(length) }))
    };
    let mut changes = vec![wanted(owner)];
    let others = leases.values().filter(|lease| lease.key >= FIRST_WORKER && lease.key != owner);
    let (living, dead): (Vec<&Lease>, Vec<&Lease>) = others.partition(|lease| lease.until > now);
    let is_forgotten = |lease: &Lease| lease.until.saturating_add(FORGOTTEN * length) < now;
    changes.extend(dead.into_iter().filter(|lease| is_forgotten(lease)).map(|lease| (Some(*lease), None)));

    let share = layout.parts().count().div_ceil(living.len() + 1);
    let living: HashSet<u64> = living.into_iter().map(|lease| lease.owner).collect();
    let mut held = HashMap::from([(owner, 0)]);
    let keeper = |part: u32| {
        let lease = leases.get(&u64::from(part)).filter(|lease| lease.owner == owner || lease.until > now)?;
        (lease.owner == owner || living.contains(&lease.owner)).then_some(lease.owner)
    };
    layout.parts().filter_map(keeper).for_each(|keeper| *held.entry(keeper).or_default() += 1);
    let mut parts = Vec::new();
    for part in layout.parts() {
        let keeper = keeper(part);
        let is_free = keeper.is_none_or(|keeper| held[&keeper] > share);
        if keeper != Some(owner) {
            if !is_free || held[&owner] >= share {
                continue;
            }
            keeper.into_iter().for_each(|keeper| *held.entry(keeper).or_default() -= 1);
            *held.entry(owner).or_default() += 1;
        }
        parts.push(part);
        changes.push(wanted(u64::from(part)));
    }
    let changed = store.lease(&changes).await?;
    let got = changes.iter().zip(changed).filter(|((_, wanted), done)| *done && wanted.is_some());
    let got: HashSet<u64> = got.filter_map(|((_, wanted), _)| wanted.map(|lease| lease.key)).collect();
    parts.retain(|part| got.contains(&u64::from(*part)));
    Ok(parts)
}

/// Ends the leases of a worker, so that others need not wait.
pub async fn release(store: &dyn Store, owner: u64) -> Result<()> {
    let leases = store.leases().await?;
    let mine = leases.into_iter().filter(|lease| lease.owner == owner);
    let ended = |lease: Lease| (lease.key < FIRST_WORKER).then_some(Lease { until: 0, ..lease });
    let changes: Vec<_> = mine.map(|lease| (Some(lease), ended(lease))).collect();
    store.lease(&changes).await.map(drop)
}
