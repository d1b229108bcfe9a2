//! Advances that have much to do.

use timer_wheel_bench::queue::filled;
use timer_wheel_bench::workload::{MILLISECOND, MINUTE, STEP, XorShift64Star};

use crate::harness::{Case, Group, Operation, Subject, anew, measure};

/// Fires timers spread over a minute in steps of a tick, all cascades included. A thousand timers leave
/// most of the 57,221 steps empty, which then is most of the time.
pub(super) struct Expire {
    deadlines: Vec<u64>,
}

impl Expire {
    pub(super) fn new(n: usize) -> Self {
        Self {
            deadlines: XorShift64Star::new().uniform(n, MILLISECOND, MINUTE),
        }
    }
}

impl Operation for Expire {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: n,
        };
        let fire_all = |queue: &mut Q| {
            let mut sum = 0;
            for step in 1..=MINUTE.div_ceil(STEP) {
                queue.advance(step * STEP, |_, value| sum += u64::from(value));
            }
            sum
        };
        let sum_of_all = (0..n as u64).sum();
        let prepare = anew(|| filled::<Q>(&self.deadlines));
        measure(group, &case, prepare, fire_all, |queue, sum: u64| {
            let answer = (queue.len(), sum);
            assert_eq!(answer, (0, sum_of_all), "{}: not all have fired", Q::NAME);
        });
    }
}

/// When a bucket of the third level of the `Millis` geometry begins, and how long it lasts.
const COARSE: u64 = 1 << 36;

/// Moves the timers of one coarse bucket down, by a call that fires none.
pub(super) struct Cascade {
    deadlines: Vec<u64>,
}

impl Cascade {
    pub(super) fn new(n: usize) -> Self {
        Self {
            deadlines: XorShift64Star::new().uniform(n, COARSE + STEP, 2 * COARSE),
        }
    }
}

impl Operation for Cascade {
    fn bench<Q: Subject>(&self, group: &mut Group<'_>) {
        let n = self.deadlines.len();
        let case = Case {
            subject: Q::NAME,
            n,
            operations: n,
        };
        let move_down = |queue: &mut Q| {
            let mut fired = 0;
            queue.advance(COARSE, |_, _| fired += 1);
            fired
        };
        let prepare = anew(|| {
            let queue = filled::<Q>(&self.deadlines);
            // Or before, to move some of a crowd ahead.
            assert!(queue.next_wake() <= Some(COARSE), "all are in one bucket");
            queue
        });
        measure(group, &case, prepare, move_down, |queue, fired| {
            let has_moved = queue.next_wake().is_some_and(|wake| wake > COARSE);
            let answer = (queue.len(), fired, has_moved);
            assert_eq!(answer, (n, 0, true), "{}: not all have moved", Q::NAME);
        });
    }
}
