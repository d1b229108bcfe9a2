//! What a poll does within its budget.

use timer_wheel::Budget;
use timer_wheel::retry::RetryEvent;

use crate::{MS, configured};

/// Ours, in its third year: a poll without a budget took 21 ms at a million values in one tick.
#[test]
fn poll_does_no_more_than_its_budget_at_a_crowd_in_one_tick() {
    const COUNT: usize = 1_000_000;
    const UNITS: usize = 256;
    const AT: u64 = 60_000 * MS;
    let mut queue = configured(|it| it.attempts = 1);
    (0..COUNT).for_each(|nth| _ = queue.push(nth, AT + (nth * 7_919 % 1_000) as u64));
    let (mut delivered, mut given_up) = (0, 0);
    for now in [AT + 1_000, AT + 20_000 * MS] {
        let (mut turns, mut last) = (0, None);
        while turns == 0 || queue.expiration_delay() == Some(0) {
            turns += 1;
            let (mut budget, mut events) = (Budget::of_work(UNITS), 0);
            while let Some(event) = queue.poll(now, &mut budget) {
                events += 1;
                let order = match event {
                    RetryEvent::Deliver { value, .. } => (*value * 7_919 % 1_000, *value),
                    RetryEvent::GaveUp { value, .. } => (value * 7_919 % 1_000, value),
                };
                assert!(last.replace(order) < Some(order), "in order of deadline, first in first out");
            }
            assert!(events + budget.work <= UNITS, "each event takes a unit");
            *if now < AT + 10_000 * MS { &mut delivered } else { &mut given_up } += events;
        }
        // Each value is visited on its way through the levels, sorted, and fires.
        assert!(turns <= 14 * COUNT / UNITS, "it took {turns} turns");
    }
    assert!((delivered, given_up) == (COUNT, COUNT) && queue.is_empty());
}
