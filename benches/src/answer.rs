//! What a queue answers in an experiment, in a form that can be held against the answer of another queue.

use crate::queue::{Need, Order, Queue};

/// Knuth's, for 64-bit linear congruential sequences.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// A digest of all that a queue has given back and fired.
///
/// It takes two multiplications a timer, the same for every queue, and no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    given: u64,
    fired: u64,
    pub count: u64,
    deadlines: u64,
    order: u64,
    last: u64,
    goes_back: bool,
}

/// The parts of an answer that the queue's promises cover: what it gave back, what it fired in which step, at which
/// deadlines, and in which order.
pub type Parts = [Option<u64>; 4];

impl Answer {
    /// A value that the queue gave back, or something else that all queues must agree on, in any order. O(1).
    #[inline]
    pub fn give(&mut self, value: u64) {
        self.given = self.given.wrapping_add(scrambled(value.wrapping_add(1)));
    }

    /// A timer that fired in a step. O(1).
    #[inline]
    pub fn fire(&mut self, step: u64, deadline: u64, value: u32) {
        let event = (step << 32) ^ u64::from(value);
        self.count += 1;
        // A sum does not depend on the order of what is added, and a chain of products does.
        self.fired = self.fired.wrapping_add(scrambled(event));
        self.order = (self.order.wrapping_mul(MULTIPLIER)).wrapping_add(event);
        self.deadlines = self.deadlines.wrapping_add(deadline);
        self.goes_back |= deadline < self.last;
        self.last = deadline;
    }

    /// Begins with another queue, whose first deadline may be before the last one. O(1).
    pub fn begin(&mut self) {
        self.last = 0;
    }

    /// What can be held against other queues. O(1).
    pub fn parts<Q: Queue>(&self) -> Result<Parts, String> {
        let fires = Q::has(Need::Fire);
        let is_exact = fires && Q::ORDER >= Order::Deadline;
        if is_exact && self.goes_back {
            return Err("fires out of order".to_owned());
        }
        let is_fair = fires && Q::ORDER == Order::FirstComeFirstServed;
        Ok([
            Some(self.given),
            fires.then_some(self.fired ^ self.count),
            is_exact.then_some(self.deadlines),
            is_fair.then_some(self.order),
        ])
    }
}

/// So that two wrong events do not make up for each other.
#[inline]
fn scrambled(event: u64) -> u64 {
    let product = event.wrapping_mul(MULTIPLIER);
    product ^ (product >> 32)
}

/// Holds an answer against what is known, and adds what it has more. O(1).
pub fn agree(known: &mut Parts, parts: &Parts) -> Result<(), String> {
    const NAMES: [&str; 4] = [
        "gives other values back",
        "fires other timers, or in other steps",
        "fires timers at other deadlines",
        "fires timers of one deadline in another order",
    ];
    for ((known, part), name) in known.iter_mut().zip(parts).zip(NAMES) {
        match (&*known, part) {
            (Some(known), Some(part)) if known != part => return Err(name.to_owned()),
            (None, _) => *known = *part,
            _ => {}
        }
    }
    Ok(())
}
