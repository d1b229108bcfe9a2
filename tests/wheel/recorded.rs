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
        [0x7af7_bfd0_dbea_402e, 0x6dab_4dad_477e_bd22, 0xe7c4_54e3_6f6a_f252, 0xe30f_1fc8_1274_7393],
        [0xcf98_d08b_1b0d_47c2, 0x5c6b_6350_0684_237a, 0xa9c6_0517_f240_ffb8, 0xcacc_7ad9_3a5c_a510],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
