//! `peek_ahead` finds the next occupied bucket of each level.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis};

use crate::geometries::{Lopsided, with_lists};
use crate::script::spans;

const TICK: u64 = 1 << 20;

/// On each level, the answer is the start of the next occupied bucket and nothing else.
#[test]
fn peek_ahead_tells_the_next_bucket_of_each_level() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for now in [0, spans[0] / 2, spans[4] * 5 + spans[1] + 3] {
            for level in 1..4 {
                // In the bucket after next, which no finer level can hold, unless it is the last
                // of its rotation; then a coarser level holds the timer.
                let start = (now / spans[level] + 1) * spans[level];
                if start % spans[level + 1] == 0 {
                    continue;
                }
                let deadline = start + spans[level] / 2;
                let mut wheel = with_lists::<G>(now);
                wheel.schedule(deadline, 0);
                for other in 1..4 {
                    let expected = (other == level).then_some(start - now);
                    assert_eq!(wheel.peek_ahead(other), expected, "{other} of {level}");
                }
                // Of the ballast one is in the near heap and the others are far.
                assert_eq!(wheel.peek_ahead(0), Some(u64::MAX - now));
                assert_eq!(wheel.peek_ahead(4), Some((1 << 63) - now), "the second half of time");
                wheel.schedule(now, 1);
                assert_eq!(wheel.peek_ahead(0), Some(0), "the current tick");
                assert_eq!(wheel.peek_ahead(level), Some(start - now));
            }
        }
    }
    check::<Millis>();
    check::<Caffeine>();
    check::<Micros>();
    check::<Compact>();
    check::<Lopsided>();
}

/// A bucket of few timers is brought up as a whole when it begins, and then they are known to the nanosecond. Of a
/// crowd the wheel knows the tick.
#[test]
fn peek_ahead_finds_timers_that_were_brought_up_early() {
    for (timers, delay) in [(1, 44 * TICK + 5), (512, 44 * TICK + 5), (513, 44 * TICK)] {
        let mut wheel = with_lists::<Millis>(0);
        (0..timers).for_each(|n| _ = wheel.schedule(300 * TICK + 5, n));
        assert_eq!(wheel.peek_ahead(1), Some(256 * TICK));
        assert!(wheel.advance(256 * TICK).next().is_none());
        assert_eq!(wheel.peek_ahead(0), Some(delay), "{timers} timers");
        assert_eq!(wheel.expiration_delay(), Some(delay));
        assert_eq!(wheel.peek_ahead(1), None);
        assert!(wheel.advance(300 * TICK).next().is_none());
        assert_eq!(wheel.peek_ahead(0), Some(5), "the tick has come");
    }
}

#[test]
fn peek_ahead_at_the_far_level_leads_to_a_bucket_and_to_a_backlog() {
    let rotation = spans::<Compact>()[4];
    let mut wheel = with_lists::<Compact>(7);
    for n in 0..3 {
        wheel.schedule(2 * rotation + 5 + n, n);
    }
    assert_eq!(wheel.peek_ahead(4), Some(2 * rotation - 7));
    // One unit to open the bucket, and one for one of the three.
    let mut budget = Budget::of_work(2);
    assert!(wheel.advance_with_budget(2 * rotation, &mut budget).next().is_none());
    assert!(budget.work == 0 && wheel.has_backlog());
    assert_eq!(wheel.peek_ahead(4), Some(0), "it is being emptied");
    assert!(wheel.advance(2 * rotation).next().is_none());
    assert_eq!(wheel.peek_ahead(4), Some((1 << 63) - 2 * rotation), "the ballast, in the second half of time");
}
