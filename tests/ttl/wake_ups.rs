//! When to poll again, and how little it takes to know.

use std::time::Duration;

use timer_wheel::ttl::{Backoff, Context, Outcome, Phase, Role, TtlConfig, TtlQueue};

use crate::script::MS;

const SECOND: u64 = 1_000 * MS;

fn leader(config: TtlConfig) -> TtlQueue<u32> {
    let mut queue = TtlQueue::new(0, config);
    queue.role_change(Role::Leader, 0);
    queue
}

#[test]
fn pending_timeout_is_a_wake_up_and_counts_as_failure() {
    let mut queue = leader(TtlConfig::default());
    queue.init(1, 7, 5, Context::default()).unwrap();
    let proposed = 5 * MS;
    assert_eq!(queue.poll(proposed).count(), 1);
    assert_eq!(queue.next_wake(proposed), Some(10 * SECOND));
    let timeout = proposed + 10 * SECOND;
    assert_eq!(queue.poll(timeout - 1).count(), 0);
    assert_eq!((queue.pending_len(), queue.retrying_len()), (1, 0));
    assert_eq!(queue.next_wake(timeout - 1), Some(1));
    assert_eq!(queue.poll(timeout).count(), 0);
    assert_eq!((queue.pending_len(), queue.retrying_len()), (0, 1));
    assert_eq!(queue.next_wake(timeout), Some(SECOND));
    let retry = queue.poll(timeout + SECOND).next().unwrap();
    assert_eq!(retry.attempt, 2);
    let counters = queue.counters();
    assert_eq!((counters.timed_out, counters.failed), (1, 0));
    assert_eq!(counters.longest_pending_ns, 10 * SECOND);
}

#[test]
fn exponential_backoff_spreads_retries_within_its_bounds() {
    let cap = Duration::from_secs(8);
    let config = TtlConfig::builder()
        .backoff(Backoff::Exponential { cap })
        .retry_batch(100)
        .build()
        .unwrap();
    let mut queue = leader(config);
    for key in 0..20 {
        queue
            .init(u64::from(key), key, 1, Context::default())
            .unwrap();
    }
    let mut now = MS;
    assert_eq!(queue.poll(now).count(), 20);
    for longest in [1, 2, 4, 8, 8] {
        for key in 0..20 {
            queue.failed(&key, u64::from(key), now);
        }
        let (failed, mut came) = (now, 0);
        let mut moments = Vec::new();
        while came < 20 {
            now += queue.next_wake(now).unwrap();
            let retries = queue.poll(now).count();
            came += retries;
            moments.push(now);
            let least = (longest * SECOND / 2).max(SECOND);
            assert!((failed + least..=failed + longest * SECOND).contains(&now));
        }
        let together = moments.len() == 1;
        assert_eq!(together, longest == 1, "spread from the second failure on");
    }
}

#[test]
fn bound_is_a_bucket_early_at_the_most() {
    let mut queue = leader(TtlConfig::default());
    for key in 0..100 {
        let ttl_ms = 1_000 + u64::from(key);
        queue.init(1, key, ttl_ms, Context::default()).unwrap();
    }
    let bucket = 256 << 20; // of the second level, in nanoseconds
    for (index, key) in (0..90).enumerate() {
        let exact = queue.next_wake(0).unwrap();
        assert_eq!(
            exact,
            (1_000 + u64::from(key)) * MS,
            "those before have left"
        );
        assert!(queue.wake_bound(0) <= Some(exact) && queue.wake_bound(0) > Some(exact - bucket));
        let index = 2 + index as u64;
        queue
            .update(index, &key, 9_000, Context::default())
            .unwrap();
    }
    // Whoever sleeps for the bound comes to the time in a few polls, and no expiry is early.
    let (mut now, mut polls) = (0, 0);
    while queue.poll(now).next().is_none() {
        now += queue.wake_bound(now).unwrap();
        polls += 1;
    }
    assert_eq!((now, polls <= 4), (1_090 * MS, true), "{polls} polls");
}

