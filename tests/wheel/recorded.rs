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
        [0x3651_e1fd_a819_589b, 0xec76_6058_2a66_945d, 0x9ca7_7035_f6fa_fef1, 0xf8f5_681a_4514_f1bc],
        [0x7bb3_7ea9_36d9_e279, 0x898a_9798_f048_894b, 0xf1b1_aa33_56fb_5726, 0x0f88_ca84_c547_4aff],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
