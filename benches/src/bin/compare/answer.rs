//! Checks of what the subjects answer: how many, which ones, and in what order.

use std::fmt;

use timer_wheel_bench::queue::Promise;

/// A subject gave another answer than the workload has.
#[derive(Debug)]
pub(crate) struct WrongAnswer {
    subject: &'static str,
    fault: String,
}

impl WrongAnswer {
    pub(crate) fn new(subject: &'static str, fault: impl Into<String>) -> Self {
        Self {
            subject,
            fault: fault.into(),
        }
    }
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrong answer from {}: {}", self.subject, self.fault)
    }
}

impl std::error::Error for WrongAnswer {}

/// Whether a digest of what fired leaves the order within a step out: it knows values only, and
/// these may come in any order where deadlines are equal.
const fn is_checked_by_step(promise: Promise) -> bool {
    use Promise::{AnyAmongEquals, Late, StepOrder};
    matches!(promise, StepOrder | AnyAmongEquals | Late)
}

/// How many values went by, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) sum: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, value: u32) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(u64::from(value));
    }

    /// The tally of the numbers below `n`.
    pub(crate) fn of_all_below(n: usize) -> Self {
        let mut all = Self::default();
        (0..n as u32).for_each(|value| all.add(value));
        all
    }

    pub(crate) fn check(
        self,
        expected: Self,
        subject: &'static str,
        what: &str,
    ) -> Result<(), WrongAnswer> {
        if self == expected {
            return Ok(());
        }
        Err(WrongAnswer::new(
            subject,
            format!(
                "{what} {} values of sum {}, where {} of sum {} were due",
                self.count, self.sum, expected.count, expected.sum
            ),
        ))
    }
}

/// A tally of fired timers that also depends on the step in which each fired and, where an order is
/// promised, on their order.
///
/// A multiplication a timer, about the same for every subject, buys the full check at no cost in
/// memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest {
    promise: Promise,
    pub(crate) tally: Tally,
    events: u64,
}

impl Digest {
    #[inline]
    pub(crate) fn new(promise: Promise) -> Self {
        Self {
            promise,
            tally: Tally::default(),
            events: 0,
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, step: u64, value: u32) {
        // Knuth's multiplier for 64-bit linear congruential sequences.
        const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
        self.tally.add(value);
        let event = (step << 32) | u64::from(value);
        self.events = if is_checked_by_step(self.promise) {
            // A sum does not depend on the order of what is added.
            let scrambled = event.wrapping_mul(MULTIPLIER);
            self.events.wrapping_add(scrambled ^ (scrambled >> 32))
        } else {
            self.events.wrapping_mul(MULTIPLIER).wrapping_add(event)
        };
    }

    /// Holds what a subject fired against this, which is what it should have.
    pub(crate) fn check(self, fired: Self, subject: &'static str) -> Result<(), WrongAnswer> {
        fired.tally.check(self.tally, subject, "fired")?;
        if fired.events == self.events {
            return Ok(());
        }
        Err(WrongAnswer::new(
            subject,
            "fired the right values early, late or in another order than promised",
        ))
    }
}

/// What an exact queue answers, as an ordered digest and as one that does not depend on the order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    in_order: Digest,
    in_any_order: Digest,
}

impl Expected {
    /// Timer `i` carries value `i`, and time goes in steps of `step_ns`, the first of which ends at
    /// `step_ns`.
    pub(crate) fn new(deadlines: &[u64], step_ns: u64) -> Self {
        let mut order: Vec<u32> = (0..deadlines.len() as u32).collect();
        order.sort_by_key(|&timer| deadlines[timer as usize]);
        let mut expected = Self {
            in_order: Digest::new(Promise::FirstComeFirstServed),
            in_any_order: Digest::new(Promise::StepOrder),
        };
        for timer in order {
            let step = step_of(deadlines[timer as usize], step_ns);
            expected.in_order.add(step, timer);
            expected.in_any_order.add(step, timer);
        }
        expected
    }

