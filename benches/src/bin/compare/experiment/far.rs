//! W14: timers beyond the horizon, each in another rotation, and a stop at each of them.

use std::time::{Duration, Instant};

use timer_wheel::{Geometry, Micros};
use timer_wheel_bench::queue::{Promise, Queue};
use timer_wheel_bench::workload::XorShift64Star;

use super::ns_each;
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{FAR, Sample};

/// A rotation of the highest level of `Micros`: those of the others are too long for many.
const ROTATION_BITS: u32 = Micros::TICK_BITS + {
    let [first, second, third, fourth] = Micros::LEVEL_BITS;
    first + second + third + fourth
};
/// As many rotations as time has, with some to spare.
const MOST: usize = 1 << (u64::BITS - ROTATION_BITS - 1);
/// A queue that looks through all its far timers at each stop is stopped, and counts for what it did.
const PATIENCE: Duration = Duration::from_secs(2);
/// Stops between two looks at the clock.
const STOPS: u64 = 16;

pub(crate) struct Input {
    /// In order, each with its place in that order as its value.
    deadlines: Vec<u64>,
    /// The order in which they are scheduled.
    order: Vec<u32>,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let n = n.min(MOST);
        let mut random = XorShift64Star::new();
        Self {
            deadlines: (2..2 + n as u64)
                .map(|rotation| (rotation << ROTATION_BITS) + random.below(1 << ROTATION_BITS))
                .collect(),
            order: random.permutation(n as u32),
        }
    }
}

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut queue = Q::new(0);
    for &timer in &input.order {
        queue.schedule(input.deadlines[timer as usize], timer);
    }
    let mut fired = Digest::new(Promise::FirstComeFirstServed);
    let start = Instant::now();
    let stops = stop_at_each(&mut queue, &input.deadlines, &mut fired, start);
    let elapsed = start.elapsed();
    let mut expected = Digest::new(Promise::FirstComeFirstServed);
    (0..stops).for_each(|stop| expected.add(stop, stop as u32));
    expected.check(fired, Q::NAME)?;
    Ok(vec![FAR.sample(ns_each(elapsed, stops as usize))])
}

/// Gives how many stops were made.
#[inline(never)]
fn stop_at_each<Q: Queue>(
    queue: &mut Q,
    deadlines: &[u64],
    fired: &mut Digest,
    start: Instant,
) -> u64 {
    let mut stops = 0;
    for &deadline in deadlines {
        queue.advance(deadline, |_, value| fired.add(stops, value));
        stops += 1;
        if stops % STOPS == 0 && start.elapsed() > PATIENCE {
            break;
        }
    }
    stops
}
