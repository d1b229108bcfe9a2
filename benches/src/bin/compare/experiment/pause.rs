//! W10: the pause mix. Timers fire and begin again, are postponed, end and begin, for two and a half
//! minutes, and the longest advance is looked for.

use std::time::Duration;

use cpu_time::ThreadTime;
use timer_wheel_bench::queue::{Cancel, Promise, Queue, Reschedule};
use timer_wheel_bench::workload::{MILLISECOND, MINUTE, SECOND, XorShift64Star};

use super::calls::Calls;
use super::lives::{Steps, Touch};
use super::sizes::Sizes;
use super::timed;
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{PAUSE_LONGEST, PAUSE_TAIL, PAUSE_WHOLE, Sample};

const SPAN: u64 = 150 * SECOND;
const SOONEST: u64 = MINUTE;
const LATEST: u64 = 3 * MINUTE;
/// How many are postponed in each step, and how many end and begin again.
const EACH: usize = 4;
/// With fewer timers than this the steps are longer, so that some are left alone until they fire: each is
/// touched as often as one of a million is.
const FEW: usize = 10_000;
const MANY: usize = 1_000_000;

/// A million is not yet what shows the longest calls.
pub(crate) const SIZES: Sizes = Sizes::Beyond {
    asked: 1_000_000,
    n: 4_000_000,
};

pub(crate) struct Input {
    steps: Steps,
    first: Vec<u64>,
    touched: Vec<[u32; 2 * EACH]>,
    fired: Digest,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let count = SPAN / MILLISECOND;
        let count = if n < FEW {
            (count * n as u64 / MANY as u64).max(1)
        } else {
            count
        };
        let steps = Steps {
            count,
            step_ns: SPAN / count,
            touch: Touch::AfterAdvance,
        };
        let first = random.uniform(n, SOONEST, LATEST);
        let mut draw = |_| random.below(n as u64) as u32;
        let touched: Vec<_> = (0..steps.count)
            .map(|_| std::array::from_fn(&mut draw))
            .collect();
        let touches = (1..)
            .zip(&touched)
            .flat_map(|(step, timers)| timers.iter().map(move |&timer| (step, timer)));
        let fired = steps.follow(&first, touches, |step, timer| {
            later(steps.end_of(step), timer)
        });
        Self {
            steps,
            first,
            touched,
            fired,
        }
    }

    fn fill<Q: Queue>(&self) -> (Q, Vec<Q::Key>) {
        let mut queue = Q::new(0);
        let keys = self.first.iter().zip(0..);
        let keys = keys
            .map(|(&deadline, value)| queue.schedule(deadline, value))
            .collect();
        (queue, keys)
    }

    fn check<Q: Queue>(&self, run: Run) -> Result<(), WrongAnswer> {
        if run.refused > 0 {
            let fault = format!("refused {} live timers", run.refused);
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        self.fired.check(run.fired, Q::NAME)
    }
}

/// The deadline of a timer that begins now. Drawn from what is the same whichever of two timers with
/// one deadline a queue yields first.
fn later(now: u64, timer: u32) -> u64 {
    let seed = now ^ (u64::from(timer) << 38);
    now + SOONEST + XorShift64Star::with_seed(seed).below(LATEST - SOONEST)
}

pub(crate) fn measure<Q: Cancel + Reschedule>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut whole = Duration::ZERO;
    let (mut queue, mut keys) = input.fill::<Q>();
    let run = timed(&mut whole, || {
        use_steadily(&mut queue, &mut keys, input, advance)
    });
    input.check::<Q>(run)?;
    drop(queue);

    let mut calls = Calls::<ThreadTime>::with_capacity(input.touched.len());
    let (mut queue, mut keys) = input.fill::<Q>();
    calls.start_run();
    let run = use_steadily(&mut queue, &mut keys, input, |queue, now, fired| {
        calls.start_call();
        advance(queue, now, fired);
        calls.end_call();
    });
    input.check::<Q>(run)?;
    let calls = calls.end_run();
    Ok(vec![
        PAUSE_LONGEST.sample(f64::from(calls.longest_ns)),
        PAUSE_TAIL.sample(f64::from(calls.tail_ns)),
        PAUSE_WHOLE.sample(whole.as_nanos() as f64),
    ])
}

/// What came of a run.
struct Run {
    fired: Digest,
    /// How many live timers could not be postponed or cancelled.
    refused: usize,
}

#[inline(always)]
fn advance<Q: Queue>(queue: &mut Q, now: u64, fired: &mut Vec<u32>) {
    queue.advance(now, |_, value| fired.push(value));
}

#[inline(never)]
fn use_steadily<Q: Cancel + Reschedule>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    input: &Input,
    mut advance: impl FnMut(&mut Q, u64, &mut Vec<u32>),
) -> Run {
    let mut run = Run {
        fired: Digest::new(Promise::StepOrder),
        refused: 0,
    };
    let mut fired = Vec::with_capacity(input.first.len());
    for (step, touched) in (1..).zip(&input.touched) {
        let now = input.steps.end_of(step);
        advance(queue, now, &mut fired);
        for timer in fired.drain(..) {
            run.fired.add(step, timer);
            keys[timer as usize] = queue.schedule(later(now, timer), timer);
        }
        let (put_off, ended) = touched.split_at(EACH);
        for &timer in put_off {
            let was_live = queue.reschedule(&mut keys[timer as usize], later(now, timer));
            run.refused += usize::from(!was_live);
        }
        for &timer in ended {
            let value = queue.cancel(keys[timer as usize]);
            run.refused += usize::from(value != Some(timer));
            keys[timer as usize] = queue.schedule(later(now, timer), timer);
        }
    }
    run
}
