//! Random scripts for one queue, and random histories of three replicas, the same ones in every run.

use timer_wheel::{Caffeine, Compact, Micros, Millis};

use crate::cluster::Cluster;
use crate::numbers::Numbers;
use crate::script::Script;

/// The longest script and the longest history.
const MOST: u64 = 150;

/// Bytes enough for up to that many operations.
fn histories(count: u64, run: impl Fn(&[u8], usize)) {
    for seed in 1..=count {
        let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let length = numbers.below(MOST + 1) as usize;
        run(&numbers.bytes(12 * length), length);
    }
}

/// A test for each geometry, so that they run at the same time.
macro_rules! random_scripts {
    ($($name:ident: $geometry:ty;)*) => {$(
        #[test]
        fn $name() {
            histories(500, |bytes, length| Script::decode(bytes, length).run::<$geometry>());
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
    histories(1_000, Cluster::run);
}

/// Whatever the bytes, there is a script in them, and it ends with them.
#[test]
fn scripts_decoded_from_bytes_agree_with_model() {
    (0..=u8::MAX).step_by(3).for_each(|byte| Script::decode(&[byte; 200], 80).run::<Millis>());
    assert!(Script::decode(&[], 100).ops.is_empty());
}
