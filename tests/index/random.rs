//! Random histories, in all geometries: see `world`.

use timer_wheel::{Caffeine, Compact, Geometry, Millis};

use crate::geometries::{Listed, Lopsided, Tiny, TinyTick, Wide, Widest};
use crate::numbers::Numbers;
use crate::world::{Lies, run};

/// So many histories of so many bytes. The same ones each time.
fn histories(lies: Lies, run: fn(Lies, &[u8])) {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for _ in 0..60 {
        run(lies, &numbers.bytes(3_000));
    }
}

fn in_every_geometry(lies: Lies) {
    fn of<G: Geometry>(lies: Lies) {
        histories(lies, run::<G>);
    }
    of::<Millis>(lies);
    of::<Listed<Millis>>(lies);
    of::<Listed<Caffeine>>(lies);
    of::<Listed<Compact>>(lies);
    of::<Tiny>(lies);
    of::<TinyTick>(lies);
    of::<Lopsided>(lies);
    of::<Wide>(lies);
    of::<Widest>(lies);
}

#[test]
fn honest_store_fires_in_the_order_of_the_model() {
    in_every_geometry(Lies::None);
}

#[test]
fn lies_about_some_records_harm_no_other() {
    in_every_geometry(Lies::OfSome);
}

#[test]
fn lies_about_everything_end_without_panic_or_loop() {
    in_every_geometry(Lies::OfAll);
}
