//! The traps that other expiries fell into, each under its name. Every test says whose it was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timer_wheel::ttl::{Context, Entry, Outcome, Role, TtlConfig, TtlQueue};

use crate::script::MS;
use crate::start::{SECOND, config, created, fill, is_due, leader, leader_with, poll};

const HOUR_MS: u64 = 3_600_000;

/// Dongting: an expiry fenced by the index at which the key was created deletes a key that has been
/// updated since.
#[test]
fn expiry_applied_after_an_update_is_a_no_op() {
    let mut queue = leader();
    queue.init("key", 5, 1, created(0)).unwrap();
    let due = queue.poll(MS).next().unwrap();
    assert_eq!((due.key, due.index), ("key", 5));
    queue.update("key", 8, HOUR_MS, created(MS)).unwrap();
    assert_eq!((queue.as_set().pending_len(), queue.remaining("key", MS)), (0, Some(HOUR_MS * MS)));
    assert_eq!(queue.applied(due.key, due.index), Outcome::Stale);
    assert_eq!(queue.failed(due.key, due.index, MS), Outcome::Stale);
    let timer = queue.get("key").expect("the update stands");
    assert_eq!(timer.entry.index, 8);
    assert_eq!(queue.poll(2 * SECOND).count(), 0);
}

/// T7: the timeout counts when a poll finds it, not when it is over.
#[test]
fn answer_after_the_timeout_counts_until_a_poll_has_found_it() {
    let timeout = Duration::from_secs(10);
    let late = MS + 2 * SECOND * timeout.as_secs();
    for is_polled in [false, true] {
        let mut queue = leader_with(|config| config.pending_timeout = timeout);
        for key in ["failed", "applied"] {
            queue.init(key, 5, 1, created(0)).unwrap();
        }
        assert_eq!(queue.poll(MS).count(), 2);
        if is_polled {
            assert_eq!(queue.poll(late).count(), 0, "both wait for their retry");
        }
        let expected = if is_polled { Outcome::Stale } else { Outcome::Failed };
        assert_eq!(queue.failed("failed", 5, late), expected);
        assert_eq!(queue.applied("applied", 5), Outcome::Applied);
        assert_eq!(queue.len(), 1);
    }
}

/// Dongting: replaying the log after the install of a snapshot applies older indexes. Here any
/// suffix may be replayed, any number of times.
#[test]
fn replay_of_any_suffix_changes_nothing() {
    fn step(queue: &mut TtlQueue<&'static str>, index: u64) {
        let ctx = created(index * MS).with_owner(index.into());
        _ = match index {
            1 => queue.init("a", 1, 500, ctx),
            2 => queue.init("b", 2, 300, ctx),
            3 => queue.update("a", 3, 700, ctx),
            4 => queue.init("b", 4, 100, ctx),
            5 => Ok(queue.applied("b", 2)),
            6 => queue.update("c", 6, 100, ctx),
            7 => queue.init("c", 7, 50, ctx),
            _ => queue.update("a", 8, 900, ctx),
        };
    }
    let mut queue = leader();
    for index in 1..=8 {
        step(&mut queue, index);
    }
    let state = |queue: &TtlQueue<&'static str>| {
        let timers = queue.as_set().iter().map(|info| (info.entry.clone(), info.deadline_ns));
        timers.collect::<Vec<_>>()
    };
    let expected = state(&queue);
    for from in 1..=8 {
        for index in from..=8 {
            step(&mut queue, index);
        }
        assert_eq!(state(&queue), expected, "replayed from {from}");
    }
}

/// Dongting: the wait ignores pending retries, so a failed expiry waits behind a TTL of an hour.
#[test]
fn failed_expiry_does_not_wait_behind_a_ttl_of_an_hour() {
    let mut queue = leader();
    queue.init("long", 1, HOUR_MS, created(0)).unwrap();
    queue.init("short", 2, 10, created(0)).unwrap();
    assert_eq!(queue.poll(10 * MS).count(), 1);
    queue.failed("short", 2, 10 * MS);
    for passed in [0, SECOND / 2, SECOND - 1] {
        let count = queue.poll(10 * MS + passed).count();
        assert_eq!((count, queue.expiration_delay()), (0, Some(SECOND - passed)));
    }
    let due = queue.poll(10 * MS + SECOND).next().unwrap();
    assert_eq!((due.key, due.attempt), ("short", 2));
}

