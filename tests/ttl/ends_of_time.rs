//! Any time and any index, the first and the last as well.

use timer_wheel::ttl::{Context, Entry, Outcome, Role, TtlQueue};

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
