//! W14: timers beyond the horizon, each in another rotation, and a stop at each of them.

use std::time::Duration;

use timer_wheel::{Geometry, Micros};

use super::{Answered, Samples, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::Queue;
use crate::workload::XorShift64Star;

/// A rotation of the highest level of `Micros`: those of the others are too long for many.
const ROTATION_BITS: u32 = Micros::TICK_BITS + {
    let [first, second, third, fourth] = Micros::LEVEL_BITS;
    first + second + third + fourth
};
/// As many rotations as time has, with some to spare.
const MOST: usize = 1 << (u64::BITS - ROTATION_BITS - 1);

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let n = n.min(MOST);
    let mut random = XorShift64Star::new();
    let rotations = 2..2 + n as u64;
    let deadlines = rotations.map(|rotation| (rotation << ROTATION_BITS) + random.below(1 << ROTATION_BITS));
    let deadlines: Vec<u64> = deadlines.collect();
    let mut queue = Q::new(0);
    for timer in random.permutation(n as u32) {
        queue.schedule(deadlines[timer as usize], timer);
    }
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    timed(&mut elapsed, || stop_at_each(&mut queue, &deadlines, &mut answer));
    samples.push(("W14 expire, far", ns_each(elapsed, n)));
    Ok(answer)
}

#[inline(never)]
fn stop_at_each<Q: Queue>(queue: &mut Q, deadlines: &[u64], answer: &mut Answer) {
    for (&deadline, stop) in deadlines.iter().zip(0..) {
        queue.advance(deadline, |deadline, value| answer.fire(stop, deadline, value));
    }
}
