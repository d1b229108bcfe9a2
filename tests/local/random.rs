//! Random calls on sleeps of one timer against a model of the deadlines.

use crate::arbitrary::{Drawn, check};
use crate::world::{self, Call};

#[test]
fn random_sleeps_fire_as_the_model_says() {
    check(2_000, 200, |script: Drawn<Call>| world::run(script.script()));
}
