//! What a wheel has answered to some scripts, on record: a change of what the wheel does, on any platform, changes a
//! number here.
//!
//! A trace is one number for all wake-ups, keys, buckets, slots and units of work that a [`Pair`] has seen. After a
//! change that is meant, write down what the test found.

use timer_wheel::{Geometry, Millis};

use crate::geometries::Narrow;
use crate::kinds::{BACKLOG, BURSTS, EDGES, script};
use crate::pair::Pair;
use crate::script::{Op, spans};

fn traces<G: Geometry>() -> [u64; 4] {
    [Op::decode, EDGES, BACKLOG, BURSTS].map(|read| {
        let scripts = (1..=6).map(|seed| script(read, seed, 100, &spans::<G>()));
        scripts.fold(0, |trace: u64, script| {
            let mut pair = Pair::<G>::new(script.start);
            pair.run(&script.ops);
            trace.rotate_left(9) ^ pair.trace
        })
    })
}

#[test]
fn same_scripts_leave_the_traces_that_are_on_record() {
    let found = [traces::<Millis>(), traces::<Narrow>()];
    let recorded: [[u64; 4]; 2] = [
        [0x1fe4_51b4_e20f_0309, 0xe8ce_837b_4682_d46d, 0x8c87_7003_8d45_ab86, 0x9770_598c_0cf4_da26],
        [0x4db0_9a97_023c_8f59, 0x721c_904a_169d_4d07, 0x8cd5_452f_e509_01a2, 0xb76e_d483_f375_8a1b],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
