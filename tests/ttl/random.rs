//! Random scripts for one queue, and random histories of three replicas: other ones in each run.

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

/// What random ones reach once in thousands: every bit of the rotation is one, and each poll has a unit of work.
#[test]
fn crowd_in_the_farthest_rotation_is_polled_by_a_unit_at_a_time() {
    fn check<G: Geometry>(count: u16) {
        let set = Set { back: 0, ttl_ms: (1 << 61) / MS, ago: 0 };
        let ops = vec![Op::Bunch { key: 1_000, count, apart: 0, set }];
        Script { batches: (1, 1), max_pending: 1, start: 0, ops }.run::<G>();
    }
    for count in [1, 33, 130, 400] {
        check::<Millis>(count);
        check::<Caffeine>(count);
        check::<Micros>(count);
        check::<Compact>(count);
    }
}
