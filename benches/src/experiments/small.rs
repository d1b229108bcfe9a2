//! W12: many small queues, as of a program that has one for each connection.

use std::time::Duration;

use super::{Measured, ns_each};
use crate::answer::Answer;
use crate::clock::timed;
use crate::heap::weigh;
use crate::queue::Queue;
use crate::workload::{SECOND, XorShift64Star};

const TIMERS_EACH: usize = 10;
const SECONDS: u64 = 30;
const LATEST: u64 = 30 * SECOND;
/// In a second: an advance, a timer postponed, one cancelled and scheduled again.
const OPERATIONS_EACH: usize = 4;

/// A queue with the keys of its timers.
type One<Q> = (Q, [<Q as Queue>::Key; TIMERS_EACH]);

/// Weighs what is on the heap for a queue at the end, its own struct included. The keys are the caller's.
pub(super) fn measure<Q: Queue>(n: usize) -> Measured {
    let order = XorShift64Star::new().permutation(n as u32);
    let (mut elapsed, mut answer) = (Duration::ZERO, Answer::default());
    let (_all, bytes) = weigh(|| {
        let mut all: Vec<One<Q>> = Vec::with_capacity(n);
        all.extend((0..n as u32).map(|at| {
            let mut queue = Q::new(0);
            let keys = std::array::from_fn(|timer| queue.schedule(later(0, at, timer), timer as u32));
            (queue, keys)
        }));
        timed(&mut elapsed, || use_all(&mut all, &order, &mut answer));
        all
    });
    let keys = size_of::<[Q::Key; TIMERS_EACH]>() as f64;
    // What fires is scheduled again.
    let operations = OPERATIONS_EACH * SECONDS as usize * n + answer.count as usize;
    Ok((answer, vec![bytes as f64 / n as f64 - keys, ns_each(elapsed, operations)]))
}

#[inline(never)]
fn use_all<Q: Queue>(all: &mut [One<Q>], order: &[u32], answer: &mut Answer) {
    for second in 1..=SECONDS {
        for &at in order {
            use_for_a_second(&mut all[at as usize], second, at, answer);
        }
    }
}

/// A number drawn from what is the same for every subject.
fn drawn(second: u64, queue: u32, timer: usize, bound: u64) -> u64 {
    let seed = (second << 40) | (u64::from(queue) << 8) | timer as u64;
    XorShift64Star::with_seed(seed).below(bound)
}

/// The deadline of a timer that begins now.
fn later(second: u64, queue: u32, timer: usize) -> u64 {
    second * SECOND + 1 + drawn(second, queue, timer, LATEST)
}

fn use_for_a_second<Q: Queue>((queue, keys): &mut One<Q>, second: u64, at: u32, answer: &mut Answer) {
    let (mut fired, mut count) = ([(0, 0); TIMERS_EACH], 0);
    queue.advance(second * SECOND, |deadline, value| {
        fired[count] = (deadline, value);
        count += 1;
    });
    answer.begin();
    for &(deadline, timer) in &fired[..count] {
        answer.fire((u64::from(at) << 8) | second, deadline, timer);
        keys[timer as usize] = queue.schedule(later(second, at, timer as usize), timer);
    }
    let postponed = drawn(second, at, TIMERS_EACH, TIMERS_EACH as u64) as usize;
    let ended = TIMERS_EACH - 1 - postponed;
    let was_live = queue.reschedule(&mut keys[postponed], later(second, at, postponed));
    answer.give(u64::from(was_live));
    answer.give(queue.cancel(keys[ended]).map_or(u64::MAX - 1, u64::from));
    keys[ended] = queue.schedule(later(second, at, ended), ended as u32);
}
