//! What a wheel shows of itself: its levels, bucket by bucket, and how it prints.

use std::cmp::Reverse;

use timer_wheel::{Budget, Geometry, Millis, Wheel};

use crate::geometries::{few, near, rotation_bits, with_lists};
use crate::script::spans;

/// Nanoseconds in a tick of [`Millis`].
const TICK: u64 = 1 << 20;

/// Where timers belong as seen from `now`, by plain division: the number of timers in each bucket of
/// each level, in the rotation of `now` and the next; in each far bucket, by the highest bit in which the rotations differ;
/// and of those in the near heap, which are those of the current tick; of the others, which come first in descending
/// order, all if they are few, else the least of the first few.
fn by_division<G: Geometry>(now: u64, deadlines: &[u64]) -> ([Vec<usize>; 5], usize) {
    let mut levels = [0, 1, 2, 3].map(|level| vec![0; 2 << G::LEVEL_BITS[level]]);
    let (mut far, mut in_heap) = (vec![0; rotation_bits::<G>() as usize], 0);
    let tick_ns = 1_u64 << G::TICK_BITS;
    let cursor = now / tick_ns;
    let later = deadlines.iter().filter(|&it| it / tick_ns > cursor).count();
    for (nth, &deadline) in (1..).zip(deadlines) {
        let tick = deadline / tick_ns;
        if tick <= cursor || later <= near::<G>() || nth == near::<G>() {
            in_heap += 1;
            continue;
        }
        // From the coarsest level down, the first on whose buckets the two differ.
        let sizes = levels.each_ref().map(|level| level.len() as u64 / 2);
        let mut span: u64 = sizes.iter().product();
        if tick / span != cursor / span {
            far[((tick / span) ^ (cursor / span)).ilog2() as usize] += 1;
            continue;
        }
        for (level, size) in levels.iter_mut().zip(sizes).rev() {
            span /= size;
            if tick / span != cursor / span {
                level[(tick / span % size) as usize] += 1;
                break;
            }
        }
    }
    let [a, b, c, d] = levels;
    ([a, b, c, d, far], in_heap)
}

fn levels_agree_with_division<G: Geometry>() {
    // A bucket of that many is a crowd, and is opened when it becomes one.
    if few::<G>() < 16 {
        return;
    }
    for now in [0, 1, TICK - 1, 0x1234_5678_9abc_def0, u64::MAX - 9] {
        let mut wheel = Wheel::<u64, G>::with_geometry(now);
        let mut deadlines = vec![0, now, u64::MAX];
        for bit in 0..64 {
            let step = 1_u64 << bit;
            deadlines.extend([now.saturating_add(step), now.saturating_add(step - 1)]);
            deadlines.extend([now ^ step, now.saturating_add(step).saturating_add(step / 3)]);
        }
        // The current tick's last, so that the later ones do not lie among them in the heap.
        deadlines.sort_by_key(|&deadline| Reverse(deadline));
        let keys: Vec<_> = deadlines.iter().map(|&deadline| wheel.schedule(deadline, 0)).collect();
        let cancelled = wheel.schedule(now.saturating_add(spans::<G>()[4] / 2), 0);
        wheel.cancel(cancelled);
        let (expected, in_heap) = by_division::<G>(now, &deadlines);
        assert_eq!(wheel.levels().map(|level| level.buckets), expected, "at {now}");
        let on_levels: usize = wheel.levels().iter().map(|level| level.timers).sum();
        assert_eq!(on_levels + in_heap, wheel.len());

        for key in keys {
            wheel.cancel(key);
        }
        assert!(wheel.levels().iter().all(|level| level.timers == 0));
    }
}

#[test]
fn levels_show_each_timer_in_the_bucket_of_its_deadline() {
    in_every_geometry!(levels_agree_with_division);
}

