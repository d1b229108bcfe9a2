//! W16 and W20: the server mix. Requests end and begin again: in W16 with one timeout, and every call is timed; in W20 with
//! timeouts of half a minute to a minute and a few short ones.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{Answered, Samples, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::{Clock, timed};
use crate::queue::{Need, Queue, filled_with_keys};
use crate::workload::{MILLISECOND, MINUTE, SECOND, SEED, XorShift64Star};

const STEP: u64 = MILLISECOND;
const STEPS: u64 = 20_000;
/// Fewer requests are there for their answers: they take a tenth of the steps.
const FEW: usize = 10_000;
/// How many requests end in a step. In every thousandth it is one in twenty.
const REGULAR: usize = 20;
const ROUND: u64 = 1_000;
const ONE_IN: usize = 20;

/// The figures of schedules, of cancels and of advances.
const FIGURES: [[&str; 2]; 3] = [
    ["W16 p99 of schedules", "W16 p99.9 of schedules"],
    ["W16 p99 of cancels", "W16 p99.9 of cancels"],
    ["W16 p99 of advances", "W16 p99.9 of advances"],
];
const QUANTILES: [f64; 2] = [0.99, 0.999];
const SCHEDULE: usize = 0;
const CANCEL: usize = 1;
const ADVANCE: usize = 2;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let timeout = SECOND * if n <= FEW { 5 } else { 30 };
    // As if the requests had begun one after the other.
    let first: Vec<u64> = (1..=n as u64).map(|request| timeout * request / n as u64).collect();
    let steps = 1..=if n < FEW { STEPS / 10 } else { STEPS };
    let ended = steps.map(|step| {
        let count = if step % ROUND == 0 { n / ONE_IN } else { REGULAR };
        random.uniform(count, 0, n as u64)
    });
    let ended: Vec<Vec<u64>> = ended.collect();

    let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
    let mut each = Watch::<true>::new();
    let mut answer = serve(&mut queue, &mut keys, &ended, |_, _| timeout, &mut each)?;
    for (figures, histogram) in FIGURES.iter().zip(&each.0) {
        let ns = QUANTILES.map(|quantile| histogram.value_at_quantile(quantile) as f64);
        samples.extend(figures.iter().copied().zip(ns));
    }
    let mut left = Answer::default();
    fire_rest(&mut queue, ended.len() as u64 * STEP + timeout, &mut left);
    answer.give(left.count);
    Ok(answer)
}

/// How many slots of W20 end and begin again in a step, and how many do in all at least.
const SLOTS_A_STEP: usize = 200;
const FEWEST_SLOTS: usize = 400_000;

/// The timeout of a slot of W20 that begins at a time: one in a hundred is short. It does not depend on the order in which
/// those begin that fire in one step.
fn timeout_of(now: u64, slot: u32) -> u64 {
    let mut random = XorShift64Star::with_seed((now + u64::from(slot)).wrapping_mul(SEED));
    match random.below(100) {
        0 => MILLISECOND * (1 + random.below(50)),
        _ => 30 * SECOND + MILLISECOND * random.below(30_000),
    }
}

pub(super) fn measure_slots<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let steps = (4 * n).max(FEWEST_SLOTS) / SLOTS_A_STEP;
    let ended: Vec<Vec<u64>> = (0..steps).map(|_| random.uniform(SLOTS_A_STEP, 0, n as u64)).collect();
    let first: Vec<u64> = (0..n as u32).map(|slot| timeout_of(0, slot)).collect();

    let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
    let (mut whole, mut untimed) = (Duration::ZERO, Watch::<false>::new());
    let mut answer = timed(&mut whole, || serve(&mut queue, &mut keys, &ended, timeout_of, &mut untimed))?;
    let whole = whole.saturating_sub(queue.clock_cost());
    samples.push(("W20 end and begin", ns_each(whole, steps * SLOTS_A_STEP)));
    let mut left = Answer::default();
    fire_rest(&mut queue, steps as u64 * STEP + MINUTE, &mut left);
    answer.give(left.count);
    drop((queue, keys));

    if Q::has(Need::SingleCalls) {
        let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
        let mut each = Watch::<true>::new();
        serve(&mut queue, &mut keys, &ended, timeout_of, &mut each)?;
        samples.push(("W20 p99 of advances", each.0[ADVANCE].value_at_quantile(0.99) as f64));
        samples.push(("W20 longest advance", each.0[ADVANCE].max() as f64));
    }
    Ok(answer)
}

#[inline(never)]
fn serve<Q: Queue, const IS_TIMED: bool>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    ended: &[Vec<u64>],
    timeout: impl Fn(u64, u32) -> u64,
    watch: &mut Watch<IS_TIMED>,
) -> Answered {
    let mut fired = Vec::with_capacity(keys.len());
    let mut answer = Answer::default();
    let mut refused = 0;
    for (step, ended) in (1..).zip(ended) {
        let now = step * STEP;
        for &request in ended {
            let request = request as u32;
            let key = Q::key_of(&request).unwrap_or_else(|| keys[request as usize]);
            let value = watch.call(CANCEL, || queue.cancel(key));
            refused += usize::from(value != Some(request));
            let deadline = now + timeout(now, request);
            let key = watch.call(SCHEDULE, || queue.schedule(deadline, request));
            if Q::key_of(&request).is_none() {
                keys[request as usize] = key;
            }
        }
        watch.call(ADVANCE, || queue.advance(now, |deadline, value| fired.push((deadline, value))));
        for (due, request) in fired.drain(..) {
            answer.fire(step, due, request);
            let deadline = now + timeout(now, request);
            keys[request as usize] = watch.call(SCHEDULE, || queue.schedule(deadline, request));
        }
    }
    if refused == 0 { Ok(answer) } else { Err(format!("refuses {refused} live timers")) }
}

/// The calls of each operation, in nanoseconds, two readings of the clock included; none if they are not timed.
struct Watch<const IS_TIMED: bool>([Histogram<u64>; 3]);

impl<const IS_TIMED: bool> Watch<IS_TIMED> {
    fn new() -> Self {
        Self([(); 3].map(|()| Histogram::new_with_bounds(1, u32::MAX.into(), 3).expect("sound bounds")))
    }

    #[inline(always)]
    fn call<R>(&mut self, operation: usize, work: impl FnOnce() -> R) -> R {
        if !IS_TIMED {
            return work();
        }
        let start = Instant::now();
        let result = work();
        let ns = Instant::now().ns_since(start);
        self.0[operation].saturating_record(ns.into());
        result
    }
}
