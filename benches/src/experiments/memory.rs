//! W8: what is on the heap for each timer, by count.

use timer_wheel::{Geometry, Millis};

use super::churn::{self, churn};
use super::fill::{cancel_all, in_order_of, schedule_all};
use super::{Answered, Samples, fire_in_steps, room_for_keys};
use crate::answer::Answer;
use crate::heap::weigh;
use crate::queue::{Need, Queue};
use crate::workload::{HOUR, MILLISECOND, STEP, XorShift64Star};

/// Ticks for a rotation of the second level, after which the first bucket of the third has been reached, and for one
/// of the first.
const ROTATION: u64 = (1 << (Millis::LEVEL_BITS[0] + Millis::LEVEL_BITS[1])) + (1 << Millis::LEVEL_BITS[0]);

/// The keys are the caller's and lie outside the scale.
pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let mut random = XorShift64Star::new();
    let deadlines = random.uniform(n, MILLISECOND, HOUR);
    let cancellations = random.permutation(n as u32);
    let mut add = |figure, bytes| samples.push((figure, bytes as f64 / n as f64));
    let mut keys = room_for_keys::<Q>(n);
    let mut answer = Answer::default();
    let (mut queue, filled) = weigh(|| {
        let mut queue = Q::new(0);
        schedule_all(&mut queue, &deadlines, &mut keys);
        queue
    });
    add("W8 after W1a", filled.left);
    if !Q::has(Need::Cancel) {
        return Ok(answer);
    }
    let in_order = in_order_of(&cancellations, &keys);
    let (cancelled, change) = weigh(|| cancel_all(&mut queue, &in_order));
    let ((), later_change) = weigh(|| fire_in_steps(&mut queue, ROTATION, STEP, &mut answer));
    if (cancelled.count, answer.count) != (n as u64, 0) {
        return Err("does not cancel all timers".to_owned());
    }
    add("W8 after W1b", filled.left + change.left);
    add("W8 after W1b and a rotation", filled.left + change.left + later_change.left);
    drop(queue);
    if n <= churn::MOST {
        let (went_by, weight) = weigh(|| {
            let mut queue = churn::fill::<Q>(&mut keys);
            churn(&mut queue, &mut keys)
        });
        if went_by[1].count > 0 {
            return Err("fires what is not due".to_owned());
        }
        add("W8 worst during W3", weight.most);
    }
    Ok(answer)
}