#[test]
fn cursor_is_the_bucket_of_now_on_every_level_and_a_bucket_spans_what_the_geometry_says() {
    fn check<G: Geometry>() {
        let mut wheel = Wheel::<u64, G>::with_geometry(7);
        for now in [7, TICK, TICK * 1_000_003, 1 << 40, u64::MAX - 1] {
            let _ = wheel.advance(now).count();
            let [nearer @ .., far] = wheel.levels();
            for (level, span) in nearer.iter().zip(spans::<G>()) {
                let cursor = now / span % (level.buckets.len() as u64 / 2);
                assert_eq!((level.cursor as u64, level.bucket_span), (cursor, Some(span)), "{level:?} at {now}");
            }
            assert_eq!((far.cursor, far.bucket_span), (0, None));
        }
    }
    in_every_geometry!(check);
}

#[test]
fn cursor_stays_behind_while_there_is_a_backlog() {
    let mut wheel = with_lists::<Millis>(0);
    for value in 0..10 {
        wheel.schedule(3 * TICK, value);
    }
    // One unit opens the bucket, three more visit its entries.
    assert!(wheel.advance_with_budget(9 * TICK, &mut Budget::of_work(4)).next().is_none());
    let [finest, ..] = wheel.levels();
    assert_eq!(finest.cursor, 3);
    assert_eq!(finest.buckets[3], 7, "what has not been visited");
    assert_eq!(wheel.advance(9 * TICK).count(), 10);
    assert_eq!(wheel.levels()[0].cursor, 9);
}

/// The bucket after the one that time is in, if it is crowded, is opened and moved down ahead of its
/// time, and what it held then shows in the next rotation of the level below.
#[test]
fn crowded_bucket_ahead_shows_in_the_next_rotation_of_the_level_below() {
    let mut wheel = with_lists::<Millis>(0);
    for n in 0..768 {
        wheel.schedule((512 + n / 3) * TICK, n);
    }
    assert_eq!(wheel.levels()[1].timers, 768);
    let half = (256 + 128) * TICK;
    assert_eq!(wheel.advance(256 * TICK).count(), 0);
    assert_eq!(wheel.advance(half).count(), 0);
    let [finest, above, ..] = wheel.levels();
    assert_eq!((finest.timers, above.timers), (384, 384), "half of it");
    let buckets = finest.buckets;
    assert!(buckets[..256].iter().all(|&timers| timers == 0));
    assert_eq!(buckets[256..].iter().sum::<usize>(), 384);
    assert_eq!(wheel.advance(511 * TICK).count(), 0);
    assert_eq!(wheel.advance(512 * TICK).count(), 3);
    let [finest, ..] = wheel.levels();
    assert_eq!(finest.timers, 765);
    assert_eq!(finest.buckets[..256], [[0].as_slice(), &[3; 255]].concat());
    wheel.check_invariants();
}

#[test]
fn wheel_prints_its_levels_and_no_timers() {
    let mut wheel = Wheel::<&str>::new(0);
    for n in 0..1_000_000 {
        wheel.schedule(n << 12, "an entry");
    }
    wheel.schedule(u64::MAX, "at the end of time");
    let _ = wheel.advance(1_500_000_000).count();
    wheel.schedule(1_500_000_000, "now");
    let postponed = wheel.schedule(1_600_000_000, "in 0.1 s");
    wheel.reschedule(postponed, 9_000_000_000);
    assert_eq!(
        format!("{wheel:?}"),
        "Wheel { now: 1.5s, len: 633792, expiration_delay: Some(0ns), near: 126, \
         levels: {0: 65281 timers in 255 of 512 buckets, 1: 568384 timers in 10 of 512 buckets, \
         far: 1 timer}, .. }"
    );
    assert_eq!(
        format!("{:?}", Wheel::<(), Millis>::new(u64::MAX)),
        "Wheel { now: 18446744073.709551615s, len: 0, expiration_delay: None, near: 0, \
         levels: {}, .. }"
    );
}
