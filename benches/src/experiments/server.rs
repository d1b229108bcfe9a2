//! W20: a server. Requests with timeouts of half a minute to a minute and a few short ones end and begin again.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{Measured, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Need, Queue, filled_with_keys};
use crate::workload::{MILLISECOND, MINUTE, SECOND, SEED, XorShift64Star};

const STEP: u64 = MILLISECOND;
/// How many requests end and begin again in a step, and how many do in all at least.
const EACH_STEP: usize = 200;
const FEWEST: usize = 400_000;

/// The timeout of a request that begins at a time: one in a hundred is short. It does not depend on the order in which
/// those begin that fire in one step.
fn timeout_of(now: u64, request: u32) -> u64 {
    let mut random = XorShift64Star::with_seed((now + u64::from(request)).wrapping_mul(SEED));
    match random.below(100) {
        0 => MILLISECOND * (1 + random.below(50)),
        _ => 30 * SECOND + MILLISECOND * random.below(30_000),
    }
}

pub(super) fn measure<Q: Queue>(n: usize) -> Measured {
    let mut random = XorShift64Star::new();
    let steps = (4 * n).max(FEWEST) / EACH_STEP;
    let ended: Vec<Vec<u64>> = (0..steps).map(|_| random.uniform(EACH_STEP, 0, n as u64)).collect();
    let first: Vec<u64> = (0..n as u32).map(|request| timeout_of(0, request)).collect();

    let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
    let mut whole = Duration::ZERO;
    let mut answer = timed(&mut whole, || serve(&mut queue, &mut keys, &ended, None))?;
    let whole = whole.saturating_sub(queue.clock_cost());
    let mut samples = vec![ns_each(whole, steps * EACH_STEP)];
    let mut left = Answer::default();
    fire_rest(&mut queue, steps as u64 * STEP + MINUTE, &mut left);
    answer.give(left.count);
    drop((queue, keys));

    if Q::has(Need::SingleCalls) {
        let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
        let mut advances = Histogram::new_with_bounds(1, u32::MAX.into(), 3).expect("sound bounds");
        serve(&mut queue, &mut keys, &ended, Some(&mut advances))?;
        samples.extend([advances.value_at_quantile(0.99), advances.max()].map(|ns| ns as f64));
    }
    Ok((answer, samples))
}

/// Notes how long the advances take, in nanoseconds, two readings of the clock included, if anybody asks.
#[inline(never)]
fn serve<Q: Queue>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    ended: &[Vec<u64>],
    mut advances: Option<&mut Histogram<u64>>,
) -> Result<Answer, String> {
    let mut fired = Vec::with_capacity(keys.len());
    let mut answer = Answer::default();
    let mut refused = 0;
    for (step, ended) in (1..).zip(ended) {
        let now = step * STEP;
        for &request in ended {
            let request = request as u32;
            let key = Q::key_of(&request).unwrap_or_else(|| keys[request as usize]);
            refused += usize::from(queue.cancel(key) != Some(request));
            let key = queue.schedule(now + timeout_of(now, request), request);
            if Q::key_of(&request).is_none() {
                keys[request as usize] = key;
            }
        }
        let start = advances.as_ref().map(|_| Instant::now());
        queue.advance(now, |deadline, value| fired.push((deadline, value)));
        if let (Some(advances), Some(start)) = (&mut advances, start) {
            advances.saturating_record(start.elapsed().as_nanos() as u64);
        }
        for (due, request) in fired.drain(..) {
            answer.fire(step, due, request);
            keys[request as usize] = queue.schedule(now + timeout_of(now, request), request);
        }
    }
    if refused == 0 { Ok(answer) } else { Err(format!("refuses {refused} live timers")) }
}
