//! Random histories, other ones in each run. One that fails is printed as the shortest that still does.

use crate::arbitrary::{Drawn, check};
use crate::script::Script;
use crate::world;

#[test]
fn random_histories_match_the_model() {
    check(3_000, 200, |history: Drawn<Script>| world::run(&history.script()));
}
