//! A timer with a new deadline: postponed in its bucket, or placed again.

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::geometries::{Lopsided, Tiny, with_lists};
use crate::script::spans;

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

/// ratas: the lower level fired before the upper level's clock had moved, when timers were put back
/// by a rotation and one or two ticks.
#[test]
fn reschedule_by_a_rotation_and_one_in_a_loop_fires_on_time() {
    fn check<G: Geometry>(ticks: u64) {
        let [tick, rotation, ..] = spans::<G>();
        let period = rotation + ticks * tick;
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let key = wheel.schedule(period, 1);
        for round in 1..600 {
            let deadline = round * period;
            for moment in [deadline - tick, deadline - 1] {
                assert!(wheel.peek_expired(moment).is_none(), "due early, in round {round}");
            }
            wheel.peek_expired(deadline).expect("it is due").rearm(deadline + period);
            assert!(wheel.peek_expired(deadline).is_none());
            wheel.check_invariants();
            // And once more from outside, to the same moment.
            assert!(wheel.reschedule(key, deadline + 3 * period));
            assert!(wheel.reschedule(key, deadline + period));
        }
    }
    for ticks in 0..4 {
        check::<Millis>(ticks);
        check::<Micros>(ticks);
        check::<Compact>(ticks);
        check::<Caffeine>(ticks);
        check::<Tiny>(ticks);
        check::<Lopsided>(ticks);
    }
}
