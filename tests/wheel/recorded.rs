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
        [0x5693_303f_a75e_c852, 0x8717_1703_ce8e_9963, 0xd9c4_096a_816f_233d, 0x0d35_f390_b35d_53bf],
        [0x44b6_8dcf_6fd9_2b84, 0xc493_2d86_0c2e_2a3f, 0x6e98_b877_4b06_5531, 0x6e41_a4c7_6462_c0cc],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
