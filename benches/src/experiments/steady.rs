//! Queues in steady use: timers are postponed, end and begin again, and what fires begins again.
//!
//! W10: the pause mix, for two and a half minutes, in which the longest advance is looked for. W12: many small queues, as
//! of a program that has one for each connection. W20: a server, whose requests have timeouts of half a minute to a
//! minute, and a few short ones.

use std::time::Duration;

use super::{Measured, fire_rest, ns_each};
use crate::answer::Answer;
use crate::clock::{Calls, timed};
use crate::heap::weigh;
use crate::queue::{Need, Queue, filled_with_keys};
use crate::workload::{MILLISECOND, MINUTE, SECOND, SEED, XorShift64Star};

/// What happens in each step, beside an advance.
struct Mix<L> {
    step_ns: u64,
    /// How many timers are postponed, and how many end and begin again.
    postponed: usize,
    ended: usize,
    /// The deadline of a timer that begins at a time. Drawn from what is the same whichever of the timers that fire in
    /// one step a queue yields first.
    later: L,
}

/// From its beginning to its deadline, at most.
const LONGEST: u64 = 3 * MINUTE;

impl<L: Fn(u64, u32) -> u64> Mix<L> {
    /// Uses a queue with timers of these deadlines, and gives its answer and the time it took. If each advance is to be
    /// noted, uses another one in the same way.
    fn measure<Q: Queue>(
        &self,
        first: &[u64],
        touched: &[u64],
        calls: Option<&mut Calls>,
    ) -> Result<(Answer, Duration), String> {
        let mut elapsed = Duration::ZERO;
        let (mut queue, mut keys) = filled_with_keys::<Q>(first);
        let mut answer = timed(&mut elapsed, || self.run(&mut queue, &mut keys, touched, advance))?;
        let elapsed = elapsed.saturating_sub(queue.clock_cost());
        let answer_of_run = answer;
        let end = (touched.len() / (self.postponed + self.ended)) as u64 * self.step_ns;
        fire_rest(&mut queue, end + LONGEST, &mut answer);
        drop((queue, keys));

        if let Some(calls) = calls {
            let (mut queue, mut keys) = filled_with_keys::<Q>(first);
            calls.start_run();
            let again = self.run(&mut queue, &mut keys, touched, |queue, now, fired| {
                calls.start_call();
                advance(queue, now, fired);
                calls.end_call();
            })?;
            if again != answer_of_run {
                return Err("gives another answer the second time".to_owned());
            }
        }
        Ok((answer, elapsed))
    }

    #[inline(never)]
    fn run<Q: Queue>(
        &self,
        queue: &mut Q,
        keys: &mut [Q::Key],
        touched: &[u64],
        mut advance: impl FnMut(&mut Q, u64, &mut Vec<(u64, u32)>),
    ) -> Result<Answer, String> {
        let (mut answer, mut refused) = (Answer::default(), 0);
        let mut fired = Vec::with_capacity(keys.len());
        for (step, touched) in (1..).zip(touched.chunks_exact(self.postponed + self.ended)) {
            let now = step * self.step_ns;
            advance(queue, now, &mut fired);
            for &(deadline, timer) in &fired {
                answer.fire(step, deadline, timer);
            }
            let (postponed, ended) = touched.split_at(self.postponed);
            refused += begin_again(queue, keys, &mut fired, postponed, ended, |timer| (self.later)(now, timer));
        }
        all_were_live(refused).map(|()| answer)
    }
}

#[inline(always)]
fn advance<Q: Queue>(queue: &mut Q, now: u64, fired: &mut Vec<(u64, u32)>) {
    queue.advance(now, |deadline, timer| fired.push((deadline, timer)));
}

/// Schedules what has fired, and what has ended, anew. Gives how many live timers the queue did not know.
#[inline(always)]
fn begin_again<Q: Queue>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    fired: &mut Vec<(u64, u32)>,
    postponed: &[u64],
    ended: &[u64],
    later: impl Fn(u32) -> u64,
) -> usize {
    let mut refused = 0;
    let begin = |queue: &mut Q, keys: &mut [Q::Key], timer: u32| {
        let key = queue.schedule(later(timer), timer);
        if Q::key_of(&timer).is_none() {
            keys[timer as usize] = key;
        }
    };
    for (_, timer) in fired.drain(..) {
        begin(queue, keys, timer);
    }
    for &timer in postponed {
        let was_live = queue.reschedule(&mut keys[timer as usize], later(timer as u32));
        refused += usize::from(!was_live);
    }
    for &timer in ended {
        let timer = timer as u32;
        let key = Q::key_of(&timer).unwrap_or_else(|| keys[timer as usize]);
        refused += usize::from(queue.cancel(key) != Some(timer));
        begin(queue, keys, timer);
    }
    refused
}

fn all_were_live(refused: usize) -> Result<(), String> {
    if refused == 0 { Ok(()) } else { Err(format!("refuses {refused} live timers")) }
}

