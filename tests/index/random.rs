//! Random scripts of every kind, in all geometries: other ones in each run.

use timer_wheel::Geometry;

use crate::arbitrary::{self, Drawn};
use crate::decoding::{Backlog, Bursts, Edges, Kind, Mixed};
use crate::geometries::Widest;
use crate::pair::Pair;

fn agree<K: Kind, G: Geometry + 'static>(script: Drawn<(K, G)>) {
    let script = script.script();
    Pair::<G>::new(script.start).run(&script.ops);
}

/// A test for each kind, so that they run at the same time.
macro_rules! random_scripts {
    ($($name:ident: $kind:ty, $scripts:literal, $length:literal;)*) => {$(
        #[test]
        fn $name() {
            fn check<G: Geometry + 'static>() {
                arbitrary::check($scripts, $length, agree::<$kind, G>);
            }
            in_every_geometry!(check);
            check::<Widest>();
        }
    )*};
}

random_scripts! {
    any_operations_agree_with_model: Mixed, 60, 200;
    advances_at_the_edges_agree_with_model: Edges, 15, 150;
    interrupted_advances_agree_with_model: Backlog, 15, 120;
    bursts_agree_with_model: Bursts, 15, 60;
}
