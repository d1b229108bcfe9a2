//! What a wheel shows of itself: the next occupied bucket of each level, its levels, bucket by bucket, and how it prints.

use timer_wheel::{Budget, Caffeine, Compact, Geometry, Micros, Millis, Wheel};

use crate::geometries::{Lopsided, with_lists};
use crate::script::spans;

/// Nanoseconds in a tick of [`Millis`].
const TICK: u64 = 1 << 20;

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
