//! W10: the pause mix. Timers fire and begin again, are postponed, end and begin, for two and a half minutes, and the
//! longest advance is looked for.

use std::time::Duration;

use super::Measured;
use crate::answer::Answer;
use crate::clock::{Calls, timed};
use crate::queue::{Queue, filled_with_keys};
use crate::workload::{MILLISECOND, MINUTE, SECOND, XorShift64Star};

const SPAN: u64 = 150 * SECOND;
const SOONEST: u64 = MINUTE;
const LATEST: u64 = 3 * MINUTE;
/// How many are postponed in each step, and how many end and begin again.
const EACH: usize = 4;
/// With fewer timers than this the steps are longer, so that some are left alone until they fire: each is touched as
/// often as one of a million is.
const FEW: usize = 10_000;
const MANY: usize = 1_000_000;

pub(super) fn measure<Q: Queue>(n: usize) -> Measured {
    let mut random = XorShift64Star::new();
    let steps = (SPAN / MILLISECOND) as usize;
    let steps = if n < FEW { (steps * n / MANY).max(1) } else { steps };
    let first = random.uniform(n, SOONEST, LATEST);
    let touched = random.uniform(2 * EACH * steps, 0, n as u64);
    let mut answer = Answer::default();

    let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
    let mut whole = Duration::ZERO;
    timed(&mut whole, || use_steadily(&mut queue, &mut keys, &touched, &mut answer, advance))?;
    drop((queue, keys));

    let (mut queue, mut keys) = filled_with_keys::<Q>(&first);
    let mut calls = Calls::of_the_thread(steps);
    answer.begin();
    use_steadily(&mut queue, &mut keys, &touched, &mut answer, |queue, now, fired| {
        calls.start_call();
        advance(queue, now, fired);
        calls.end_call();
    })?;
    Ok((answer, vec![calls.longest_ns(), whole.as_nanos() as f64]))
}

#[inline(never)]
fn use_steadily<Q: Queue>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    touched: &[u64],
    answer: &mut Answer,
    mut advance: impl FnMut(&mut Q, u64, &mut Vec<(u64, u32)>),
) -> Result<(), String> {
    let step_ns = SPAN / (touched.len() / (2 * EACH)) as u64;
    let mut fired = Vec::with_capacity(keys.len());
    let mut refused = 0;
    for (step, touched) in (1..).zip(touched.chunks_exact(2 * EACH)) {
        let now = step * step_ns;
        advance(queue, now, &mut fired);
        for (deadline, timer) in fired.drain(..) {
            answer.fire(step, deadline, timer);
            keys[timer as usize] = queue.schedule(later(now, timer), timer);
        }
        let (put_off, ended) = touched.split_at(EACH);
        for &timer in put_off {
            let was_live = queue.reschedule(&mut keys[timer as usize], later(now, timer as u32));
            refused += usize::from(!was_live);
        }
        for &timer in ended {
            let value = queue.cancel(keys[timer as usize]);
            refused += usize::from(value != Some(timer as u32));
            keys[timer as usize] = queue.schedule(later(now, timer as u32), timer as u32);
        }
    }
    if refused == 0 { Ok(()) } else { Err(format!("refuses {refused} live timers")) }
}

/// The deadline of a timer that begins now. Drawn from what is the same whichever of two timers with one deadline a
/// queue yields first.
fn later(now: u64, timer: u32) -> u64 {
    let seed = now ^ (u64::from(timer) << 38);
    now + SOONEST + XorShift64Star::with_seed(seed).below(LATEST - SOONEST)
}

#[inline(always)]
fn advance<Q: Queue>(queue: &mut Q, now: u64, fired: &mut Vec<(u64, u32)>) {
    queue.advance(now, |deadline, value| fired.push((deadline, value)));
}
