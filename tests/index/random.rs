//! Random histories, in all geometries: see `world`.

use crate::numbers::Numbers;
use crate::world::WORLDS;

/// So many histories of so many bytes for a number of indexes, by its place. The same ones each time.
#[track_caller]
fn histories(indexes: u8, count: usize, bytes: usize) {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for run in WORLDS {
        for _ in 0..count {
            let mut history = numbers.bytes(bytes);
            history[0] = indexes;
            run(&history);
        }
    }
}

#[test]
fn few_timers_fire_in_the_order_of_the_model() {
    histories(0, 60, 1_500);
}

#[test]
fn dozens_of_timers_fire_in_the_order_of_the_model() {
    histories(1, 60, 2_000);
}

#[test]
fn hundreds_of_timers_fire_in_the_order_of_the_model() {
    histories(2, 20, 1_500);
}

#[test]
fn crowds_fire_in_the_order_of_the_model() {
    histories(3, 20, 600);
}
