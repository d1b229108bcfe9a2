//! Random histories of a host that follows the rules, other ones in each run. One that fails is printed as the shortest
//! that still does.

use crate::arbitrary::{Drawn, check};
use crate::bytes::decode;
use crate::rng::Rng;
use crate::script::Script;
use crate::world::{Counts, run};

#[test]
fn random_histories_lose_nothing() {
    check(4_000, 300, |history: Drawn<Script>| _ = run(&history.script(), None));
}

#[test]
fn long_histories_lose_nothing() {
    check(150, 1_500, |history: Drawn<Script>| _ = run(&history.script(), None));
}

/// From a fixed seed: what the random histories are there for comes in them.
#[test]
fn random_histories_reach_every_race() {
    let mut numbers = Rng(0x9e37_79b9_7f4a_7c15);
    let mut total = Counts::new();
    for _ in 0..1_000 {
        let counts = run(&decode::<Script>(&numbers.bytes(600), usize::MAX), None);
        counts.into_iter().for_each(|(what, count)| *total.entry(what).or_default() += count);
    }
    println!("{total:#?}");
    for what in [
        "a lost row in an answer",
        "a recheck during another",
        "a load in place of one that came to nothing",
        "a load that failed",
        "a load that was dropped",
        "a pending row in an answer",
        "a removal that is told in time",
        "a row that is late for a load",
        "a row that is no longer there",
        "a scan while rows come and go",
        "an answer after a crash or a reset",
        "an answer in part",
        "an insert into a full window during a scan",
        "an insert that is never told",
        "an insert that is told after the row is gone",
        "an insert that is told during a scan",
    ] {
        assert!(total.get(what).is_some_and(|count| *count >= 50), "{what} came {:?} times", total.get(what));
    }
}
