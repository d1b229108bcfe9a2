//! W15: the longest single calls while a great many timers are scheduled, and after they have gone.

use cpu_time::ThreadTime;

use super::fill::{cancel_all, in_order_of, schedule_all};
use super::{Answered, Samples, room_for_keys};
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
    schedule_all(&mut queue, &deadlines, &mut keys, || calls.end_call());
    samples.push(("W15 longest schedule", longest(calls.end_run())));
    cancel_all(&mut queue, &in_order_of(others, &keys), || ()).give(&mut answer);
    samples.push(("W15 clear of 10 after the peak", time(|| queue.clear())));
    // A queue that was cleared fires nothing, and can be used again.
    queue.schedule(HOUR, 0);
    queue.advance(2 * HOUR, |_, value| answer.give(value.into()));

    let mut queue = Q::new(0);
    schedule_all(&mut queue, &deadlines, &mut keys, || ());
    cancel_all(&mut queue, &in_order_of(others, &keys), || ()).give(&mut answer);
    samples.push(("W15 drop of 10 after the peak", time(|| drop(queue))));

    // Half as many, all in one tick.
    let crowd = random.uniform(n.div_ceil(2), CROWD, CROWD + CROWDED);
    let mut queue = Q::new(0);
    schedule_all(&mut queue, &crowd, &mut keys, || ());
    // One timer fires, and with it a queue that sorts the others of its tick has sorted them.
    let first = if Q::has(Need::First) { queue.pop_expired(CROWD + CROWDED) } else { None };
    let order = random.permutation(crowd.len() as u32);
    let in_order = in_order_of(&order, &keys);
    calls.start_run();
    let mut gone = cancel_all(&mut queue, &in_order, || calls.end_call());
    if Q::has(Need::First) {
        samples.push(("W15 longest cancel of collected", longest(calls.end_run())));
    }
    if let Some((_, first)) = first {
        gone.add(first);
    }
    gone.give(&mut answer);
    Ok(answer)
}

fn time(work: impl FnOnce()) -> f64 {
    let start = ThreadTime::read();
    work();
    f64::from(ThreadTime::read().ns_since(start))
}
