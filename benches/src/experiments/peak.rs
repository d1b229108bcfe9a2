//! W15: the longest single calls while a great many timers are scheduled, and after they have gone.

use cpu_time::ThreadTime;

use super::{Answered, Samples, Tally, room_for_keys};
use crate::answer::Answer;
use crate::clock::{Calls, Clock, longest};
use crate::queue::{Need, Queue};
use crate::workload::{HOUR, MILLISECOND, SECOND, XorShift64Star};

/// What is left of the peak.
const SURVIVORS: usize = 10;
/// When the crowd is due, and over how long, all within a tick.
const CROWD: u64 = 30 * SECOND;
const CROWDED: u64 = 1_000;

pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let deadlines = random.uniform(n, MILLISECOND, HOUR);
    let order = random.permutation(n as u32);
    let others = &order[SURVIVORS.min(n)..];
    let mut answer = Answer::default();
    let mut calls = Calls::<ThreadTime>::with_capacity(n);
    let mut keys = room_for_keys::<Q>(n);

    let mut queue = Q::new(0);
    calls.start_run();
    schedule_each(&mut queue, &deadlines, &mut keys, || calls.end_call());
    samples.push(("W15 longest schedule", longest(calls.end_run())));
    cancel_each(&mut queue, others, &keys, || ()).give(&mut answer);
    samples.push(("W15 clear of 10 after the peak", time(|| queue.clear())));
    // A queue that was cleared fires nothing, and can be used again.
    queue.schedule(HOUR, 0);
    queue.advance(2 * HOUR, |_, value| answer.give(value.into()));

    let mut queue = Q::new(0);
    schedule_each(&mut queue, &deadlines, &mut keys, || ());
    cancel_each(&mut queue, others, &keys, || ()).give(&mut answer);
    samples.push(("W15 drop of 10 after the peak", time(|| drop(queue))));

    // Half as many, all in one tick.
    let crowd = random.uniform(n.div_ceil(2), CROWD, CROWD + CROWDED);
    let mut queue = Q::new(0);
    schedule_each(&mut queue, &crowd, &mut keys, || ());
    // One timer fires, and with it a queue that sorts the others of its tick has sorted them.
    let first = if Q::has(Need::First) { queue.pop_expired(CROWD + CROWDED) } else { None };
    let order = random.permutation(crowd.len() as u32);
    calls.start_run();
    let mut gone = cancel_each(&mut queue, &order, &keys, || calls.end_call());
    if Q::has(Need::First) {
        samples.push(("W15 longest cancel of collected", longest(calls.end_run())));
    }
    if let Some((_, first)) = first {
        gone.add(first);
    }
    gone.give(&mut answer);
    Ok(answer)
}

#[inline(never)]
fn schedule_each<Q: Queue>(queue: &mut Q, deadlines: &[u64], keys: &mut [Q::Key], mut end_call: impl FnMut()) {
    for ((key, &deadline), value) in keys.iter_mut().zip(deadlines).zip(0..) {
        *key = queue.schedule(deadline, value);
        end_call();
    }
}

#[inline(never)]
fn cancel_each<Q: Queue>(queue: &mut Q, order: &[u32], keys: &[Q::Key], mut end_call: impl FnMut()) -> Tally {
    let mut cancelled = Tally::default();
    for &timer in order {
        if let Some(value) = queue.cancel(keys[timer as usize]) {
            cancelled.add(value);
        }
        end_call();
    }
    cancelled
}

fn time(work: impl FnOnce()) -> f64 {
    let start = ThreadTime::read();
    work();
    f64::from(ThreadTime::read().ns_since(start))
}
