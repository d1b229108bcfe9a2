//! W2 and W2j: fire everything within a minute, in small steps or in larger ones.

use std::time::Duration;

use super::{Answered, Samples, fire_in_steps, ns_each, passes};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::workload::{MILLISECOND, MINUTE, STEP, XorShift64Star};

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    measure_in_steps::<Q>(n, STEP, "W2 expire", samples)
}

pub(super) fn measure_jumping<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    measure_in_steps::<Q>(n, 16 * STEP, "W2j expire, 16 ticks a step", samples)
}

fn measure_in_steps<Q: Queue>(n: usize, step_ns: u64, figure: &'static str, samples: &mut Samples) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, MINUTE);
    let last = deadlines.iter().max().map_or(0, |last| last.div_ceil(step_ns));
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    for _ in 0..passes(n) {
        let mut queue: Q = filled(&deadlines);
        answer.begin();
        timed(&mut elapsed, || fire_in_steps(&mut queue, last, step_ns, &mut answer));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
    }
    samples.push((figure, ns_each(elapsed, n * passes(n))));
    Ok(answer)
}