/// Dongting: one unfinished proposal at the head of the pending queue blocks all retries behind it.
#[test]
fn proposal_in_flight_never_delays_the_retry_of_another() {
    let mut queue = leader();
    for (key, ttl_ms) in [("first", 1), ("second", 2), ("third", 3)] {
        queue.init(key, 1, ttl_ms, created(0)).unwrap();
    }
    assert_eq!(queue.poll(5 * MS).count(), 3);
    // Nothing is ever heard of the first.
    queue.failed("third", 1, 6 * MS);
    queue.failed("second", 1, 7 * MS);
    assert_eq!(queue.expiration_delay(), Some(SECOND - MS));
    let keys: Vec<&str> = queue.poll(7 * MS + SECOND).map(|due| due.key).collect();
    assert_eq!(keys, ["third", "second"]);
}

/// nats#8595: an entry that is kept after its key has vanished re-arms for ever.
#[test]
fn entry_removed_in_flight_and_failed_does_not_come_back() {
    let mut queue = leader();
    queue.init("key", 1, 1, created(0)).unwrap();
    assert_eq!(queue.poll(MS).count(), 1);
    assert_eq!(queue.remove("key"), Some("key"));
    assert_eq!(queue.failed("key", 1, 2 * MS), Outcome::Stale);
    assert_eq!(queue.applied("key", 1), Outcome::Stale);
    assert_eq!((queue.poll(100 * SECOND).count(), queue.wake_at()), (0, None));
    queue.check_invariants();
}

/// etcd#9395 and nats#6758: the TTL begins anew, or is lost, when the leader changes or recovers.
#[test]
fn ttl_does_not_begin_anew_on_restore_or_with_a_new_leader() {
    let mut old = leader();
    let wall_ms = 1_700_000_000_000;
    for (index, key, ttl_ms) in [(1, "ten", 10_000), (2, "hour", HOUR_MS), (3, "two", 2_000)] {
        let ctx = created(0).with_leader_start_ms(wall_ms);
        old.init(key, index, ttl_ms, ctx).unwrap();
    }
    let entries: Vec<Entry<&str>> = old.as_set().snapshot().into_iter().cloned().collect();

    // Four seconds later, on a machine whose monotonic clock began somewhere else.
    let now = 77 * SECOND;
    let mut new = leader();
    new.restore(entries.clone(), now, wall_ms + 4_000).unwrap();
    assert_eq!(new.remaining("ten", now), Some(6 * SECOND));
    assert_eq!(new.remaining("hour", now), Some(3_596 * SECOND));
    assert_eq!(new.get("two").unwrap().deadline_ns, now - 2 * SECOND);
    for role in [Role::Follower, Role::Leader] {
        new.role_change(role, now + SECOND);
        assert_eq!(new.remaining("ten", now + SECOND), Some(5 * SECOND));
    }
    assert_eq!(new.poll(now + SECOND).next().unwrap().key, "two");

    // A wall clock that is behind that of the leader lengthens a TTL, to the whole at most.
    let now = now + SECOND;
    new.restore(entries, now, wall_ms - 50_000).unwrap();
    assert_eq!(new.remaining("ten", now), Some(10 * SECOND));
}

/// tokio#5536, kube#1772, restate#5017: a far deadline panics. Every entry point, at both ends of time.
#[test]
fn any_time_and_any_index_is_taken() {
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    for now in ends {
        for created_ns in ends {
            let mut queue: TtlQueue<u8> = TtlQueue::new(now);
            let max_ms = 36_500 * 86_400_000;
            let ctx = Context::new(created_ns).with_owner(u128::MAX).with_leader_start_ms(created_ns);
            assert_eq!(queue.init(1, u64::MAX, max_ms, ctx), Ok(Outcome::Scheduled));
            assert_eq!(queue.init(2, 0, 1, ctx), Ok(Outcome::Scheduled));
            assert_eq!(queue.init(1, u64::MAX, 1, ctx), Ok(Outcome::Stale));
            assert!(queue.init(3, 9, u64::MAX, ctx).is_err());
            assert!(queue.update(&2, 9, u64::MAX, ctx).is_err());
            queue.role_change(Role::Leader, now);
            for later in ends {
                let due: Vec<_> = queue.poll(later).collect();
                for due in due {
                    queue.failed(&due.key, due.index, later);
                }
                assert!(queue.wake_at().is_some());
                queue.check_invariants();
            }
            let entries: Vec<Entry<u8>> = queue.as_set().snapshot().into_iter().cloned().collect();
            for wall_ms in ends {
                assert!(queue.restore(entries.clone(), now, wall_ms).is_ok());
                queue.check_invariants();
            }
        }
    }
}

