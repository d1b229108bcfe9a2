//! W8: what is on the heap for each timer, by count.

use super::fill::schedule_all;
use super::{Answered, Samples, room_for_keys};
use crate::answer::Answer;
use crate::heap::weigh;
use crate::queue::Queue;
use crate::workload::{HOUR, MILLISECOND, XorShift64Star};

/// The keys are the caller's and lie outside the scale.
pub(super) fn measure<Q: Queue>(n: usize, samples: &mut Samples) -> Answered {
    let deadlines = XorShift64Star::new().uniform(n, MILLISECOND, HOUR);
    let mut keys = room_for_keys::<Q>(n);
    let (_queue, bytes) = weigh(|| {
        let mut queue = Q::new(0);
        schedule_all(&mut queue, &deadlines, &mut keys, || ());
        queue
    });
    samples.push(("W8 after W1a", bytes as f64 / n as f64));
    Ok(Answer::default())
}
