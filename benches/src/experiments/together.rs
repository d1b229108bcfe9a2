//! W22: a burst. Timers due within four milliseconds are armed in an empty queue, and one advance fires all of them. The
//! queue is kept for the next burst, as a runtime keeps its own.

use std::time::Duration;

use super::fill::schedule_all;
use super::{Answered, Samples, Tally, fire_in_steps, ns_each, room_for_keys};
use crate::answer::Answer;
use crate::clock::timed;
use crate::queue::{Queue, filled};
use crate::workload::{MILLISECOND, STEP, XorShift64Star};

/// After the tick in which they are armed, and within a rotation of the finest level: no timer is moved on its way.
const EARLIEST: u64 = 10 * MILLISECOND;
const LATEST: u64 = EARLIEST + 4 * MILLISECOND;
const ALL_DUE: u64 = LATEST.next_multiple_of(STEP);
/// The fewest timers that are timed: a hundred alone would be over before the clock tells much.
const FEWEST_TIMERS: usize = 200_000;

pub(super) const SIZES: [usize; 5] = [100, 1_000, 4_096, 10_000, 100_000];

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut deadlines = XorShift64Star::new().uniform(n, EARLIEST, LATEST);
    let mut keys = room_for_keys::<Q>(n);
    let (mut queue, mut now, mut answer): (Q, _, _) = (filled(&deadlines), ALL_DUE, Answer::default());
    fire_in_steps(&mut queue, 1, ALL_DUE, &mut answer);
    queue.clock_cost();
    let [mut arm, mut expire] = [Duration::ZERO; 2];
    let passes = FEWEST_TIMERS.div_ceil(n);
    for _ in 0..passes {
        now += ALL_DUE;
        deadlines.iter_mut().for_each(|deadline| *deadline += ALL_DUE);
        timed(&mut arm, || schedule_all(&mut queue, &deadlines, &mut keys, || ()));
        let fired = timed(&mut expire, || fire_all(&mut queue, now));
        expire = expire.saturating_sub(queue.clock_cost());
        fired.give(&mut answer);
    }
    let [arm, expire] = [arm, expire].map(|elapsed| ns_each(elapsed, passes * n));
    samples.extend([("W22 arm", arm), ("W22 expire", expire), ("W22 in all", arm + expire)]);
    Ok(answer)
}

/// Without the digest of an answer, which takes longer than a walk through a tree.
#[inline(never)]
fn fire_all<Q: Queue>(queue: &mut Q, now: u64) -> Tally {
    let mut fired = Tally::default();
    queue.advance(now, |_, value| fired.add(value));
    fired
}
