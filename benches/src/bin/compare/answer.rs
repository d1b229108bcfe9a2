//! Checks of what the subjects answer: how many, which ones, and in what order.

use std::fmt;

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

/// What a subject promises about the timers it yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// In order of deadline, equals as they were last scheduled.
    FirstComeFirstServed,
    /// In order of deadline, equals in any order of the subject's own, though a queue that was
    /// filled fresh yields them as they came.
    DeadlineOrder,
    /// It yields nothing at all: it is here for what comes before.
    NothingExpires,
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

/// A tally of fired timers that also depends on their order and on the step in which each fired.
///
/// A multiplication a timer, the same for every subject, buys the full check at no cost in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) tally: Tally,
    order: u64,
}

impl Digest {
    #[inline]
    pub(crate) fn add(&mut self, step: u64, value: u32) {
        self.tally.add(value);
        let event = (step << 32) | u64::from(value);
        // Knuth's multiplier for 64-bit linear congruential sequences.
        self.order = self
            .order
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(event);
    }

    /// What an exact queue answers: timer `i` carries value `i`, and time goes in steps of `step_ns`,
    /// the first of which ends at `step_ns`.
    pub(crate) fn expected(deadlines: &[u64], step_ns: u64) -> Self {
        let mut order: Vec<u32> = (0..deadlines.len() as u32).collect();
        order.sort_by_key(|&timer| deadlines[timer as usize]);
        let mut digest = Self::default();
        for timer in order {
            digest.add(step_of(deadlines[timer as usize], step_ns), timer);
        }
        digest
    }

    pub(crate) fn check(self, expected: Self, subject: &'static str) -> Result<(), WrongAnswer> {
        self.tally.check(expected.tally, subject, "fired")?;
        if self.order == expected.order {
            return Ok(());
        }
        Err(WrongAnswer::new(
            subject,
            "fired the right values early, late or in another order than promised",
        ))
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
        Promise::DeadlineOrder => {
            let mut fired = fired.to_vec();
            let in_order = fired.is_sorted_by_key(|&value| deadline_of(value));
            fired.sort_unstable();
            let mut exact = exact.to_vec();
            exact.sort_unstable();
            in_order && fired == exact
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_another_order_or_step_is_refused() {
        let expected = Digest::expected(&[30, 10, 10, 0], 10);
        let digest_of = |events: &[(u64, u32)]| {
            let mut digest = Digest::default();
            events
                .iter()
                .for_each(|&(step, value)| digest.add(step, value));
            digest
        };
        let right = digest_of(&[(1, 3), (1, 1), (1, 2), (3, 0)]);
        assert!(right.check(expected, "it").is_ok());
        let swapped = digest_of(&[(1, 3), (1, 2), (1, 1), (3, 0)]);
        assert!(swapped.check(expected, "it").is_err());
        let late = digest_of(&[(1, 3), (1, 1), (1, 2), (4, 0)]);
        assert!(late.check(expected, "it").is_err());
        let missing = digest_of(&[(1, 3), (1, 1), (1, 2)]);
        assert!(missing.check(expected, "it").is_err());
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
    }
}