/// Ours, in its second year: a timeout that saturates was over at once, so one poll at the end of time proposed
/// an entry, timed it out and proposed it again, eleven times.
#[test]
fn poll_at_the_end_of_time_yields_each_entry_once() {
    const COUNT: u32 = 20;
    let longest = Duration::from_nanos(u64::MAX);
    let long = config(|it| (it.pending_timeout, it.retry_delay) = (longest, longest));
    let wide = config(|it| it.retry_batch = 30);
    let narrow = config(|it| (it.expire_batch, it.retry_batch) = (3, 2));
    for config in [TtlConfig::default(), long, wide, narrow] {
        for (created_ns, start) in [(0, 0), (u64::MAX, u64::MAX), (0, u64::MAX - 5)] {
            let mut queue: TtlQueue<u32> = TtlQueue::new(start);
            queue.set_config(config.clone()).unwrap();
            queue.role_change(Role::Leader, start);
            (0..COUNT).for_each(|key| _ = queue.init(key, 1, 1, created(created_ns)).unwrap());
            let mut attempts = BTreeMap::new();
            for (nth, now) in [u64::MAX - 1].into_iter().chain([u64::MAX; 200]).enumerate() {
                let due: Vec<_> = queue.poll(now).collect();
                let keys: BTreeSet<u32> = due.iter().map(|due| due.key).collect();
                assert_eq!(keys.len(), due.len(), "once a poll each");
                for due in due {
                    let attempt = attempts.entry(due.key).or_insert(0);
                    *attempt += 1;
                    assert_eq!(due.attempt, *attempt);
                    // Some are refused, of the others nothing is heard.
                    if nth % 3 == 0 {
                        queue.failed(&due.key, due.index, now);
                    }
                }
                assert!(queue.wake_at().is_some());
                queue.check_invariants();
            }
            assert_eq!(attempts.len(), COUNT as usize);
            assert!(attempts.values().all(|&attempt| attempt > 2), "each is proposed again, by later polls");
        }
    }
}

/// Our own, in its first year: a caller who may delete their own keys could leave entries in flight that a search
/// went through one by one, uncharged. Now no poll does more than its budget, whatever was deleted before it.
#[test]
fn late_entry_is_proposed_within_a_small_budget_whatever_was_deleted() {
    const COUNT: u32 = 20_000;
    for kept in [2, 4, 16, 64] {
        let mut queue = leader_with(|it| (it.max_pending, it.poll_budget) = (2 * COUNT as usize, 8));
        fill(&mut queue, COUNT, |_| 1);
        while is_due(&queue, MS) {
            queue.poll(MS).for_each(drop);
        }
        assert_eq!(queue.as_set().pending_len(), COUNT as usize);
        for key in (0..COUNT).filter(|key| key.wrapping_mul(2_654_435_761) >> 16 & (kept - 1) != 0) {
            assert!(queue.remove(&key).is_some());
        }
        for key in COUNT..COUNT + 1_000 {
            queue.init(key, 2, 1, created(0)).unwrap();
            assert_eq!(queue.expiration_delay(), Some(0));
            assert_eq!(poll(&mut queue, MS), [key], "eight units are enough for one");
        }
        queue.check_invariants();
    }
}

/// Each entry that is found takes a unit. So few wait in exact order already, and nothing else is to be paid.
#[test]
fn entry_that_is_proposed_is_paid_for_by_the_budget() {
    for budget in [1, 5, 19, 20, 30] {
        let mut queue = leader_with(|it| it.poll_budget = budget);
        fill(&mut queue, 20, |_| 1);
        assert_eq!(queue.poll(MS).count(), budget.min(20));
    }
}

/// A proposal that has timed out is looked at and does not fire: with one unit a poll all of them are found.
#[test]
fn timeout_takes_no_unit_of_the_budget() {
    let mut queue = leader_with(|it| it.poll_budget = 1);
    fill(&mut queue, 20, |_| 1);
    (0..20).for_each(|_| assert_eq!(queue.poll(MS).count(), 1));
    assert_eq!(queue.poll(MS + 10 * SECOND).count(), 0);
    assert_eq!(queue.as_set().retrying_len(), 20);
}

/// Our own: `Due` said that it is fused, and yielded after `None` when its budget was small.
#[test]
fn poll_that_came_to_its_end_stays_there() {
    let mut queue = leader_with(|it| it.poll_budget = 1);
    fill(&mut queue, 500, |_| 60_000);
    let (mut polls, mut found) = (0, 0);
    while queue.as_set().pending_len() < 500 {
        let mut due = queue.poll(60_000 * MS);
        found += due.by_ref().count();
        assert!((0..100).all(|_| due.next().is_none()), "the budget is used up");
        assert_eq!(due.size_hint(), (0, Some(0)));
        polls += 1;
        assert!(polls < 10_000);
    }
    assert_eq!(found, 500);
}
