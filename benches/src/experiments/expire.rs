//! W2: fire everything within a minute, in steps of a tick. W9: how Caffeine's own benchmark of its timer wheel expires.
//!
//! Size and span of W9 are those of `TimerWheelBenchmark` in Caffeine's repository; there time goes back before every expiry,
//! here it runs on until all have fired.

use std::time::Duration;

use super::{Answered, Samples, fire_in_steps, ns_each, passes};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::rivals::COARSE;
use crate::workload::{HOUR, MILLISECOND, MINUTE, SECOND, STEP, XorShift64Star};

/// How many timers Caffeine has, whatever the size of other experiments.
pub(super) const CAFFEINE: usize = 32_768;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, MINUTE);
    measure_passes::<Q>(passes(n), &deadlines, STEP, "W2 expire", samples)
}

/// Five days in steps of five minutes, both in whole ticks of Caffeine's geometry.
pub(super) fn measure_caffeine<Q: Queue>(_: usize, samples: &mut Samples) -> Answered {
    let span = (5 * 24 * HOUR).next_multiple_of(COARSE);
    let deadlines = XorShift64Star::new().uniform(CAFFEINE, SECOND, span);
    measure_passes::<Q>(8, &deadlines, (5 * MINUTE).next_multiple_of(COARSE), "W9 expire in 5 min steps", samples)
}

fn measure_passes<Q: Queue>(
    passes: usize,
    deadlines: &[u64],
    step_ns: u64,
    figure: &'static str,
    samples: &mut Samples,
) -> Answered {
    let steps = deadlines.iter().max().map_or(0, |last| last.div_ceil(step_ns));
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    for _ in 0..passes {
        let mut queue: Q = filled(deadlines);
        answer.begin();
        timed(&mut elapsed, || fire_in_steps(&mut queue, steps, step_ns, &mut answer));
        elapsed = elapsed.saturating_sub(queue.clock_cost());
    }
    samples.push((figure, ns_each(elapsed, deadlines.len() * passes)));
    Ok(answer)
}
