//! Advances that have little to do, while many timers wait for times far ahead.

use timer_wheel_bench::queue::filled;
use timer_wheel_bench::workload::{HOUR, MINUTE, STEP, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, measure};

/// Before this nothing is due, and no level of the `Millis` geometry has anything to move.
const IDLE_UNTIL: u64 = 30 * 24 * HOUR;

/// Timers that are never reached.
pub(super) struct Far {
    deadlines: Vec<u64>,
}

impl Far {
    pub(super) fn new(n: usize) -> Self {
        Self {
            deadlines: XorShift64Star::new().uniform(n, IDLE_UNTIL + 24 * HOUR, 50 * 24 * HOUR),
        }
    }

    /// Makes a new queue when the time of the last one is nearly over, so that any number of iterations
    /// is possible.
    fn prepare<Q: Subject>(&self, left: Option<Waiting<Q>>) -> Waiting<Q> {
        left.filter(|waiting| waiting.now < IDLE_UNTIL / 2)
            .unwrap_or_else(|| Waiting {
                queue: filled::<Q>(&self.deadlines),
                now: 0,
            })
    }
}

struct Waiting<Q> {
    queue: Q,
    now: u64,
}

/// Steps of a tick in which nothing happens.
pub(super) struct Empty(pub(super) Far);

const STEPS: usize = 1_000;

impl Operation for Empty {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.0.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: STEPS,
        };
        let prepare = |left| self.0.prepare::<Q>(left);
        let step = |waiting: &mut Waiting<Q>| {
            let mut fired = 0;
            for _ in 0..STEPS {
                waiting.now += STEP;
                waiting.queue.advance(waiting.now, |_, _| fired += 1);
            }
            fired
        };
        measure(group, &case, prepare, step, |waiting, fired| {
            let answer = (waiting.queue.len(), fired);
            assert_eq!(answer, (n, 0), "{}: a timer fired early", Q::NAME);
        });
    }
}

/// Jumps of ten minutes, each over 572,204 empty ticks to the only timer on the way.
pub(super) struct IdleJump(pub(super) Far);

const JUMP: u64 = 10 * MINUTE;
const JUMPS: usize = 100;

impl Operation for IdleJump {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.0.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: JUMPS,
        };
        let prepare = |left| {
            let mut waiting = self.0.prepare::<Q>(left);
            for jump in 1..=JUMPS as u64 {
                waiting
                    .queue
                    .schedule(waiting.now + jump * JUMP, jump as u32);
            }
            waiting
        };
        let jump = |waiting: &mut Waiting<Q>| {
            let mut sum = 0;
            for _ in 0..JUMPS {
                waiting.now += JUMP;
                waiting
                    .queue
                    .advance(waiting.now, |_, value| sum += u64::from(value));
            }
            sum
        };
        let sum_of_all = (1..=JUMPS as u64).sum();
        measure(group, &case, prepare, jump, |waiting, sum: u64| {
            let answer = (waiting.queue.len(), sum);
            assert_eq!(answer, (n, sum_of_all), "{}: not all have fired", Q::NAME);
        });
    }
}
