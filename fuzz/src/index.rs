//! Histories of the wheel over somebody else's slots, told by the bytes that the tests of it draw at random.

use timer_wheel::{Caffeine, Compact, Millis};

use crate::geometries::{Listed, Lopsided, Tiny, TinyTick, Wide, Widest};
use crate::world::{Lies, run};

/// What the store may lie about. Append only: a stored input means its lies by place.
const LIES: [Lies; 3] = [Lies::OfSome, Lies::None, Lies::OfAll];

/// The geometries to choose from. Append only, as above.
static WORLDS: [fn(Lies, &[u8]); 9] = [
    run::<Listed<Millis>>,
    run::<Millis>,
    run::<Listed<Caffeine>>,
    run::<Listed<Compact>>,
    run::<Tiny>,
    run::<TinyTick>,
    run::<Lopsided>,
    run::<Wide>,
    run::<Widest>,
];

/// Runs one input: a geometry and what the store may lie about, in the first byte, and a history.
pub fn run_input(bytes: &[u8]) {
    let Some((&first, history)) = bytes.split_first() else {
        return;
    };
    let (world, lies) = (
        usize::from(first) % WORLDS.len(),
        usize::from(first) / WORLDS.len(),
    );
    WORLDS[world](LIES[lies % LIES.len()], history);
}
