//! Which worker looks after which partition. It is decided by leases in the store, which serve efficiency only: two workers
//! that look after one partition do no harm.

use std::collections::HashMap;

use crate::error::Result;
use crate::store::{Layout, Lease, Store};

/// Renews the leases of a worker on one store, and takes more until it has its share. Answers which partitions it has.
///
/// A partition is taken if nobody has it, or if its owner has more than its share. The owner notices when it renews.
pub async fn balance(store: &dyn Store, layout: Layout, owner: u64, now: u64, length: u64) -> Result<Vec<u32>> {
    let leases: HashMap<u64, Lease> = store.leases().await?.into_iter().map(|lease| (lease.key, lease)).collect();
    let keeper = |part: u32| {
        let lease = leases.get(&part.into())?;
        (lease.owner == owner || lease.until > now).then_some(lease.owner)
    };
    let mut held = HashMap::from([(owner, 0)]);
    layout.parts().filter_map(keeper).for_each(|keeper| *held.entry(keeper).or_default() += 1);
    let share = layout.parts().count().div_ceil(held.len());
    let mut wanted = Vec::new();
    for part in layout.parts() {
        let keeper = keeper(part);
        if keeper != Some(owner) {
            if keeper.is_some_and(|keeper| held[&keeper] <= share) || held[&owner] >= share {
                continue;
            }
            keeper.into_iter().for_each(|keeper| *held.entry(keeper).or_default() -= 1);
            *held.entry(owner).or_default() += 1;
        }
        let key = u64::from(part);
        let epoch = leases.get(&key).map_or(0, |seen| seen.epoch) + 1;
        wanted.push(Lease { key, owner, epoch, until: now.saturating_add(length) });
    }
    let got = wanted.iter().zip(store.lease(&wanted).await?).filter(|(_, got)| *got);
    Ok(got.map(|(lease, _)| lease.key as u32).collect())
}

/// Ends the leases of a worker, so that others need not wait.
pub async fn release(store: &dyn Store, owner: u64) -> Result<()> {
    let mine = store.leases().await?.into_iter().filter(|lease| lease.owner == owner);
    let ended: Vec<Lease> = mine.map(|lease| Lease { epoch: lease.epoch + 1, until: 0, ..lease }).collect();
    store.lease(&ended).await.map(drop)
}