pub(super) fn pause<Q: Queue>(n: usize) -> Measured {
    const SPAN: u64 = 150 * SECOND;
    const SOONEST: u64 = MINUTE;
    const EACH: usize = 4;
    // With fewer timers than this the steps are longer, so that some are left alone until they fire: each is touched as
    // often as one of a million is.
    const FEW: usize = 10_000;
    const MANY: usize = 1_000_000;

    let steps = (SPAN / MILLISECOND) as usize;
    let steps = if n < FEW { (steps * n / MANY).max(1) } else { steps };
    let mut random = XorShift64Star::new();
    let first = random.uniform(n, SOONEST, LONGEST);
    let touched = random.uniform(2 * EACH * steps, 0, n as u64);
    let later = |now: u64, timer: u32| {
        let seed = now ^ (u64::from(timer) << 38);
        now + SOONEST + XorShift64Star::with_seed(seed).below(LONGEST - SOONEST)
    };
    let mix = Mix { step_ns: SPAN / steps as u64, postponed: EACH, ended: EACH, later };
    let mut calls = Calls::of_the_thread(steps);
    let (answer, elapsed) = mix.measure::<Q>(&first, &touched, Some(&mut calls))?;
    Ok((answer, vec![calls.longest_ns(), elapsed.as_nanos() as f64]))
}

pub(super) fn server<Q: Queue>(n: usize) -> Measured {
    // How many requests end and begin again in a step, and how many do in all at least.
    const EACH: usize = 200;
    const FEWEST: usize = 400_000;

    let steps = (4 * n).max(FEWEST) / EACH;
    let touched = XorShift64Star::new().uniform(steps * EACH, 0, n as u64);
    // One in a hundred is short.
    let later = |now: u64, request: u32| {
        let mut random = XorShift64Star::with_seed((now + u64::from(request)).wrapping_mul(SEED));
        now + match random.below(100) {
            0 => MILLISECOND * (1 + random.below(50)),
            _ => 30 * SECOND + MILLISECOND * random.below(30_000),
        }
    };
    let first: Vec<u64> = (0..n as u32).map(|request| later(0, request)).collect();
    let mix = Mix { step_ns: MILLISECOND, postponed: 0, ended: EACH, later };
    let mut calls = Q::has(Need::SingleCalls).then(|| Calls::on_the_wall(steps));
    let (answer, elapsed) = mix.measure::<Q>(&first, &touched, calls.as_mut())?;
    let mut samples = vec![ns_each(elapsed, steps * EACH)];
    samples.extend(calls.iter().flat_map(|calls| [calls.quantile_ns(0.99), calls.longest_ns()]));
    Ok((answer, samples))
}

const TIMERS_EACH: usize = 10;
const SECONDS: u64 = 30;

/// A queue with the keys of its timers.
type One<Q> = (Q, [<Q as Queue>::Key; TIMERS_EACH]);

/// Weighs what is on the heap for a queue at the end, its own struct included. The keys are the caller's.
pub(super) fn small<Q: Queue>(n: usize) -> Measured {
    // In a second: an advance, a timer postponed, one cancelled and scheduled again.
    const OPERATIONS_EACH: usize = 4;

    let order = XorShift64Star::new().permutation(n as u32);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    let (used, bytes) = weigh(|| {
        let mut all: Vec<One<Q>> = Vec::with_capacity(n);
        all.extend((0..n as u32).map(|at| {
            let mut queue = Q::new(0);
            let keys = std::array::from_fn(|timer| queue.schedule(small_later(0, at, timer as u32), timer as u32));
            (queue, keys)
        }));
        timed(&mut elapsed, || use_all(&mut all, &order, &mut answer)).map(|()| all)
    });
    used?;
    let keys = size_of::<[Q::Key; TIMERS_EACH]>() as f64;
    // What fires is scheduled again.
    let operations = OPERATIONS_EACH * SECONDS as usize * n + answer.count as usize;
    Ok((answer, vec![bytes as f64 / n as f64 - keys, ns_each(elapsed, operations)]))
}

#[inline(never)]
fn use_all<Q: Queue>(all: &mut [One<Q>], order: &[u32], answer: &mut Answer) -> Result<(), String> {
    let (mut fired, mut refused) = (Vec::with_capacity(TIMERS_EACH), 0);
    for second in 1..=SECONDS {
        for &at in order {
            let (queue, keys) = &mut all[at as usize];
            advance(queue, second * SECOND, &mut fired);
            answer.begin();
            for &(deadline, timer) in &fired {
                answer.fire((u64::from(at) << 8) | second, deadline, timer);
            }
            let postponed = drawn(second, at, TIMERS_EACH as u32, TIMERS_EACH as u64);
            let ended = TIMERS_EACH as u64 - 1 - postponed;
            let later = |timer| small_later(second, at, timer);
            refused += begin_again(queue, keys, &mut fired, &[postponed], &[ended], later);
        }
    }
    all_were_live(refused)
}

/// The deadline of a timer that begins now, of a small queue.
fn small_later(second: u64, queue: u32, timer: u32) -> u64 {
    second * SECOND + 1 + drawn(second, queue, timer, SECONDS * SECOND)
}

/// A number drawn from what is the same for every subject.
fn drawn(second: u64, queue: u32, timer: u32, bound: u64) -> u64 {
    let seed = (second << 40) | (u64::from(queue) << 8) | u64::from(timer);
    XorShift64Star::with_seed(seed).below(bound)
}
