//! W8: what is on the heap for each timer, by count.

use timer_wheel::{Geometry, Millis};
use timer_wheel_bench::queue::{Cancel, Queue};
use timer_wheel_bench::workload::STEP;

use super::{churn, fill, room_for_keys};
use crate::answer::{Tally, WrongAnswer};
use crate::figure::{CANCELLED_BYTES, CHURN_BYTES, FRESH_BYTES, Figure, ROTATED_BYTES, Sample};
use crate::heap::weigh;

/// Ticks for a rotation of the second level, after which the first bucket of the third has been reached, and
/// for one of the first.
const ROTATION: u64 =
    (1 << (Millis::LEVEL_BITS[0] + Millis::LEVEL_BITS[1])) + (1 << Millis::LEVEL_BITS[0]);

pub(crate) struct Input {
    fill: fill::Input,
    churn: churn::Input,
}

impl Input {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            fill: fill::Input::new(n),
            churn: churn::Input::new(n),
        }
    }

    fn each(&self, figure: Figure, bytes: isize) -> Sample {
        figure.sample(bytes as f64 / self.fill.first.len() as f64)
    }
}

/// The keys are the caller's and lie outside the scale.
pub(crate) fn measure<Q: Cancel>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let n = input.fill.first.len();
    let mut keys = room_for_keys::<Q>(n);
    let (mut queue, filled) = weigh(|| {
        let mut queue = Q::new(0);
        fill::schedule_all(&mut queue, &input.fill.first, &mut keys);
        queue
    });
    let in_order = input.fill.in_order_of_cancellation::<Q>(&keys);
    let (cancelled, change) = weigh(|| fill::cancel_all(&mut queue, &in_order));
    cancelled.check(Tally::of_all_below(n), Q::NAME, "cancelled")?;
    let (fired, later_change) = weigh(|| let_time_go_on(&mut queue));
    fired.check(Tally::default(), Q::NAME, "fired, once cancelled,")?;
    let cancelled = filled.left + change.left;
    let mut samples = vec![
        input.each(FRESH_BYTES, filled.left),
        input.each(CANCELLED_BYTES, cancelled),
        input.each(ROTATED_BYTES, cancelled + later_change.left),
    ];
    drop(queue);

    if input.churn.suits::<Q>() {
        let ((queue, churned), weight) = weigh(|| {
            let mut queue = input.churn.fill::<Q>(&mut keys);
            let churned = input.churn.churn(&mut queue, &mut keys);
            (queue, churned)
        });
        input.churn.check(queue, churned)?;
        samples.push(input.each(CHURN_BYTES, weight.most));
    }
    Ok(samples)
}

fn let_time_go_on<Q: Queue>(queue: &mut Q) -> Tally {
    let mut fired = Tally::default();
    for tick in 1..=ROTATION {
        queue.advance(tick * STEP, |_, value| fired.add(value));
    }
    fired
}

/// For a queue whose timers cannot be cancelled.
pub(crate) fn measure_fresh<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let (queue, filled) = weigh(|| {
        let mut queue = Q::new(0);
        for (&deadline, value) in input.fill.first.iter().zip(0..) {
            queue.schedule(deadline, value);
        }
        queue
    });
    drop(queue);
    Ok(vec![input.each(FRESH_BYTES, filled.left)])
}
