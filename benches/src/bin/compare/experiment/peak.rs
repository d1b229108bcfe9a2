//! W15: the longest single calls while a great many timers are scheduled, and after they have gone.

use cpu_time::ThreadTime;
use timer_wheel_bench::queue::{Cancel, Pop, Queue};
use timer_wheel_bench::workload::{HOUR, MILLISECOND, SECOND, XorShift64Star};

use super::calls::{Calls, Clock};
use super::room_for_keys;
use super::sizes::Sizes;
use crate::answer::{Tally, WrongAnswer};
use crate::figure::{PEAK_CLEAR, PEAK_DROP, PEAK_LONGEST_CANCEL, PEAK_LONGEST_SCHEDULE, Sample};

/// What is left of the peak.
const SURVIVORS: usize = 10;
/// When the crowd is due, and over how long, all within a tick.
const CROWD: u64 = 30 * SECOND;
const CROWDED: u64 = 1_000;

/// The peak that belongs to the definition.
pub(crate) const SIZES: Sizes = Sizes::Beyond {
    asked: 1_000_000,
    n: 10_000_000,
};

pub(crate) struct Input {
    deadlines: Vec<u64>,
    order: Vec<u32>,
    /// Half as many, all in one tick, and the order in which they are cancelled.
    crowd: Vec<u64>,
    cancellations: Vec<u32>,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let crowd = n.div_ceil(2);
        Self {
            deadlines: random.uniform(n, MILLISECOND, HOUR),
            order: random.permutation(n as u32),
            crowd: random.uniform(crowd, CROWD, CROWD + CROWDED),
            cancellations: random.permutation(crowd as u32),
        }
    }
}

pub(crate) fn measure<Q: Cancel + Pop>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.deadlines.len();
    let mut calls = Calls::<ThreadTime>::with_capacity(n);
    let mut keys = room_for_keys::<Q>(n);
    let longest = |calls: &mut Calls<ThreadTime>| f64::from(calls.end_run().longest_ns);

    let mut queue = Q::new(0);
    calls.start_run();
    schedule_each(&mut queue, &input.deadlines, &mut keys, || calls.end_call());
    let longest_schedule = longest(&mut calls);
    input.end_the_peak(&mut queue, &keys)?;
    let clear_ns = time(|| queue.clear());
    check_empty(queue)?;

    let mut queue = Q::new(0);
    schedule_each(&mut queue, &input.deadlines, &mut keys, || ());
    input.end_the_peak(&mut queue, &keys)?;
    let drop_ns = time(|| drop(queue));

    let mut queue = Q::new(0);
    schedule_each(&mut queue, &input.crowd, &mut keys, || ());
    let mut gone = Tally::default();
    // One timer fires, and with it a queue that sorts the others of its tick has sorted them.
    if let Some((_, first)) = queue.pop_expired(CROWD + CROWDED) {
        gone.add(first);
    }
    calls.start_run();
    let order = &input.cancellations;
    cancel_each(&mut queue, order, &keys, &mut gone, || calls.end_call());
    gone.check(Tally::of_all_below(order.len()), Q::NAME, "cancelled")?;
    Ok(vec![
        PEAK_LONGEST_SCHEDULE.sample(longest_schedule),
        PEAK_LONGEST_CANCEL.sample(longest(&mut calls)),
        PEAK_CLEAR.sample(clear_ns),
        PEAK_DROP.sample(drop_ns),
    ])
}

#[inline(never)]
fn schedule_each<Q: Queue>(
    queue: &mut Q,
    deadlines: &[u64],
    keys: &mut [Q::Key],
    mut end_call: impl FnMut(),
) {
    for ((key, &deadline), value) in keys.iter_mut().zip(deadlines).zip(0..) {
        *key = queue.schedule(deadline, value);
        end_call();
    }
}

#[inline(never)]
fn cancel_each<Q: Cancel>(
    queue: &mut Q,
    order: &[u32],
    keys: &[Q::Key],
    cancelled: &mut Tally,
    mut end_call: impl FnMut(),
) {
    for &timer in order {
        if let Some(value) = queue.cancel(keys[timer as usize]) {
            cancelled.add(value);
        }
        end_call();
    }
}

impl Input {
    /// Cancels all timers but a few.
    fn end_the_peak<Q: Cancel>(&self, queue: &mut Q, keys: &[Q::Key]) -> Result<(), WrongAnswer> {
        let (survivors, others) = self.order.split_at(SURVIVORS.min(self.order.len()));
        let mut tally = Tally::default();
        survivors.iter().for_each(|&survivor| tally.add(survivor));
        cancel_each(queue, others, keys, &mut tally, || ());
        tally.check(Tally::of_all_below(self.order.len()), Q::NAME, "cancelled")
    }
}

/// A queue that was cleared fires nothing, and can be used again.
fn check_empty<Q: Queue>(mut queue: Q) -> Result<(), WrongAnswer> {
    let mut fired = Tally::default();
    queue.schedule(HOUR, 0);
    queue.advance(2 * HOUR, |_, value| fired.add(value));
    fired.check(Tally::of_all_below(1), Q::NAME, "fired, once cleared,")
}

fn time(work: impl FnOnce()) -> f64 {
    let start = ThreadTime::now();
    work();
    f64::from(start.ns_until_now())
}
