//! Any time and any index, the first and the last as well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use timer_wheel::ttl::{Context, Entry, Outcome, Role, TtlConfig, TtlQueue};

use crate::start::{config, created};

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
