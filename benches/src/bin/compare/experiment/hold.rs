//! W11: hold, the classic of event queues. Take the earliest event, schedule another after it.
//!
//! The distributions are the usual ones of that literature, here with a mean of a millisecond.

use std::time::Duration;

use timer_wheel_bench::queue::Pop;
use timer_wheel_bench::workload::{MILLISECOND, XorShift64Star};

use super::{ns_each, timed};
use crate::answer::WrongAnswer;
use crate::figure::{HOLDS, Sample};

/// The sizes that belong to the definition.
pub(crate) const SIZES: &[usize] = &[100, 1_000, 10_000, 100_000, 1_000_000];
const MEAN: f64 = MILLISECOND as f64;
/// How many increments are drawn; then they come again.
const DRAWN: usize = 1 << 16;
const FEWEST_HOLDS: usize = 500_000;

pub(crate) struct Input {
    n: usize,
    /// By distribution, as the figures.
    increments: [Vec<u64>; HOLDS.len()],
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        // In [0, 1): as many bits as a float has.
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut draw = |distribution: fn(&mut dyn FnMut() -> f64) -> f64| {
            (0..DRAWN)
                .map(|_| (MEAN * distribution(&mut unit)) as u64)
                .collect()
        };
        Self {
            n,
            increments: [
                draw(|unit| -(1.0 - unit()).ln()),
                draw(|unit| 2.0 * unit()),
                // Nine in ten are short.
                draw(|unit| {
                    let start = if unit() < 0.9 { 0.0 } else { 9.5 };
                    start + 0.1 * unit()
                }),
                draw(|unit| 1.5 * unit().sqrt()),
                draw(|unit| 0.9 + 0.2 * unit()),
            ],
        }
    }
}

pub(crate) fn measure<Q: Pop>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let mut samples = Vec::new();
    for (figure, increments) in HOLDS.iter().zip(&input.increments) {
        let mut elapsed = Duration::ZERO;
        let mut queue = Q::new(0);
        let mut course = Course::default();
        let mut increments = increments.iter().copied().cycle();
        for (deadline, value) in increments.by_ref().zip(0..input.n as u32) {
            course.schedule(deadline);
            queue.schedule(deadline, value);
        }
        let holds = input.n.max(FEWEST_HOLDS);
        // A steady distribution of what is scheduled is come to first.
        hold(&mut queue, input.n, &mut increments, &mut course);
        timed(&mut elapsed, || {
            hold(&mut queue, holds, &mut increments, &mut course)
        });
        course.check(queue, input.n)?;
        samples.push(figure.sample(ns_each(elapsed, holds)));
    }
    Ok(samples)
}

#[inline(never)]
fn hold<Q: Pop>(
    queue: &mut Q,
    holds: usize,
    increments: &mut impl Iterator<Item = u64>,
    course: &mut Course,
) {
    for increment in increments.take(holds) {
        let Some((now, value)) = queue.pop_first() else {
            return;
        };
        course.take(now);
        course.schedule(now + increment);
        queue.schedule(now + increment, value);
    }
}

/// What went in and out. As nothing is ever scheduled before what was taken last, an exact queue gives
/// its events in ascending order, and each that it was given once.
#[derive(Debug, Default)]
struct Course {
    last: u64,
    goes_back: bool,
    /// The sum of what went in, scrambled, less the same of what came out.
    balance: u64,
}

impl Course {
    #[inline]
    fn schedule(&mut self, deadline: u64) {
        self.balance = self.balance.wrapping_add(scrambled(deadline));
    }

    #[inline]
    fn take(&mut self, deadline: u64) {
        self.balance = self.balance.wrapping_sub(scrambled(deadline));
        self.goes_back |= deadline < self.last;
        self.last = deadline;
    }

    /// Takes all that is left.
    fn check<Q: Pop>(mut self, mut queue: Q, n: usize) -> Result<(), WrongAnswer> {
        let mut left = 0;
        while let Some((deadline, _)) = queue.pop_first() {
            self.take(deadline);
            left += 1;
        }
        if self.goes_back || self.balance != 0 || left != n {
            let fault =
                format!("gives other events than it was given, or out of order: {left} left");
            return Err(WrongAnswer::new(Q::NAME, fault));
        }
        Ok(())
    }
}

/// So that two wrong deadlines do not make up for each other.
#[inline]
fn scrambled(deadline: u64) -> u64 {
    let product = deadline.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}