/// Sleeping for the bound instead of the exact time costs no more than one wake-up for each time
/// that the earliest entry left.
#[test]
fn sleeping_for_the_bound_makes_progress() {
    let mut queue = leader(TtlConfig::default());
    let count = 500;
    for key in 0..count {
        queue
            .init(1, key, 60_000 + u64::from(key) * 37, Context::default())
            .unwrap();
    }
    let (mut now, mut wake_ups, mut expired) = (0, 0, 0);
    for round in 0.. {
        let Some(wait) = queue.wake_bound(now) else {
            break;
        };
        now += wait;
        let due: Vec<_> = queue.poll(now).collect();
        for due in due {
            queue.applied(&due.key, due.index);
            expired += 1;
        }
        if round < count {
            // Those next in line are put off, as by a heartbeat in turn.
            let ctx = Context {
                created_ns: now,
                ..Context::default()
            };
            let oldest = queue.oldest().map(|timer| timer.entry.key);
            oldest.map(|key| queue.update(2 + u64::from(round), &key, 90_000, ctx));
        }
        wake_ups += 1;
        assert!(wake_ups <= 2 * count + 10, "too many wake-ups");
    }
    assert_eq!(expired, count);
}

#[test]
fn follower_and_stopped_queue_have_no_wake_up() {
    let mut queue = leader(TtlConfig::default());
    queue.init(1, 1, 1, Context::default()).unwrap();
    queue.role_change(Role::Follower, 0);
    assert_eq!((queue.next_wake(0), queue.wake_bound(0)), (None, None));
    assert_eq!(queue.poll(SECOND).next_wake(), None);
    queue.role_change(Role::Leader, SECOND);
    assert_eq!(queue.next_wake(SECOND), Some(0));
    queue.stop();
    assert!(queue.is_stopped());
    assert_eq!((queue.next_wake(0), queue.wake_bound(0)), (None, None));
    assert_eq!(queue.poll(2 * SECOND).count(), 0);
}

/// Whatever buckets they lie in, while none is crowded no wake-up is for nothing, also when the earliest
/// has just left.
#[test]
fn wake_up_is_exact_whenever_nothing_is_crowded() {
    let cap = Duration::from_secs(3_600);
    let config = TtlConfig::builder()
        .backoff(Backoff::Exponential { cap })
        .retry_delay(Duration::from_secs(700))
        .pending_timeout(cap)
        .build();
    let mut queue = leader(config.unwrap());
    for key in 0..250 {
        let ttl_ms = 333_333 + 155_557 * u64::from(key);
        queue.init(1, key, ttl_ms, Context::default()).unwrap();
    }
    let mut now = 0;
    while let Some(wait) = queue.next_wake(now) {
        now += wait;
        let due: Vec<u32> = queue.poll(now).map(|due| due.key).collect();
        assert!(!due.is_empty(), "woken up for nothing at {now}");
        for key in due {
            if now < 20_000 * SECOND {
                queue.failed(&key, 1, now);
            } else {
                queue.applied(&key, 1);
            }
            let times = queue.iter().filter(|info| info.phase == Phase::Queued);
            let earliest = times.map(|info| info.deadline_ns).min();
            let found = queue.next_wake(now).map(|wait| now + wait);
            assert!(found <= earliest.or(found), "late");
        }
        assert_eq!(queue.poll(now).count(), 0);
        assert_ne!(queue.next_wake(now), Some(0));
    }
    assert!(queue.is_empty() && now >= 20_000 * SECOND);
}

/// However a crowd lies, and with however little work a poll: a wait of 0 after a poll that has come to
/// its end means that there is something to propose.
#[test]
fn wait_of_nothing_is_never_told_twice_with_nothing_to_do() {
    for (apart_ns, count) in [(0, 3_000), (1_000, 3_000), (MS, 2_000), (77 * MS, 2_000)] {
        let mut queue = leader(TtlConfig::default());
        for nth in 0..count {
            let ctx = Context {
                created_ns: u64::from(nth) * apart_ns,
                ..Context::default()
            };
            queue.init(1, nth, 300_000, ctx).unwrap();
        }
        let (mut now, mut idle_at_once) = (0, 0);
        while let Some(wait) = queue.next_wake(now) {
            now += wait;
            let due: Vec<u32> = queue.poll(now).map(|due| due.key).collect();
            idle_at_once = match due.is_empty() && wait == 0 {
                true => idle_at_once + 1,
                false => 0,
            };
            assert!(idle_at_once < 2, "at {now}, {apart_ns} apart");
            for key in due {
                assert!(now >= 300_000 * MS + u64::from(key) * apart_ns);
                queue.applied(&key, 1);
            }
        }
        assert!(queue.is_empty());
        let end = 300_000 * MS + u64::from(count - 1) * apart_ns;
        assert_eq!(now, end, "the last has been waited for exactly");
    }
}

