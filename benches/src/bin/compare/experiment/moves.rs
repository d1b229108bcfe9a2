//! How often a timer is moved from bucket to bucket on its way through W2: a count, not a time.
//!
//! A queue may count more than its timers, as the wheel counts the buckets it opens. So W2 is run a
//! second time with every timer doubled: the same buckets are opened, and each timer more is handled
//! just as its twin. The difference is what one set of timers costs.

use timer_wheel_bench::queue::{Queue, Work};
use timer_wheel_bench::workload::{MINUTE, STEP};

use super::expire::Input;
use crate::answer::{Tally, WrongAnswer};
use crate::figure::{MOVES, Sample};

pub(crate) fn measure<Q: Queue>(input: &Input) -> Result<Vec<Sample>, WrongAnswer> {
    let moves_each = match Q::WORK {
        Work::Untold => return Ok(Vec::new()),
        Work::FiresOnly => 0.0,
        Work::Counted => {
            let once = handled::<Q>(input, 1)?;
            let twice = handled::<Q>(input, 2)?;
            let fired = input.deadlines.len();
            (twice - once - fired) as f64 / fired as f64
        }
    };
    Ok(vec![MOVES.sample(moves_each)])
}

/// How many entries are handled in all, with each timer scheduled so many times.
fn handled<Q: Queue>(input: &Input, copies: usize) -> Result<usize, WrongAnswer> {
    let mut queue = Q::new(0);
    let mut value = 0;
    for &deadline in &input.deadlines {
        for _ in 0..copies {
            queue.schedule(deadline, value);
            value += 1;
        }
    }
    let mut fired = Tally::default();
    let mut handled = 0;
    for step in 1..=MINUTE.div_ceil(STEP) {
        handled += queue.advance_counting(step * STEP, |_, value| fired.add(value));
    }
    let all = Tally::of_all_below(copies * input.deadlines.len());
    fired.check(all, Q::NAME, "fired")?;
    Ok(handled)
}
