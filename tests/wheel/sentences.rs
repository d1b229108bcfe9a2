//! Sentences of `docs/semantics.md` that no model tells of, as properties of wheels at any moment of a
//! random life. Each test quotes what it holds.

use timer_wheel::{Advance, Budget, Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::geometries::few;

/// Calls a function for every geometry that the crate brings.
macro_rules! in_every_preset {
    ($check:ident) => {
        $check::<Millis>();
        $check::<Caffeine>();
        $check::<Micros>();
        $check::<Compact>();
    };
}

/// The bits of a xorshift generator.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A time span of any order of magnitude, some of them alike.
    fn span(&mut self) -> u64 {
        let any = self.next() >> self.below(64);
        if self.below(3) == 0 {
            any & !0xfff_ffff
        } else {
            any
        }
    }
}

/// Lets a wheel of at most so many timers live for a while, and looks at it at every moment.
fn live<G: Geometry>(most: usize, look: impl FnMut(&Wheel<u64, G>)) {
    live_and_show(most, &mut { look });
}

/// The same behind a pointer, to be compiled once for each geometry.
fn live_and_show<G: Geometry>(most: usize, look: &mut dyn FnMut(&Wheel<u64, G>)) {
    for seed in 1..=20 {
        let mut bits = Bits(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let mut wheel = Wheel::<u64, G>::with_geometry(bits.span() >> 8);
        let mut keys: Vec<TimerKey> = Vec::new();
        for _ in 0..300 {
            let at = wheel.now().saturating_add(bits.span());
            match bits.below(8) {
                0..4 => {
                    let room = most - wheel.len();
                    for _ in 0..room.min(bits.below(most / 8)) {
                        keys.push(wheel.schedule(at, 0));
                    }
                }
                4 if !keys.is_empty() => _ = wheel.cancel(keys[bits.below(keys.len())]),
                5 if !keys.is_empty() => _ = wheel.reschedule(keys[bits.below(keys.len())], at),
                6 => _ = wheel.advance_with_budget(at >> 1, bits.below(40)).count(),
                _ => {
                    let delay = wheel.expiration_delay().unwrap_or(0);
                    _ = wheel.advance(wheel.now().saturating_add(delay)).count();
                }
            }
            look(&wheel);
        }
    }
}

fn least_of_all_levels<G: Geometry>(wheel: &Wheel<u64, G>) -> Option<u64> {
    (0..5).filter_map(|level| wheel.peek_ahead(level)).min()
}

/// The work that a call did: it was given all there is.
fn work<G: Geometry>(advance: &Advance<'_, u64, G>) -> usize {
    usize::MAX - advance.unused()
}

/// A sentence that is reworded takes its test along.
#[test]
fn every_sentence_quoted_here_stands_in_the_document() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let document = words(include_str!("../../docs/semantics.md"));
    let lines = include_str!("sentences.rs").lines().map(str::trim_start);
    // Lines of a quotation that follow one another are one.
    let mut quotations = vec![String::new()];
    for line in lines {
        match (line.strip_prefix("/// > "), quotations.last_mut()) {
            (Some(text), Some(quotation)) => *quotation += &format!("{text} "),
            _ => quotations.push(String::new()),
        }
    }
    quotations.retain(|quotation| !quotation.is_empty());
    assert!(quotations.len() > 20);
    for quotation in &quotations {
        assert!(
            document.contains(&words(quotation)),
            "not there: {quotation}"
        );
    }
}

/// > those that are scheduled into the current tick or the past, and all there are while those are up to 32 and there are no
/// > buckets
///
/// > What is in no bucket counts as level 0, by its exact deadline
#[test]
fn up_to_32_timers_need_no_bucket_and_count_as_level_0() {
    fn check<G: Geometry>() {
        live::<G>(32, |wheel| {
            assert_eq!(wheel.stats().occupied, [0; 5]);
            let next = wheel.next_deadline();
            let delay = next.map(|deadline| deadline.saturating_sub(wheel.now()));
            assert_eq!(wheel.peek_ahead(0), delay);
            assert!((1..5).all(|level| wheel.peek_ahead(level).is_none()));
        });
    }
    in_every_preset!(check);
}

