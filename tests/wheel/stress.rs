//! Long scripts of each kind, the same ones in every run: bursts that make crowds, budgets that
//! interrupt everything, advances at every edge.

use timer_wheel::Geometry;

use crate::geometries::{Widest, few};
use crate::kinds::{BACKLOG, BURSTS, EDGES};
use crate::numbers::Numbers;
use crate::pair::{Pair, Reload};
use crate::script::{Read, Script, spans};

#[cfg(feature = "serde")]
fn reload<G: Geometry>() -> Reload<G> {
    crate::reload::reload
}

#[cfg(not(feature = "serde"))]
fn reload<G: Geometry>() -> Reload<G> {
    |wheel, _| wheel
}

/// Runs scripts of a kind and of up to `length` operations, and counts how often a crowd had been moved ahead.
fn run<G: Geometry>(kind: Read, scripts: u64, length: usize) -> usize {
    let mut moved_ahead = 0;
    for seed in 1..=scripts {
        let bytes = Numbers(seed).bytes(16 * length);
        let script = Script::decode_by(kind, &bytes, &spans::<G>(), length);
        let mut pair = Pair::<G>::with_reload(script.start, reload());
        pair.run(&script.ops);
        moved_ahead += pair.moved_ahead;
    }
    moved_ahead
}

/// What a script of a hundred single operations never reaches.
#[test]
fn bursts_agree_with_model_and_reach_crowds_that_are_moved_ahead() {
    fn check<G: Geometry>() {
        let moved_ahead = run::<G>(BURSTS, 10, 80);
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
        run::<G>(BACKLOG, 8, 80);
    }
    in_every_geometry!(check);
    check::<Widest>();
}

#[test]
fn advances_at_the_edges_agree_with_model() {
    fn check<G: Geometry>() {
        run::<G>(EDGES, 20, 150);
    }
    in_every_geometry!(check);
    check::<Widest>();
}
