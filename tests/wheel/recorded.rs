//! What a wheel has answered to some scripts, on record: a change of what the wheel does, on any platform, changes a
//! number here.
//!
//! A trace is one number for all wake-ups, keys, buckets, slots and units of work that a [`Pair`] has seen. After a
//! change that is meant, write down what the test found.

use timer_wheel::{Geometry, Millis};

use crate::bytes::decode;
use crate::decoding::{Backlog, Bursts, Edges, Kind, Mixed};
use crate::geometries::Narrow;
use crate::pair::Pair;
use crate::rng::Rng;
use crate::script::Script;

/// The script of that number: of a kind and of up to `length` operations, the same one in every run.
pub(crate) fn script<K: Kind, G: Geometry>(number: u64, length: usize) -> Script {
    let mut numbers = Rng(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
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
        [0x7af7_bfd0_dbea_402e, 0x6dab_4dad_477e_bd22, 0xf91c_f315_ef27_317e, 0xe30f_1fc8_1274_7393],
        [0x817b_bc39_3ff9_d72d, 0xda37_58a5_0019_4a9f, 0x142b_0774_c790_65b1, 0x5aa5_37d5_9c80_e4ba],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
