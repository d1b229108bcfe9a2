//! Random scripts of every kind, biased towards the nasty, over all geometries. The same ones in every run: new ones
//! are the business of the fuzz targets.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::decoder::Read;
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest, few};
use crate::kinds::{BACKLOG, BURSTS, EDGES, script};
use crate::pair::Pair;
use crate::script::{Op, Script, spans};

/// How many scripts to draw: so many, unless the environment says otherwise, as for mutants.
pub(crate) fn tests(usual: u64) -> u64 {
    let asked = std::env::var("QUICKCHECK_TESTS").ok();
    asked.map_or(usual, |tests| tests.parse().expect("a number of tests"))
}

/// Runs a script. If that fails, leaves out every operation without which it still fails, and runs what is left.
fn run<G: Geometry>(mut script: Script) -> Pair<G> {
    let attempt = |script: &Script| {
        let mut pair = Pair::<G>::new(script.start);
        catch_unwind(AssertUnwindSafe(|| pair.run(&script.ops))).map(|()| pair)
    };
    if let Ok(pair) = attempt(&script) {
        return pair;
    }
    for at in (0..script.ops.len()).rev() {
        let left_out = script.ops.remove(at);
        if attempt(&script).is_ok() {
            script.ops.insert(at, left_out);
        }
    }
    eprintln!("{} fails with {script:?}", std::any::type_name::<G>());
    let mut pair = Pair::<G>::new(script.start);
    pair.run(&script.ops);
    pair
}

/// Runs so many scripts of a kind and of up to `length` operations, and counts how often a crowd had been moved ahead.
fn agree<G: Geometry>(read: Read, scripts: u64, length: usize) -> usize {
    let scripts = (1..=tests(scripts)).map(|seed| script(read, seed, length, &spans::<G>()));
    scripts.map(|script| run::<G>(script).moved_ahead).sum()
}

/// Whatever the bytes, there is a script in them, and it ends with them.
#[test]
fn scripts_decoded_from_bytes_agree_with_model() {
    for byte in 0..=u8::MAX {
        let same = vec![byte; 300];
        let rising: Vec<u8> = (0..300).map(|n| byte.wrapping_add(n as u8)).collect();
        for bytes in [&same, &rising] {
            let script = Script::decode_by(Op::decode, bytes, &spans::<Compact>(), 100);
            run::<Compact>(script.clone());
            run::<Narrow>(script);
        }
    }
    let nothing = Script::decode_by(Op::decode, &[], &spans::<Millis>(), 100);
    assert!(nothing.ops.is_empty());
}

/// A test for each geometry, so that they run at the same time.
macro_rules! random_scripts {
    ($($name:ident: $geometry:ty;)*) => {$(
        #[test]
        fn $name() {
            agree::<$geometry>(Op::decode, 700, 200);
        }
    )*};
}

random_scripts! {
    random_scripts_of_millis_agree_with_model: Millis;
    random_scripts_of_caffeine_agree_with_model: Caffeine;
    random_scripts_of_micros_agree_with_model: Micros;
    random_scripts_of_compact_agree_with_model: Compact;
    random_scripts_of_tiny_agree_with_model: Tiny;
    random_scripts_of_tiny_tick_agree_with_model: TinyTick;
    random_scripts_of_lopsided_agree_with_model: Lopsided;
    random_scripts_of_narrow_agree_with_model: Narrow;
    random_scripts_of_wide_agree_with_model: Wide;
    random_scripts_of_widest_agree_with_model: Widest;
}

/// What a script of a hundred single operations never reaches.
#[test]
fn bursts_agree_with_model_and_reach_crowds_that_are_moved_ahead() {
    fn check<G: Geometry>() {
        let moved_ahead = agree::<G>(BURSTS, 15, 120);
        // Where 512 timers are few, there is hardly a crowd.
        let least = if few::<G>() <= 8 { 5 } else { 0 };
        let name = std::any::type_name::<G>();
        assert!(moved_ahead >= least, "seen {moved_ahead} times in {name}");
    }
    in_every_geometry!(check);
    check::<Widest>();
}

#[test]
fn interrupted_advances_agree_with_model() {
    fn check<G: Geometry>() {
        agree::<G>(BACKLOG, 12, 120);
    }
    in_every_geometry!(check);
    check::<Widest>();
}

#[test]
fn advances_at_the_edges_agree_with_model() {
    fn check<G: Geometry>() {
        agree::<G>(EDGES, 25, 200);
    }
    in_every_geometry!(check);
    check::<Widest>();
}
