//! What a wheel has answered to some scripts, on record: a change of what the wheel does, on any platform, changes a
//! number here.
//!
//! A trace is one number for all wake-ups, keys, buckets, slots and units of work that a [`Pair`] has seen. After a
//! change that is meant, write down what the test found.

use timer_wheel::{Geometry, Millis};

use crate::bytes::decode;
use crate::geometries::Narrow;
use crate::kinds::{Backlog, Bursts, Edges, Kind, Mixed};
use crate::numbers::Numbers;
use crate::pair::Pair;
use crate::script::Script;

/// The script of that number: of a kind and of up to `length` operations, the same one in every run.
pub(crate) fn script<K: Kind, G: Geometry>(number: u64, length: usize) -> Script {
    let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let length = 1 + numbers.below(length as u64) as usize;
    decode::<(K, G)>(&numbers.bytes(16 * length), length)
}

fn trace<K: Kind, G: Geometry>(length: usize) -> u64 {
    (1..=6).map(|number| script::<K, G>(number, length)).fold(0, |trace: u64, script| {
        let mut pair = Pair::<G>::new(script.start);
        pair.run(&script.ops);
        trace.rotate_left(9) ^ pair.trace
    })
}

fn traces<G: Geometry>() -> [u64; 4] {
    [trace::<Mixed, G>(100), trace::<Edges, G>(100), trace::<Backlog, G>(100), trace::<Bursts, G>(50)]
}

#[test]
fn same_scripts_leave_the_traces_that_are_on_record() {
    let found = [traces::<Millis>(), traces::<Narrow>()];
    let recorded: [[u64; 4]; 2] = [
        [0x5cff_2d7a_8188_1d96, 0xec76_6058_2a66_945d, 0xa9aa_79c2_3bab_5794, 0x64ff_7403_30a1_5d86],
        [0x28f5_58f0_b101_d35d, 0x898a_9798_f048_894b, 0xa296_6d54_fc00_18b1, 0x3167_e69a_e525_f4c6],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
