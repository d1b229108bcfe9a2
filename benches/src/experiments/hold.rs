//! W11: hold, the classic of event queues. Take the earliest event, schedule another after it.
//!
//! The distributions are the usual ones of that literature, here with a mean of a millisecond.

use std::time::Duration;

use super::{Answered, Samples, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::Queue;
use crate::workload::{MILLISECOND, XorShift64Star};

/// How many increments are drawn; then they come again.
const DRAWN: usize = 1 << 16;
const FEWEST_HOLDS: usize = 500_000;

/// Draws a number with a mean of one from numbers in [0, 1).
type Distribution = fn(&mut dyn FnMut() -> f64) -> f64;

const SHAPES: [(&str, Distribution); 5] = [
    ("W11 hold exponential", |unit| -(1.0 - unit()).ln()),
    ("W11 hold uniform", |unit| 2.0 * unit()),
    // Nine in ten are short.
    ("W11 hold bimodal", |unit| if unit() < 0.9 { 0.1 * unit() } else { 9.5 + 0.1 * unit() }),
    ("W11 hold triangular", |unit| 1.5 * unit().sqrt()),
    ("W11 hold nearly constant", |unit| 0.9 + 0.2 * unit()),
];

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    // As many bits as a float has.
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let mut answer = Answer::default();
    for (figure, distribution) in SHAPES {
        let drawn = (0..DRAWN).map(|_| (MILLISECOND as f64 * distribution(&mut unit)) as u64);
        let drawn: Vec<u64> = drawn.collect();
        let mut increments = drawn.iter().copied().cycle();
        let mut queue = Q::new(0);
        answer.begin();
        for (deadline, value) in increments.by_ref().zip(0..n as u32) {
            queue.schedule(deadline, value);
        }
        let holds = n.max(FEWEST_HOLDS);
        // A steady distribution of what is scheduled is come to first.
        hold(&mut queue, n, &mut increments, &mut answer);
        let mut elapsed = Duration::ZERO;
        timed(&mut elapsed, || hold(&mut queue, holds, &mut increments, &mut answer));
        samples.push((figure, ns_each(elapsed, holds)));
        while let Some((deadline, _)) = queue.pop_first() {
            answer.fire(1, deadline, 0);
        }
    }
    Ok(answer)
}

/// As nothing is ever scheduled before what was taken last, an exact queue gives its events in ascending order. Which of
/// those of one deadline comes first is its own affair.
#[inline(never)]
fn hold<Q: Queue>(queue: &mut Q, holds: usize, increments: &mut impl Iterator<Item = u64>, answer: &mut Answer) {
    for increment in increments.take(holds) {
        let Some((now, value)) = queue.pop_first() else {
            return;
        };
        answer.fire(0, now, 0);
        queue.schedule(now + increment, value);
    }
}