/// > `advance(now)` yields every live timer with `deadline <= now` and no other
///
/// > Timers fire in order of deadline.
#[test]
fn advance_yields_what_is_due_in_ascending_order_and_leaves_the_rest() {
    fn check<G: Geometry>() {
        live::<G>(64, |wheel| {
            for ahead in [0, 1 << 20, 1 << 36, u64::MAX] {
                let now = wheel.now().saturating_add(ahead);
                let timers = wheel.ascending();
                let timers: Vec<_> = timers.map(|timer| (timer.deadline, timer.key)).collect();
                let (due, rest) = timers.split_at(timers.partition_point(|(at, _)| *at <= now));
                let mut copy = wheel.clone();
                let fired = copy.advance(now).map(|timer| (timer.deadline, timer.key));
                assert_eq!(fired.collect::<Vec<_>>(), due);
                assert!(rest.iter().all(|(_, key)| copy.contains(*key)));
            }
        });
    }
    in_every_preset!(check);
}

/// > It is `None` exactly when no timer is live.
///
/// > never later than the earliest deadline
///
/// > `next_deadline()` is the earliest live deadline, exactly, also when timers were postponed.
#[test]
fn next_wake_up_is_never_late_and_the_next_deadline_is_exact() {
    fn check<G: Geometry>() {
        live::<G>(2_000, |wheel| {
            let earliest = wheel.iter().map(|timer| timer.deadline).min();
            assert_eq!(wheel.next_deadline(), earliest);
            let delay = wheel.expiration_delay();
            assert_eq!(delay.is_none(), wheel.is_empty());
            if let (Some(delay), Some(earliest)) = (delay, earliest) {
                assert!(wheel.now() + delay <= earliest.max(wheel.now()));
            }
        });
    }
    in_every_preset!(check);
}

/// > A deadline in the past is due at the next advance
///
/// > A timer that you schedule *between* two advances, for a time that the first has passed, fires in the second.
#[test]
fn timer_scheduled_for_a_time_that_has_passed_fires_in_the_next_advance() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let mut copy = wheel.clone();
            let key = copy.schedule(wheel.now() / 2, 1);
            assert!(copy.advance(0).any(|timer| timer.key == key));
        });
    }
    in_every_preset!(check);
}

/// > And a wheel that is replaced by an older copy of itself, cloned or deserialized, gives keys out again.
///
/// > The same calls on the same values give the same answers on every machine, keys included.
#[test]
fn copies_give_out_the_same_keys() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let (mut one, mut other) = (wheel.clone(), wheel.clone());
            for deadline in [0, wheel.now(), u64::MAX] {
                assert_eq!(one.schedule(deadline, 1), other.schedule(deadline, 2));
            }
        });
    }
    in_every_preset!(check);
}

/// > Sleep for it and advance, and one of these has happened: a timer has fired, an occupied bucket was
/// > opened, a timer that had been postponed was looked at, or at least 256 timers of a crowded bucket were moved ahead of
/// > their time (half as many as make a crowd, in geometries with fewer buckets).
#[test]
fn wake_up_fires_or_opens_or_looks_at_what_was_postponed_or_moves_256() {
    fn check<G: Geometry>() {
        let mut without_a_fire = 0;
        live::<G>(5_000, |wheel| {
            let Some(delay) = wheel.expiration_delay() else {
                return;
            };
            let mut after = wheel.clone();
            if after.advance(wheel.now().saturating_add(delay)).count() > 0 {
                return;
            }
            without_a_fire += 1;
            let was_postponed = after.stats().ready < wheel.stats().ready;
            let mut levels = wheel.levels().into_iter().zip(after.levels());
            let is_moved = levels.any(|(before, after)| {
                let is_far = before.bucket_span().is_none();
                let mut buckets = before.buckets().zip(after.buckets());
                buckets.any(|(before, after)| {
                    // Of the far rotations one was opened.
                    before > after && (after == 0 || is_far) || before >= after + few::<G>() / 2
                })
            });
            assert!(was_postponed || is_moved, "{wheel:?}\n{after:?}");
        });
        assert!(without_a_fire > 100);
    }
    in_every_preset!(check);
}

