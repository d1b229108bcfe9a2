//! Timers that begin again whenever they end, and what an exact queue fires of them.
//!
//! A timer's next deadline depends on the timer and on the step in which it begins, and on nothing else.
//! So each can be followed through its lives by itself, without a queue.

use timer_wheel_bench::queue::Promise;

use crate::answer::{Digest, step_of};

/// The steps of a measurement, counted from one: time advances to the end of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) count: u64,
    pub(super) step_ns: u64,
    pub(super) touch: Touch,
}

/// Whether what is touched in a step is touched before its advance or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    BeforeAdvance,
    AfterAdvance,
}

impl Steps {
    /// The time that a step advances to.
    pub(super) fn end_of(self, step: u64) -> u64 {
        step * self.step_ns
    }

    /// What fires: timer `i` has the deadline `first[i]`, and begins again with the deadline
    /// `begin(step, i)` in each step in which it fires or is touched. `touches` are pairs of them.
    pub(super) fn follow(
        self,
        first: &[u64],
        touches: impl Iterator<Item = (u64, u32)>,
        begin: impl Fn(u64, u32) -> u64,
    ) -> Digest {
        let mut fired = Digest::new(Promise::StepOrder);
        let mut touches: Vec<(u32, u64)> = touches.map(|(step, timer)| (timer, step)).collect();
        touches.sort_unstable();
        let mut touches = touches.into_iter().peekable();
        for (&deadline, timer) in first.iter().zip(0..) {
            let mut due = step_of(deadline, self.step_ns);
            let begin = |step| step_of(begin(step, timer), self.step_ns);
            let mut fire_until = |due: &mut u64, last| {
                while *due <= last {
                    fired.add(*due, timer);
                    *due = begin(*due);
                }
            };
            while let Some((_, step)) = touches.next_if(|&(touched, _)| touched == timer) {
                let last = match self.touch {
                    Touch::BeforeAdvance => step - 1,
                    Touch::AfterAdvance => step,
                };
                fire_until(&mut due, last);
                due = begin(step);
            }
            fire_until(&mut due, self.count);
        }
        fired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(touch: Touch, touches: &[(u64, u32)]) -> Digest {
        let steps = Steps {
            count: 10,
            step_ns: 100,
            touch,
        };
        steps.follow(&[250, 1_000], touches.iter().copied(), |step, timer| {
            steps.end_of(step) + 301 + u64::from(timer)
        })
    }

    fn expected(events: &[(u64, u32)]) -> Digest {
        let mut expected = Digest::new(Promise::StepOrder);
        events
            .iter()
            .for_each(|&(step, timer)| expected.add(step, timer));
        expected
    }

    #[test]
    fn untouched_timer_fires_and_begins_again() {
        let fired = events(Touch::AfterAdvance, &[]);
        let expected = expected(&[(3, 0), (7, 0), (10, 1)]);
        assert!(expected.check(fired, "it").is_ok());
    }

    #[test]
    fn touch_in_the_step_of_the_deadline_comes_in_time_only_before_the_advance() {
        let fired = events(Touch::BeforeAdvance, &[(3, 0)]);
        assert!(expected(&[(7, 0), (10, 1)]).check(fired, "it").is_ok());
        let fired = events(Touch::AfterAdvance, &[(3, 0)]);
        let expected = expected(&[(3, 0), (7, 0), (10, 1)]);
        assert!(expected.check(fired, "it").is_ok());
    }
}
