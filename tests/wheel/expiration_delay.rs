//! A driver that sleeps for `expiration_delay` wakes up in time, and not much more often than there
//! is something to do. The pair counts the wake-ups of every script that has a driver.

use timer_wheel::{Budget, Compact, Geometry, Millis, Wheel};

use crate::geometries::{Narrow, with_lists};
use crate::pair::LEVELS;
use crate::script::spans;

/// The wake-ups of a driver that sleeps for `expiration_delay` until nothing is left.
fn wake_ups<G: Geometry>(wheel: &mut Wheel<u64, G>) -> usize {
    let mut wake_ups = 0;
    while let Some(delay) = wheel.expiration_delay() {
        wake_ups += 1;
        assert!(wake_ups < 100_000, "the driver never comes to an end");
        let now = wheel.now() + delay;
        for item in wheel.advance(now) {
            assert_eq!(item.deadline, now, "woken up at another time");
        }
    }
    wake_ups
}

/// Postponed before the wheel came to look at it, a timer costs one wake-up more each time.
#[test]
fn driver_wakes_up_once_a_level_and_once_more_for_a_timer_and_each_postponement() {
    fn check<G: Geometry>() {
        let spans = spans::<G>();
        for start in [0, 1, spans[1] - 1, spans[3] + 1, 1 << 60] {
            for span in spans {
                // The longest way: down every level, to a deadline that is on no boundary.
                let ragged: u64 = spans.iter().filter(|&&finer| finer <= span).map(|finer| finer + finer / 2).sum();
                let delays = [1, span - 1, span, span + 1, 2 * span + 1, 3 * span - 1, ragged];
                for (delay, more) in
                    delays.into_iter().flat_map(|delay| [1, span / 2, 3 * span, ragged].map(|by| (delay, by)))
                {
                    for postponed in 0..4 {
                        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(start);
                        let key = wheel.schedule(start + delay, 0);
                        for nth in 1..=postponed {
                            assert!(wheel.reschedule(key, start + delay + nth * more));
                        }
                        let (count, most) = (wake_ups(&mut wheel), LEVELS + 1 + postponed as usize);
                        assert!(count <= most, "{count} wake-ups: {delay} after {start}, {postponed} times {more}");
                    }
                }
            }
        }
    }
    in_every_geometry!(check);
}

const TICK: u64 = 1 << 20;

/// A touch writes to the timer and to nothing else: its entry stays where it is.
#[test]
fn postponed_timer_keeps_its_bucket_and_wakes_at_its_old_time() {
    let mut wheel = with_lists::<Millis>(0);
    let key = wheel.schedule(5 * TICK, 0);
    assert!(wheel.reschedule(key, 5 * TICK + 1));
    for ticks in [9, 70, 700_000] {
        assert!(wheel.reschedule(key, ticks * TICK));
        assert_eq!(wheel.stats().occupied, [1, 0, 0, 0, 1]);
        assert_eq!(wheel.expiration_delay(), Some(5 * TICK));
        assert_eq!(wheel.next_deadline(), Some(ticks * TICK), "exact");
    }
    assert!(wheel.advance(5 * TICK).next().is_none());
    assert_eq!(wheel.stats().occupied, [0, 0, 1, 0, 1], "placed again");
}

/// Found by random scripts: the call ended before it saw that there was no crowd any more.
#[test]
fn budget_used_up_with_the_last_of_a_crowd_leaves_no_wake_up_behind() {
    fn check<G: Geometry>(crowd: u64) {
        let [_, coarse, ..] = spans::<G>();
        let now = 7 * coarse + coarse / 2;
        for work in 1..=3 * crowd as usize + 2 {
            let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
            (0..crowd).for_each(|n| _ = wheel.schedule(7 * coarse + n, n));
            while !wheel.is_empty() {
                let mut budget = Budget::of_work(work);
                assert!(wheel.advance_with_budget(now, &mut budget).count() <= work);
            }
            assert!(!wheel.has_backlog());
            wheel.schedule(now + coarse, 0);
            assert!(!wheel.has_backlog(), "budget {work}");
            let delay = wheel.expiration_delay();
            assert!(delay >= Some(coarse / 2), "budget {work}: {delay:?}");
        }
    }
    check::<Millis>(600);
    check::<Compact>(300);
    check::<Narrow>(40);
}
