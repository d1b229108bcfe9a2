//! W13: a full cache. For each write the earliest entry is evicted, long before it is due.

use std::time::Duration;

use super::{Answered, Samples, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::Queue;
use crate::workload::{HOUR, MINUTE, STEP, XorShift64Star};

/// Writes between two advances.
const BATCH: usize = 100;
const FEWEST_WRITES: usize = 100_000;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let writes = n + n.max(FEWEST_WRITES).next_multiple_of(BATCH);
    let many = XorShift64Star::new().uniform(writes, 10 * MINUTE, HOUR);
    let mut answer = Answer::default();
    for (figure, ttls) in [("W13 eviction one TTL", vec![HOUR; writes]), ("W13 eviction many TTLs", many)] {
        let mut queue = Q::new(0);
        let write = |queue: &mut Q, nth: usize| queue.schedule(now_at(nth) + ttls[nth], nth as u32);
        for nth in 0..n {
            write(&mut queue, nth);
        }
        let (mut elapsed, mut expired) = (Duration::ZERO, 0);
        queue.advance(now_at(n), |_, _| expired += 1);
        let mut batch = Vec::with_capacity(BATCH);
        for first in (n..writes).step_by(BATCH) {
            timed(&mut elapsed, || evict(&mut queue, &mut batch));
            for (entry, nth) in batch.drain(..).zip(first..) {
                // Of entries with one deadline any may go first.
                let (deadline, _) = entry.unwrap_or_default();
                answer.give(deadline ^ ((nth as u64) << 42));
                write(&mut queue, nth);
            }
            queue.advance(now_at(first + BATCH), |_, _| expired += 1);
        }
        answer.give(expired);
        samples.push((figure, ns_each(elapsed, writes - n)));
    }
    Ok(answer)
}

/// The time of a write: a tick goes by with each batch.
fn now_at(write: usize) -> u64 {
    (write / BATCH) as u64 * STEP
}

#[inline(never)]
fn evict<Q: Queue>(queue: &mut Q, batch: &mut Vec<Option<(u64, u32)>>) {
    batch.extend((0..BATCH).map(|_| queue.pop_first()));
}
