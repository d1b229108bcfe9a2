//! Random scripts for one queue, and random histories of three replicas: other ones in each run.

use timer_wheel::ttl::Role;
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::arbitrary::{Drawn, check};
use crate::bytes::decode;
use crate::cluster::{Cluster, Event};
use crate::script::{MS, Op, Script, Set};

/// A test for each geometry, so that they run at the same time.
macro_rules! random_scripts {
    ($($name:ident: $geometry:ty;)*) => {$(
        #[test]
        fn $name() {
            check(300, 150, |script: Drawn<Script>| script.script().run::<$geometry>());
        }
    )*};
}

random_scripts! {
    millis_random_scripts_agree_with_model: Millis;
    caffeine_random_scripts_agree_with_model: Caffeine;
    micros_random_scripts_agree_with_model: Micros;
    compact_random_scripts_agree_with_model: Compact;
}

/// These found each of the mistakes that others have made before us, and one of our own:
///
/// - Dongting: an expiry is fenced by the index at which its key was created, and deletes a key that was updated since;
///   the wait ignores pending retries; a proposal that is in flight blocks all retries behind it; older indexes that are
///   replayed after a snapshot count.
/// - etcd#9395 and nats#6758: a TTL begins anew, or is lost, when the leader changes or recovers.
/// - nats#8595: an entry that is kept after its key has vanished is proposed for ever.
/// - Ours, in its second year: a poll at the end of time proposes an entry, times it out and proposes it again.
#[test]
fn replicas_agree_whatever_happens_to_proposals_roles_and_snapshots() {
    check(1_000, 150, |history: Drawn<Event>| Cluster::run(&history.script()));
}

/// What no random one is: an operation again and again.
#[test]
fn scripts_of_one_byte_agree_with_model() {
    (0..=u8::MAX).step_by(3).for_each(|byte| decode::<Script>(&[byte; 200], 80).run::<Millis>());
}

/// What random ones reach once in thousands: every bit of the rotation is one, and the crowd is moved for each. By a unit of work
/// a poll, and by as much as there is.
#[test]
fn crowd_in_the_farthest_rotation_is_moved_once_a_bit() {
    fn check<G: Geometry>(count: u16, batches: (u8, u8)) {
        let set = Set { back: 0, ttl_ms: (1 << 61) / MS, ago: 0 };
        let leader = Op::Role { role: Role::Leader, ahead: 0 };
        let bunch = Op::Bunch { key: 1_000, count, apart: 0, set };
        let drive = Op::Drive { wake_ups: 30, within: u64::MAX };
        Script { batches, max_pending: 1, start: 0, ops: vec![leader, bunch, drive] }.run::<G>();
    }
    for (count, batches) in [33, 150].into_iter().flat_map(|count| [(1, 1), (3, 3)].map(|batches| (count, batches))) {
        check::<Millis>(count, batches);
        check::<Caffeine>(count, batches);
        check::<Micros>(count, batches);
        check::<Compact>(count, batches);
    }
}
