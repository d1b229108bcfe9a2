//! W16: the server mix. Requests with one timeout end and begin again, and every call is timed.

use std::time::{Duration, Instant};

use timer_wheel_bench::queue::{Cancel, Promise};
use timer_wheel_bench::workload::{MILLISECOND, MINUTE, SECOND, XorShift64Star};

use super::calls::{Clock, exceeded_by_one_in};
use super::lives::{Steps, Touch};
use super::timed;
use crate::answer::{Digest, Tally, WrongAnswer};
use crate::figure::{
    Figure, SERVER_ADVANCES, SERVER_CANCELS, SERVER_SCHEDULES, SERVER_WHOLE, Sample,
};

/// The sizes that belong to the definition.
pub(crate) const SIZES: &[usize] = &[10_000, 100_000];
const STEP: u64 = MILLISECOND;
const STEPS: u64 = 20_000;
/// Fewer requests are there for their answers: they take a tenth of the steps.
const FEW: usize = 10_000;
/// How many requests end in a step. In every thousandth it is one in twenty.
const REGULAR: usize = 20;
const ROUND: u64 = 1_000;
const ONE_IN: usize = 20;
/// The longest that a queue which is late by its nature is waited for.
const GRACE: u64 = MINUTE;
/// Of the figures of an operation: one call in so many takes longer.
const ONE_CALL_IN: [usize; 4] = [2, 100, 1_000, 10_000];

pub(crate) struct Input {
    steps: Steps,
    timeout: u64,
    first: Vec<u64>,
    /// What ends in each step.
    ended: Vec<Vec<u32>>,
    fired: Digest,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let steps = Steps {
            count: if n < FEW { STEPS / 10 } else { STEPS },
            step_ns: STEP,
            touch: Touch::BeforeAdvance,
        };
        let timeout = if n <= FEW { 5 * SECOND } else { 30 * SECOND };
        // As if the requests had begun one after the other.
        let first: Vec<u64> = (1..=n as u64)
            .map(|request| timeout * request / n as u64)
            .collect();
        let ended: Vec<Vec<u32>> = (1..=steps.count)
            .map(|step| {
                let count = if step % ROUND == 0 {
                    n / ONE_IN
                } else {
                    REGULAR
                };
                let draw = |_| random.below(n as u64) as u32;
                (0..count).map(draw).collect()
            })
            .collect();
        let touches = (1..)
            .zip(&ended)
            .flat_map(|(step, requests)| requests.iter().map(move |&request| (step, request)));
        let fired = steps.follow(&first, touches, |step, _| steps.end_of(step) + timeout);
        Self {
            steps,
            timeout,
            first,
            ended,
            fired,
        }
    }

    fn run<Q: Cancel>(&self, watch: &mut impl Watch) -> Result<(), WrongAnswer> {
        let mut queue = Q::new(0);
        let requests = self.first.iter().zip(0..);
        let mut keys: Vec<Q::Key> = requests
            .map(|(&deadline, value)| queue.schedule(deadline, value))
            .collect();
        let run = watch.whole(|watch| serve(&mut queue, &mut keys, self, watch));
        if run.refused > 0 {
            let fault = format!("refused {} live timers", run.refused);
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        if Q::PROMISE != Promise::Late {
            self.fired.check(run.fired, Q::NAME)?;
        }
        let mut left = Tally::default();
        let end = self.steps.end_of(self.steps.count) + self.timeout + GRACE;
        queue.advance(end, |_, value| left.add(value));
        left.check(Tally::of_all_below(self.first.len()), Q::NAME, "has left")
    }

    fn calls(&self) -> usize {
        let ended: usize = self.ended.iter().map(Vec::len).sum();
        // What fires begins again too, and each request at most once in a timeout.
        ended + 5 * self.first.len()
    }
}

pub(crate) fn measure<Q: Cancel>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut whole = Whole(Duration::ZERO);
    input.run::<Q>(&mut whole)?;
    let mut each = Each {
        schedules: Vec::with_capacity(input.calls()),
        cancels: Vec::with_capacity(input.calls()),
        advances: Vec::with_capacity(input.ended.len()),
    };
    input.run::<Q>(&mut each)?;
    let mut samples = vec![SERVER_WHOLE.sample(whole.0.as_nanos() as f64)];
    samples.extend(percentiles(SERVER_SCHEDULES, &mut each.schedules));
    samples.extend(percentiles(SERVER_CANCELS, &mut each.cancels));
    samples.extend(percentiles(SERVER_ADVANCES, &mut each.advances));
    Ok(samples)
}

fn percentiles(figures: [Figure; 4], calls_ns: &mut [u32]) -> impl Iterator<Item = Sample> {
    figures.into_iter().zip(ONE_CALL_IN).map(|(figure, calls)| {
        let ns = exceeded_by_one_in(calls, calls_ns);
        figure.sample(f64::from(ns))
    })
}

/// What is timed of a run.
trait Watch {
    /// The whole of it.
    fn whole<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        work(self)
    }

    /// A call of an operation.
    #[inline(always)]
    fn call<R>(&mut self, _operation: Operation, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Schedule,
    Cancel,
    Advance,
}

struct Whole(Duration);

impl Watch for Whole {
    fn whole<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let mut elapsed = Duration::ZERO;
        let result = timed(&mut elapsed, || work(self));
        self.0 = elapsed;
        result
    }
}

/// Every call by itself, in nanoseconds, two readings of the clock included.
struct Each {
    schedules: Vec<u32>,
    cancels: Vec<u32>,
    advances: Vec<u32>,
}

impl Watch for Each {
    #[inline(always)]
    fn call<R>(&mut self, operation: Operation, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        let ns = start.ns_until_now();
        match operation {
            Operation::Schedule => self.schedules.push(ns),
            Operation::Cancel => self.cancels.push(ns),
            Operation::Advance => self.advances.push(ns),
        }
        result
    }
}

/// What came of a run.
struct Run {
    fired: Digest,
    /// How many live timers could not be cancelled.
    refused: usize,
}

#[inline(never)]
fn serve<Q: Cancel>(
    queue: &mut Q,
    keys: &mut [Q::Key],
    input: &Input,
    watch: &mut impl Watch,
) -> Run {
    let mut run = Run {
        fired: Digest::new(Promise::StepOrder),
        refused: 0,
    };
    let mut fired = Vec::with_capacity(keys.len());
    for (step, ended) in (1..).zip(&input.ended) {
        let now = input.steps.end_of(step);
        let deadline = now + input.timeout;
        for &request in ended {
            let key = &mut keys[request as usize];
            let value = watch.call(Operation::Cancel, || queue.cancel(*key));
            if value.is_none() && Q::PROMISE == Promise::Late {
                // It is overdue, and begins again when it fires.
                continue;
            }
            run.refused += usize::from(value != Some(request));
            *key = watch.call(Operation::Schedule, || queue.schedule(deadline, request));
        }
        watch.call(Operation::Advance, || {
            queue.advance(now, |_, value| fired.push(value));
        });
        for request in fired.drain(..) {
            run.fired.add(step, request);
            let key = &mut keys[request as usize];
            *key = watch.call(Operation::Schedule, || queue.schedule(deadline, request));
        }
    }
    run
}