/// > So a timer costs at most one wake-up for each level and one to fire, and one more for each time it was
/// > postponed before its old time came.
#[test]
fn wake_ups_are_bounded_by_levels_and_by_how_often_timers_are_postponed() {
    fn check<G: Geometry>() {
        for seed in 1..=100 {
            let mut bits = Bits(seed * 7_919);
            let mut wheel = Wheel::<u64, G>::with_geometry(0);
            (0..32).for_each(|_| _ = wheel.schedule(u64::MAX, 0)); // the rest need buckets
            let timers = 1 + bits.below(20);
            let keys: Vec<_> = (0..timers)
                .map(|_| wheel.schedule(bits.span() >> 8, 0))
                .collect();
            let shorter = 8 + bits.below(24);
            let (mut wake_ups, mut fired, mut postponed) = (0, 0, 0);
            while fired < timers {
                let delay = wheel.expiration_delay().expect("timers are live");
                fired += wheel.advance(wheel.now() + delay).count();
                wake_ups += 1;
                for _ in 0..bits.below(4) {
                    let key = keys[bits.below(timers)];
                    let later = bits.span() >> shorter;
                    if postponed < 1_000 && later > 0 {
                        let deadline = wheel.deadline(key).map(|old| old + later);
                        postponed +=
                            usize::from(deadline.is_some_and(|at| wheel.reschedule(key, at)));
                    }
                }
            }
            assert!(
                wake_ups <= 6 * timers + postponed,
                "{wake_ups} for {timers}, {postponed} times postponed"
            );
        }
    }
    in_every_preset!(check);
}

/// > A cancelled timer wakes no caller.
#[test]
fn wake_ups_follow_the_timers_that_are_left() {
    fn check<G: Geometry>() {
        for seed in 1..=20 {
            let mut bits = Bits(seed);
            let mut wheel = Wheel::<u64, G>::with_geometry(0);
            let keys: Vec<_> = (0..2_000)
                .map(|_| wheel.schedule(bits.span() >> 2, 0))
                .collect();
            let left = 1 + bits.below(20);
            for &key in &keys[left..] {
                assert!(wheel.cancel(key).is_some());
            }
            let (mut wake_ups, mut fired) = (0, 0);
            while let Some(delay) = wheel.expiration_delay() {
                fired += wheel.advance(wheel.now() + delay).count();
                wake_ups += 1;
            }
            assert_eq!(fired, left);
            assert!(wake_ups <= 6 * left, "{wake_ups} for {left}");
        }
    }
    in_every_preset!(check);
}

/// > It is later only where some timers of a crowded bucket, one
/// > of more than 512 (in `Millis`), are to be moved ahead first.
#[test]
fn least_peek_ahead_of_few_timers_is_the_expiration_delay() {
    fn check<G: Geometry>() {
        live::<G>(few::<G>(), |wheel| {
            assert_eq!(least_of_all_levels(wheel), wheel.expiration_delay());
        });
    }
    in_every_preset!(check);
}

/// > The least of all levels is never before `expiration_delay()`.
#[test]
fn least_peek_ahead_is_never_before_the_expiration_delay() {
    fn check<G: Geometry>() -> u32 {
        let mut later = 0;
        live::<G>(5_000, |wheel| {
            let (least, delay) = (least_of_all_levels(wheel), wheel.expiration_delay());
            assert!(least >= delay, "{least:?} {delay:?}");
            assert_eq!(least.is_none(), wheel.is_empty());
            later += u32::from(least > delay);
        });
        later
    }
    let later = [check::<Millis>(), check::<Caffeine>(), check::<Micros>()];
    assert!(
        later.iter().sum::<u32>() > 0,
        "no crowd was ahead: this says no more than the one above"
    );
}

/// > a timer that was brought up early as much as one of the current tick
#[test]
fn timer_brought_up_early_counts_as_level_0() {
    fn check<G: Geometry>() {
        let mut brought_up = 0;
        live::<G>(2_000, |wheel| {
            let mut copy = wheel.clone();
            let Some(first) = copy.peek_first().map(|timer| timer.deadline) else {
                return;
            };
            brought_up += usize::from(copy.stats().ready > wheel.stats().ready);
            let delay = first.saturating_sub(wheel.now());
            assert!(copy.peek_ahead(0).is_some_and(|ahead| ahead <= delay));
        });
        assert!(brought_up > 100);
    }
    in_every_preset!(check);
}

