//! What the wheel does to headers, counted.

use alloc::vec::Vec;

use super::Hierarchy;
use crate::budget::Budget;
use crate::geometry::Millis;
use crate::header::{Header, Headers};
use crate::key::SlotIndex;

/// Headers by slot, and how often one was written.
struct Counted {
    headers: Vec<Header>,
    writes: usize,
}

impl Headers for Counted {
    fn header(&self, slot: SlotIndex) -> &Header {
        &self.headers[slot.get()]
    }

    fn header_mut(&mut self, slot: SlotIndex) -> &mut Header {
        self.writes += 1;
        &mut self.headers[slot.get()]
    }
}

/// A crowd at one nanosecond joins the run piece by piece. Through the near heap each timer would cost
/// as many writes as the heap is deep.
#[test]
fn crowd_at_one_nanosecond_within_a_budget_keeps_out_of_the_heap() {
    const CROWD: usize = 20_000;
    for budget in [7, 100, 256] {
        let mut headers = Counted {
            headers: alloc::vec![Header::new(0); CROWD],
            writes: 0,
        };
        let mut wheel = Hierarchy::<Millis>::new(0);
        for slot in 0..CROWD {
            wheel.schedule(&mut headers, SlotIndex::new(slot), 30_000_000_000);
        }
        headers.writes = 0;
        wheel.set_now(30_000_000_000);
        let mut fired = 0;
        while fired < CROWD {
            let mut budget = Budget::of_work(budget);
            while let Some(due) = wheel.next_due(&mut headers, &mut budget) {
                assert_eq!(due.slot.get(), fired, "fired out of order");
                wheel.take_first(&mut headers);
                budget.pay_for_fire();
                fired += 1;
            }
        }
        // One to move each down, one to sort it into the run; and the few of the near heap.
        let most = 3 * CROWD;
        assert!(
            headers.writes <= most,
            "{} writes, budget {budget}",
            headers.writes
        );
    }
}

/// What comes by most often does nothing at all.
#[test]
fn advance_before_the_wake_up_is_idle() {
    let mut headers = Counted {
        headers: alloc::vec![Header::new(0); 100],
        writes: 0,
    };
    let mut wheel = Hierarchy::<Millis>::new(0);
    for slot in 0..100 {
        wheel.schedule(&mut headers, SlotIndex::new(slot), 3_000_000_000);
    }
    // The first finds out when there is work.
    assert_eq!(
        wheel.next_due(&mut headers, &mut { Budget::UNLIMITED }),
        None
    );
    for (now, is_idle) in [(1_000_000, true), (2_000_000, true), (3_000_000_000, false)] {
        wheel.set_now(now);
        assert_eq!(wheel.is_idle(), is_idle, "{now}");
    }
}
