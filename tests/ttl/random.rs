//! Random scripts for one queue, and random histories of three replicas: other ones in each run.

use timer_wheel::{Caffeine, Compact, Micros, Millis};

use crate::arbitrary::{Drawn, check};
use crate::bytes::decode;
use crate::cluster::{Cluster, Event};
use crate::script::Script;

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

#[test]
fn replicas_agree_whatever_happens_to_proposals_roles_and_snapshots() {
    check(1_000, 150, |history: Drawn<Event>| Cluster::run(&history.script()));
}

/// What no random one is: an operation again and again.
#[test]
fn scripts_of_one_byte_agree_with_model() {
    (0..=u8::MAX).step_by(3).for_each(|byte| decode::<Script>(&[byte; 200], 80).run::<Millis>());
}