/// Ten thousand sessions are refreshed, those that would expire first before the others, and polled in
/// between: the earliest entry leaves each time, and has as many neighbours as there are. The wait is
/// then to the start of their bucket, and a few polls there find the time.
#[test]
fn crowded_bucket_is_found_in_a_few_wake_ups_and_never_late() {
    let mut queue = leader(TtlConfig::default());
    let count = 10_000;
    let key_of = |nth: u32| nth.wrapping_mul(2_654_435_761);
    let deadline = |nth: u32| 600 * SECOND + u64::from(nth);
    let ctx = |nth: u32| Context {
        created_ns: u64::from(nth),
        ..Context::default()
    };
    for nth in 0..count {
        queue.init(1, key_of(nth), 600_000, ctx(nth)).unwrap();
    }
    let left = count / 2;
    for nth in 0..left {
        queue.init(2, key_of(nth), 900_000, ctx(nth)).unwrap();
        let wait = queue.next_wake(0);
        assert!(wait <= Some(deadline(nth + 1)), "never late");
        assert!(wait >= queue.wake_bound(0));
        if nth % 64 == 0 {
            assert_eq!(queue.poll(0).count(), 0);
        }
    }

    let (mut now, mut idle, mut expired) = (0, 0, 0);
    while expired < count - left {
        let wait = queue.next_wake(now).unwrap();
        now += wait;
        let due: Vec<_> = queue.poll(now).collect();
        // A wait of 0 is no wake-up: a budget was used up.
        idle += usize::from(due.is_empty() && wait != 0);
        for due in due {
            let nth = left + expired;
            assert_eq!((due.key, now >= deadline(nth)), (key_of(nth), true));
            assert_eq!(queue.applied(&due.key, due.index), Outcome::Applied);
            expired += 1;
        }
    }
    assert_eq!(
        now,
        deadline(count - 1),
        "the last has been waited for exactly"
    );
    assert!((1..=4).contains(&idle), "{idle} wake-ups for nothing");
    queue.check_invariants();
}

/// Keys that are set again and again once left their old places behind, which crowded a bucket as well and
/// made wake-ups early.
#[test]
fn keys_set_again_and_again_make_no_wake_up_early() {
    let mut queue = leader(TtlConfig::default());
    let mut index = 0;
    let mut set = |queue: &mut TtlQueue<u32>, key: u32, ttl_ms: u32| {
        index += 1;
        let ttl_ms = u64::from(ttl_ms);
        queue.init(index, key, ttl_ms, Context::default()).unwrap();
        let earliest = queue.oldest().map(|timer| timer.deadline_ns);
        let found = queue.next_wake(0);
        assert!(found >= queue.wake_bound(0));
        assert_eq!(found, earliest, "after {index} updates");
    };
    // In many buckets, so that there is much room, and then all in one.
    for ttl_ms in 1..8 {
        (0..40).for_each(|key| set(&mut queue, key, 1 + key * 6 + ttl_ms));
    }
    for _ in 0..40 {
        (0..40).for_each(|key| set(&mut queue, key, 5_000 + key));
    }

    let mut now = 0;
    for key in 0..40 {
        let mut idle = 0;
        now += queue.next_wake(now).unwrap();
        while queue.poll(now).next().is_none() {
            idle += 1;
            now += queue.next_wake(now).unwrap();
        }
        assert!(idle <= 4, "{idle} wake-ups for nothing");
        assert_eq!(now, (5_000 + key) * MS);
    }
}

/// Before the first of twenty thousand entries can be proposed all of them must be brought down from one
/// coarse bucket. No poll does that at one go; each does its piece, and says that there is more.
#[test]
fn polls_bring_a_crowded_bucket_down_within_their_budgets() {
    let (count, budget) = (20_000, 250);
    let config = TtlConfig::builder().poll_budget(budget).build().unwrap();
    let mut queue = leader(config);
    for nth in 0..count {
        let ctx = Context {
            created_ns: u64::from(nth),
            ..Context::default()
        };
        queue.init(1, nth, 600_000, ctx).unwrap();
    }
    let now = 601 * SECOND;
    let (mut polls, mut idle, mut keys) = (0, 0, Vec::new());
    loop {
        let mut due = queue.poll(now);
        let found: Vec<u32> = due.by_ref().map(|due| due.key).collect();
        let wait = due.next_wake();
        polls += 1;
        idle += usize::from(found.is_empty());
        for key in &found {
            assert_eq!(queue.applied(key, 1), Outcome::Applied);
        }
        keys.extend(found);
        if wait != Some(0) {
            break;
        }
    }
    assert!(keys.into_iter().eq(0..count), "in order, and all of them");
    let pieces = count as usize / budget;
    assert!(idle >= pieces, "only {idle} polls were idle");
    assert!(polls <= count as usize / 50 + 8 * pieces, "{polls} polls");
    queue.check_invariants();
}
