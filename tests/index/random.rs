//! Random histories, in all geometries: see `world`.

use timer_wheel::{Caffeine, Compact, Geometry, Millis};

use crate::geometries::{Listed, Lopsided, Tiny, TinyTick, Wide, Widest};
use crate::world::{Lies, run};

/// So many histories of so many bytes. The same ones each time.
fn histories(lies: Lies, run: fn(Lies, &[u8])) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
    };
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..3_000).map(|_| next()).collect();
        run(lies, &bytes);
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
