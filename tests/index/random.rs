//! Random scripts of every kind, in all geometries, with few indexes and with many.

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::decoder::Read;
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};
use crate::kinds::{BACKLOG, BURSTS, EDGES, script};
use crate::pair::{INDEXES, run};
use crate::script::{Op, spans};

#[track_caller]
fn check(read: Read, scripts: u64, length: usize) {
    fn check<G: Geometry>(read: Read, scripts: u64, length: usize) {
        for seed in 1..=scripts {
            let script = script(read, seed, length, &spans::<G>());
            for indexes in INDEXES {
                run::<G>(&script, indexes);
            }
        }
    }
    check::<Millis>(read, scripts, length);
    check::<Caffeine>(read, scripts, length);
    check::<Micros>(read, scripts, length);
    check::<Compact>(read, scripts, length);
    check::<Tiny>(read, scripts, length);
    check::<TinyTick>(read, scripts, length);
    check::<Lopsided>(read, scripts, length);
    check::<Narrow>(read, scripts, length);
    check::<Wide>(read, scripts, length);
    check::<Widest>(read, scripts, length);
}

#[test]
fn any_operations_agree_with_model() {
    check(Op::decode, 40, 200);
}

#[test]
fn advances_at_the_edges_agree_with_model() {
    check(EDGES, 10, 150);
}

#[test]
fn interrupted_advances_agree_with_model() {
    check(BACKLOG, 15, 120);
}

#[test]
fn bursts_agree_with_model() {
    check(BURSTS, 15, 120);
}