/// > An `advance` to an earlier time than `now()` counts as one to `now()`.
#[test]
fn advance_to_an_earlier_time_counts_as_one_to_now() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let (mut back, mut stay) = (wheel.clone(), wheel.clone());
            let fired: Vec<_> = back.advance(wheel.now() / 2).collect();
            assert_eq!(fired, stay.advance(wheel.now()).collect::<Vec<_>>());
            assert_eq!(back.now(), wheel.now());
        });
    }
    in_every_preset!(check);
}

/// > A jump of any size costs O(timers touched),
/// > never O(time passed).
#[test]
fn jump_to_the_end_of_time_costs_by_timers() {
    fn check<G: Geometry>() {
        live::<G>(500, |wheel| {
            let mut copy = wheel.clone();
            let mut jump = copy.advance_with_budget(u64::MAX, usize::MAX);
            assert_eq!(jump.by_ref().count(), wheel.len());
            // Out of far, through four levels and the tick; and each may open a bucket on its way.
            assert!(work(&jump) <= 12 * wheel.len());
        });
    }
    in_every_preset!(check);
}

/// > What it has not yielded when it is dropped is yielded first by the next
/// > advance; until then it is live and can be cancelled.
///
/// > A timer that was yielded has fired, whatever became of it in your hands.
#[test]
fn timers_that_a_dropped_advance_did_not_yield_are_live_and_come_first() {
    fn check<G: Geometry>() {
        let mut left_over = 0;
        live::<G>(200, |wheel| {
            let now = wheel.now().saturating_add(1 << 40);
            let due: Vec<_> = wheel.clone().advance(now).collect();
            for taken in [0, 1, due.len() / 2] {
                let mut copy = wheel.clone();
                let first: Vec<_> = copy.advance(now).take(taken).collect();
                let (yielded, rest) = due.split_at(taken.min(due.len()));
                assert_eq!(first, yielded);
                assert!(yielded.iter().all(|timer| !copy.contains(timer.key)));
                assert!(rest.iter().all(|timer| copy.contains(timer.key)));
                assert_eq!(copy.clone().advance(now).collect::<Vec<_>>(), rest);
                assert!(rest.iter().all(|timer| copy.cancel(timer.key).is_some()));
                assert_eq!(copy.advance(now).count(), 0);
                left_over += rest.len();
            }
        });
        assert!(left_over > 1_000);
    }
    check::<Millis>();
    check::<Caffeine>();
}

/// > A plain number is a budget of work.
///
/// > `advance_with_budget(now, budget)` does no more than the budget allows.
#[test]
fn plain_number_bounds_the_work_and_through_it_the_fires() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let now = wheel.now().saturating_add(1 << 40);
            for number in [0, 1, 7, 100] {
                let (mut plain, mut named) = (wheel.clone(), wheel.clone());
                let plain: Vec<_> = plain.advance_with_budget(now, number).collect();
                let named = named.advance_with_budget(now, Budget::of_work(number));
                assert_eq!(plain, named.collect::<Vec<_>>());
                assert!(plain.len() <= number);
            }
        });
    }
    in_every_preset!(check);
}

/// > With any budget of at least one unit and one fire, repeated calls finish, and
/// > yield what one call without a budget would, in the same order.
#[test]
fn calls_with_any_budget_come_to_the_same_end() {
    fn check<G: Geometry>() {
        let mut nth = 0;
        live::<G>(64, |wheel| {
            nth += 1;
            let now = wheel.now().saturating_add(1 << (nth % 64));
            let due: Vec<_> = wheel.clone().advance(now).collect();
            for (work, fires) in [(1, 1), (7, 2), (3, 1_000), (1_000, 3)] {
                let budget = Budget::of_work(work).with_fires(fires);
                let mut copy = wheel.clone();
                let (mut fired, mut calls) = (Vec::new(), 0);
                loop {
                    let before = fired.len();
                    let mut advance = copy.advance_with_budget(now, budget);
                    fired.extend(advance.by_ref());
                    assert!(fired.len() - before <= fires.min(work));
                    calls += 1;
                    if !advance.has_backlog() {
                        break;
                    }
                    assert!(calls <= 12 * wheel.len() + 1, "no end");
                }
                assert_eq!(fired, due);
            }
        });
    }
    in_every_preset!(check);
}

