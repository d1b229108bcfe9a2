//! A timer that is cancelled is gone: from the count, from its bucket, and from the wake-up.

use timer_wheel::{Budget, Geometry};

use crate::geometries::Widest;
use crate::pair::Pair;
use crate::script::{Op, Pick, When, spans};

/// tokio#3270: the level computed at removal was not the level at insertion, and the occupancy bit
/// of another bucket was cleared, or none. wahern/timeout: the bit was not cleared on delete, and empty buckets woke the
/// driver. A postponed timer was the same trap here: its deadline no longer says in which bucket it is.
#[test]
fn cancel_after_some_expired_or_were_postponed_clears_every_bit() {
    fn check<G: Geometry>() {
        for span in spans::<G>() {
            let mut pair = Pair::<G>::new(span / 3);
            for count in [1, 2, 33, 70] {
                pair.apply(&Op::Storm(When::Edge(span, 2, 0), 0, count));
                pair.apply(&Op::Storm(When::Edge(span, 2, 1), span / 2, 5));
                pair.apply(&Op::RescheduleMany(2, When::Edge(span, 5, 0)));
                pair.apply(&Op::Advance(When::Edge(span, 2, 0)));
                pair.apply(&Op::CancelMany(1));
                pair.apply(&Op::CancelMany(0));
                let stats = pair.wheel.stats();
                assert_eq!((stats.timers, stats.occupied), (0, [0; 5]));
            }
            pair.finish();
        }
    }
    in_every_geometry!(check);
}

/// netty#14959: the count of pending timers went down twice when a cancel met a firing.
#[test]
fn cancel_inside_the_firing_window_counts_once() {
    fn check<G: Geometry>() {
        let mut pair = Pair::<G>::new(0);
        let now = When::At(1_000);
        pair.apply(&Op::Storm(now, 0, 9));
        pair.apply(&Op::Pop(now));
        // The one that fired, and then one that has not, twice.
        for back in [8, 7, 7] {
            pair.apply(&Op::Cancel(Pick::Any(back)));
        }
        // In the middle of a backlog.
        pair.apply(&Op::AdvanceBudgeted(now, Budget::of_work(2), 0));
        (0..9).for_each(|back| pair.apply(&Op::Cancel(Pick::Any(back))));
        assert_eq!(pair.wheel.len(), 0);
        pair.finish();
    }
    in_every_geometry!(check);
    check::<Widest>();
}
