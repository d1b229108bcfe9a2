//! Which worker looks after which partition. It is decided by leases in the store, which serve efficiency only: two workers
//! that look after one partition do no harm.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::store::{Layout, Lease, Store};

/// The first key of the seats: leases by which the workers that have room are counted, also those without a partition.
const SEATS: u64 = 1 << 32;

/// The floor of each partition: that of the lease if another worker had it, and what this one finds out from then on.
pub type Floors = Arc<[AtomicU64]>;

/// A worker's view of the leases in one store.
pub struct Tenure {
    layout: Layout,
    owner: u64,
    /// How long a lease lasts. It ends when it was not renewed for so long by this worker's own clock, as the clocks of
    /// others may be wrong.
    length: Duration,
    seen: HashMap<u64, Seen>,
    floors: Floors,
}

struct Seen {
    epoch: u64,
    since: Instant,
    /// Its owner was seen to be alive, though the clock of one of us may say that the lease is over.
    was_renewed: bool,
}

impl Tenure {
    pub fn new(layout: Layout, owner: u64, length: Duration, floors: Floors) -> Self {
        Self { layout, owner, length, seen: HashMap::new(), floors }
    }

    fn lives(&mut self, lease: &Lease, now: u64) -> bool {
        let seen = |was_renewed| Seen { epoch: lease.epoch, since: Instant::now(), was_renewed };
        let last = self.seen.entry(lease.key).or_insert_with(|| seen(false));
        if last.epoch != lease.epoch {
            *last = seen(true);
        }
        let is_believed = last.since.elapsed() < self.length && (last.was_renewed || lease.until > now);
        lease.until > 0 && (lease.owner == self.owner || is_believed)
    }

    /// Renews the leases of a worker, and takes more until it has its share. Answers which partitions it has.
    ///
    /// A worker without room for jobs names the partitions that wait. It gives them to others that have room, and takes none.
    pub async fn balance(&mut self, store: &dyn Store, now: u64, waiting: Option<&[u32]>) -> Result<Vec<u32>> {
        let leases: HashMap<u64, Lease> = store.leases().await?.into_iter().map(|lease| (lease.key, lease)).collect();
        let mut live = leases.clone();
        live.retain(|_, lease| self.lives(lease, now));
        let keeper = |part: u32| live.get(&part.into()).map(|lease| lease.owner);
        let mut held = HashMap::from([(self.owner, 0)]);
        self.layout.parts().filter_map(keeper).for_each(|keeper| *held.entry(keeper).or_default() += 1);
        let others = live.values().filter(|lease| lease.key >= SEATS && lease.owner != self.owner).count();
        let share = self.layout.parts().count().div_ceil(others + 1);

        let length = self.length.as_millis() as u64;
        let (mut kept, mut wanted) = (Vec::new(), Vec::new());
        let next = |key: u64, until| {
            let last = leases.get(&key);
            let mine = self.floors.get(key as usize).filter(|_| last.is_some_and(|last| last.owner == self.owner));
            Lease {
                key,
                owner: self.owner,
                epoch: last.map_or(0, |last| last.epoch) + 1,
                until,
                floor: mine.map_or(last.map_or(0, |last| last.floor), |mine| mine.load(Ordering::Relaxed)),
            }
        };
        for part in self.layout.parts() {
            let key = u64::from(part);
            match keeper(part) {
                Some(keeper) if keeper == self.owner => {
                    let until = live[&key].until;
                    if others > 0 && waiting.is_some_and(|waiting| waiting.contains(&part)) {
                        wanted.push(next(key, 0));
                        continue;
                    } else if (now + length * 2 / 3..=now + length).contains(&until) {
                        kept.push(part);
                        continue;
                    }
                }
                _ if waiting.is_some() => continue,
                // From one that has more, if that makes the shares more even. It notices when it renews.
                Some(keeper) if held[&keeper] >= held[&self.owner] + 2 => {
                    *held.entry(keeper).or_default() -= 1;
                    *held.entry(self.owner).or_default() += 1;
                }
                None if held[&self.owner] < share => *held.entry(self.owner).or_default() += 1,
                _ => continue,
            }
            wanted.push(next(key, now.saturating_add(length)));
        }
        let seat = live.values().find(|lease| lease.key >= SEATS && lease.owner == self.owner).map(|lease| lease.key);
        match (seat, waiting) {
            (Some(seat), Some(_)) => wanted.push(next(seat, 0)),
            (None, Some(_)) => {}
            (seat, None) => {
                let free = || (SEATS..).find(|key| !live.contains_key(key)).unwrap_or(SEATS);
                wanted.push(next(seat.unwrap_or_else(free), now.saturating_add(length)));
            }
        }
        let got = wanted.iter().zip(store.lease(&wanted).await?).filter(|(lease, got)| *got && lease.until > 0);
        for (lease, _) in got.filter(|(lease, _)| lease.key < SEATS) {
            self.floors[lease.key as usize].store(lease.floor, Ordering::Relaxed);
            kept.push(lease.key as u32);
        }
        Ok(kept)
    }
}

/// Ends the leases of a worker, so that others need not wait.
pub async fn release(store: &dyn Store, owner: u64) -> Result<()> {
    let mine = store.leases().await?.into_iter().filter(|lease| lease.owner == owner && lease.until > 0);
    let ended: Vec<Lease> = mine.map(|lease| Lease { epoch: lease.epoch + 1, until: 0, ..lease }).collect();
    store.lease(&ended).await.map(drop)
}
