//! W12: many small queues, as of a program that has one for each connection.

use std::time::Duration;

use timer_wheel_bench::queue::{Cancel, Promise, Queue, Reschedule};
use timer_wheel_bench::workload::{SECOND, XorShift64Star};

use super::{ns_each, timed};
use crate::answer::{Digest, WrongAnswer};
use crate::figure::{SMALL_BYTES, SMALL_OPERATION, Sample};
use crate::heap;

/// The number of queues that belongs to the definition.
pub(crate) const SIZES: &[usize] = &[10_000];
const TIMERS_EACH: usize = 10;
const SECONDS: u64 = 30;
const LATEST: u64 = 30 * SECOND;
/// In a second: an advance, a timer postponed, one cancelled and scheduled again.
const OPERATIONS_EACH: usize = 4;

pub(crate) struct Input {
    first: Vec<[u64; TIMERS_EACH]>,
    /// In which order the queues have their turns.
    order: Vec<u32>,
    fired: Digest,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let first: Vec<[u64; TIMERS_EACH]> = (0..n)
            .map(|_| std::array::from_fn(|_| random.below(LATEST)))
            .collect();
        Self {
            order: random.permutation(n as u32),
            fired: follow(&first),
            first,
        }
    }

    fn operations(&self) -> usize {
        let regular = OPERATIONS_EACH * SECONDS as usize * self.first.len();
        // What fires is scheduled again.
        regular + self.fired.tally.count as usize
    }

    fn fill<Q: Queue>(&self) -> Vec<Small<Q>> {
        // Not collected from the deadlines: as many as there is room for.
        let mut all = Vec::with_capacity(self.first.len());
        all.extend(self.first.iter().map(|deadlines| {
            let mut queue = Q::new(0);
            let mut values = 0..;
            let keys = deadlines.map(|deadline| {
                let value = values.next().unwrap_or_default();
                queue.schedule(deadline, value)
            });
            Small { queue, keys }
        }));
        all
    }

    fn check<Q: Queue>(&self, run: Run) -> Result<(), WrongAnswer> {
        if run.refused > 0 {
            let fault = format!("refused {} live timers", run.refused);
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        self.fired.check(run.fired, Q::NAME)
    }
}

/// A queue with the keys of its timers.
struct Small<Q: Queue> {
    queue: Q,
    keys: [Q::Key; TIMERS_EACH],
}

/// Which timer a queue postpones in a second, and which one it cancels.
fn touched(second: u64, queue: u32) -> (usize, usize) {
    let seed = (second << 32) | u64::from(queue);
    let put_off = XorShift64Star::with_seed(seed).below(TIMERS_EACH as u64) as usize;
    (put_off, TIMERS_EACH - 1 - put_off)
}

/// The deadline of a timer that begins now: drawn from what is the same for every subject.
fn later(second: u64, queue: u32, timer: usize) -> u64 {
    let seed = (second << 40) | (u64::from(queue) << 8) | timer as u64;
    second * SECOND + 1 + XorShift64Star::with_seed(seed).below(LATEST)
}

/// What fires, by looking at every timer every second.
fn follow(first: &[[u64; TIMERS_EACH]]) -> Digest {
    let mut fired = Digest::new(Promise::StepOrder);
    for (deadlines, queue) in first.iter().zip(0..) {
        let mut deadlines = *deadlines;
        for second in 1..=SECONDS {
            for (timer, deadline) in deadlines.iter_mut().enumerate() {
                if *deadline <= second * SECOND {
                    fired.add(event(second, queue), timer as u32);
                    *deadline = later(second, queue, timer);
                }
            }
            let (put_off, ended) = touched(second, queue);
            for timer in [put_off, ended] {
                deadlines[timer] = later(second, queue, timer);
            }
        }
    }
    fired
}

/// A number for what happens in a queue in a second.
fn event(second: u64, queue: u32) -> u64 {
    (u64::from(queue) << 8) | second
}

pub(crate) fn measure<Q: Cancel + Reschedule>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut elapsed = Duration::ZERO;
    let mut all = input.fill::<Q>();
    let run = timed(&mut elapsed, || use_all(&mut all, &input.order));
    input.check::<Q>(run)?;
    Ok(vec![
        SMALL_OPERATION.sample(ns_each(elapsed, input.operations())),
    ])
}

/// What is on the heap for a queue at the end, its own struct included. The keys are the caller's.
pub(crate) fn weigh<Q: Cancel + Reschedule>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let ((all, run), weight) = heap::weigh(|| {
        let mut all = input.fill::<Q>();
        let run = use_all(&mut all, &input.order);
        (all, run)
    });
    input.check::<Q>(run)?;
    let of_keys = size_of::<[Q::Key; TIMERS_EACH]>() as f64;
    let each = weight.left as f64 / all.len() as f64;
    Ok(vec![SMALL_BYTES.sample(each - of_keys)])
}

/// What came of a run.
struct Run {
    fired: Digest,
    /// How many live timers could not be postponed or cancelled.
    refused: usize,
}

#[inline(never)]
fn use_all<Q: Cancel + Reschedule>(all: &mut [Small<Q>], order: &[u32]) -> Run {
    let mut run = Run {
        fired: Digest::new(Promise::StepOrder),
        refused: 0,
    };
    for second in 1..=SECONDS {
        for &at in order {
            all[at as usize].use_for_a_second(second, at, &mut run);
        }
    }
    run
}

impl<Q: Cancel + Reschedule> Small<Q> {
    fn use_for_a_second(&mut self, second: u64, at: u32, run: &mut Run) {
        let Self { queue, keys } = self;
        let mut fired = [0; TIMERS_EACH];
        let mut count = 0;
        queue.advance(second * SECOND, |_, value| {
            fired[count] = value;
            count += 1;
        });
        for &timer in &fired[..count] {
            run.fired.add(event(second, at), timer);
            keys[timer as usize] = queue.schedule(later(second, at, timer as usize), timer);
        }
        let (put_off, ended) = touched(second, at);
        let was_live = queue.reschedule(&mut keys[put_off], later(second, at, put_off));
        run.refused += usize::from(!was_live);
        let value = queue.cancel(keys[ended]);
        run.refused += usize::from(value != Some(ended as u32));
        keys[ended] = queue.schedule(later(second, at, ended), ended as u32);
    }
}