    pub(crate) fn check(self, fired: Digest, subject: &'static str) -> Result<(), WrongAnswer> {
        let expected = if is_checked_by_step(fired.promise) {
            self.in_any_order
        } else {
            self.in_order
        };
        expected.check(fired, subject)
    }
}

/// The step in which a deadline is due.
pub(crate) fn step_of(deadline: u64, step_ns: u64) -> u64 {
    deadline.div_ceil(step_ns).max(1)
}

/// Checks the timers left at the end, fired in one go, against the exact order.
pub(crate) fn check_rest(
    fired: &[u32],
    exact: &[u32],
    deadline_of: impl Fn(u32) -> u64,
    promise: Promise,
    subject: &'static str,
) -> Result<(), WrongAnswer> {
    let is_right = match promise {
        Promise::FirstComeFirstServed => fired == exact,
        Promise::DeadlineOrder | Promise::AnyAmongEquals => {
            fired.is_sorted_by_key(|&value| deadline_of(value)) && are_the_same(fired, exact)
        }
        Promise::StepOrder | Promise::Late => are_the_same(fired, exact),
        Promise::NothingExpires => fired.is_empty(),
    };
    if is_right {
        return Ok(());
    }
    Err(WrongAnswer::new(
        subject,
        format!(
            "fired {} timers at the end that are not the {} left, or not in the promised order",
            fired.len(),
            exact.len()
        ),
    ))
}

fn are_the_same(some: &[u32], others: &[u32]) -> bool {
    let (mut some, mut others) = (some.to_vec(), others.to_vec());
    some.sort_unstable();
    others.sort_unstable();
    some == others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(promise: Promise, events: &[(u64, u32)]) -> bool {
        let mut digest = Digest::new(promise);
        for &(step, value) in events {
            digest.add(step, value);
        }
        let expected = Expected::new(&[30, 10, 10, 0], 10);
        expected.check(digest, "it").is_ok()
    }

    #[test]
    fn digest_of_another_order_or_step_is_refused() {
        let promise = Promise::FirstComeFirstServed;
        assert!(is_right(promise, &[(1, 3), (1, 1), (1, 2), (3, 0)]));
        assert!(!is_right(promise, &[(1, 3), (1, 2), (1, 1), (3, 0)]));
        assert!(!is_right(promise, &[(1, 3), (1, 1), (1, 2), (4, 0)]));
        assert!(!is_right(promise, &[(1, 3), (1, 1), (1, 2)]));
    }

    #[test]
    fn digest_by_step_allows_any_order_within_a_step_only() {
        let promise = Promise::StepOrder;
        assert!(is_right(promise, &[(1, 2), (1, 3), (1, 1), (3, 0)]));
        assert!(!is_right(promise, &[(1, 0), (1, 3), (1, 1), (3, 2)]));
        assert!(!is_right(promise, &[(1, 2), (1, 3), (2, 1), (3, 0)]));
        assert!(!is_right(promise, &[(1, 2), (1, 3), (1, 1)]));
    }

    #[test]
    fn rest_in_deadline_order_may_swap_equals_only() {
        let deadline_of = |value: u32| u64::from(value / 2);
        let check = |fired: &[u32], promise| {
            check_rest(fired, &[0, 1, 2, 3], deadline_of, promise, "it").is_ok()
        };
        assert!(check(&[1, 0, 2, 3], Promise::DeadlineOrder));
        assert!(!check(&[1, 0, 2, 3], Promise::FirstComeFirstServed));
        assert!(!check(&[2, 0, 1, 3], Promise::DeadlineOrder));
        assert!(!check(&[0, 1, 2], Promise::DeadlineOrder));
        assert!(check(&[2, 0, 1, 3], Promise::StepOrder));
        assert!(!check(&[2, 0, 1, 1], Promise::StepOrder));
    }
}