/// > `has_backlog()` is true exactly while `expiration_delay()` is `Some(0)`
#[test]
fn backlog_is_told_of_exactly_while_the_delay_is_zero() {
    fn check<G: Geometry>() {
        let mut backlogs = 0;
        live::<G>(5_000, |wheel| {
            assert_eq!(wheel.has_backlog(), wheel.expiration_delay() == Some(0));
            backlogs += u32::from(wheel.has_backlog());
        });
        assert!(backlogs > 100);
    }
    in_every_preset!(check);
}

/// > `cancel` hands the value back, and the timer's slot is free at once.
#[test]
fn timer_takes_the_place_of_one_that_was_cancelled() {
    fn check<G: Geometry>() {
        live::<G>(500, |wheel| {
            let mut copy = wheel.clone();
            if let Some(key) = wheel
                .ascending()
                .nth(wheel.len() / 2)
                .map(|timer| timer.key)
            {
                let deadline = wheel.deadline(key).expect("it is live");
                assert_eq!(copy.cancel(key), Some(0));
                copy.schedule(deadline, 0);
                assert_eq!(copy.stats().slots, wheel.stats().slots);
            }
        });
    }
    in_every_preset!(check);
}

/// > Slots are given back from the end only, by `shrink_to_fit`, up to the highest in use
#[test]
fn shrink_gives_slots_back_down_to_the_highest_in_use() {
    for in_use in [0, 1, 63, 64, 255, 256, 257, 999] {
        let mut wheel = Wheel::new(0);
        let keys: Vec<TimerKey> = (0..1_000).map(|n| wheel.schedule(n, n)).collect();
        for (_, key) in keys.iter().enumerate().filter(|(n, _)| *n != in_use) {
            assert!(wheel.cancel(*key).is_some());
        }
        wheel.shrink_to_fit();
        assert_eq!(wheel.stats().slots, in_use + 1);
        assert!(wheel.contains(keys[in_use]));
    }
}

/// > `ascending()` and `descending()` in the exact order of C3 and its reverse.
///
/// > `pop_first()` takes the earliest timer out, `peek_first()` looks at it. The clock stays where it is.
#[test]
fn ascending_descending_and_pop_first_agree() {
    fn check<G: Geometry>() {
        live::<G>(200, |wheel| {
            let up: Vec<_> = wheel
                .ascending()
                .map(|timer| (timer.deadline, timer.key))
                .collect();
            let mut down: Vec<_> = wheel
                .descending()
                .map(|timer| (timer.deadline, timer.key))
                .collect();
            down.reverse();
            assert_eq!(up, down);
            let mut copy = wheel.clone();
            let popped = std::iter::from_fn(|| copy.pop_first());
            let popped: Vec<_> = popped.map(|timer| (timer.deadline, timer.key)).collect();
            assert_eq!(up, popped);
            assert_eq!(copy.now(), wheel.now());
        });
    }
    check::<Millis>();
    check::<Caffeine>();
}

/// > finding the timer prepares what comes next: its bucket is opened and sorted as if its time had
/// > come.
///
/// > What is scheduled before that bucket goes to the near heap from then on
#[test]
fn finding_the_first_opens_its_bucket_and_sends_what_is_earlier_to_the_near_heap() {
    fn check<G: Geometry>() {
        let mut opened = 0;
        live::<G>(2_000, |wheel| {
            let mut copy = wheel.clone();
            let first = copy.peek_first().map(|timer| timer.deadline);
            assert_eq!((first, copy.now()), (wheel.next_deadline(), wheel.now()));
            let found = copy.stats();
            assert_eq!(copy.peek_first().map(|timer| timer.deadline), first);
            assert_eq!(copy.stats(), found, "it is prepared already");
            assert_eq!(found.ready == 0, wheel.is_empty());

            let is_opened = found.occupied != wheel.stats().occupied;
            if is_opened && !wheel.has_backlog() {
                opened += 1;
                let start = wheel.now() + least_of_all_levels(wheel).expect("it is not empty");
                copy.schedule(start - 1, 0);
                let earlier = copy.stats();
                assert_eq!(earlier.ready, found.ready + 1);
                assert_eq!(earlier.occupied, found.occupied);
            }
        });
        assert!(opened > 100);
    }
    in_every_preset!(check);
}
