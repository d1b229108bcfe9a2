//! Histories of the wheel for indexes, told by the bytes that the tests of it draw at random.

use crate::world::WORLDS;

/// Runs one input: a geometry, in the first byte, and a history.
pub fn run_input(bytes: &[u8]) {
    if let Some((&first, history)) = bytes.split_first() {
        let world = WORLDS[usize::from(first) % WORLDS.len()];
        world(history);
    }
}
