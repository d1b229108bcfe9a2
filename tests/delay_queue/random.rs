//! Random scripts against the model, and the same scripts on both queues: other ones in each run.

use std::time::Duration;

use crate::arbitrary::{Drawn, check};
use crate::bytes::decode;
use crate::pair::run;
use crate::script::{Op, When};
use crate::{ours, theirs};

#[test]
fn random_scripts_agree_with_the_model() {
    check(500, 150, |script: Drawn<Op>| run(&script.script()));
}

/// What no random one is: an operation again and again.
#[test]
fn scripts_of_one_byte_agree_with_the_model() {
    (0..=u8::MAX).for_each(|byte| run(&decode::<Op>(&[byte; 300], 100)));
}

/// A waiting task polls once more when its own patience ends; that is not the queue's doing. Found by
/// fuzzing: the comparison blamed the queue for it.
#[test]
fn waits_given_up_are_not_wake_ups() {
    let mut ops = vec![Op::Insert(When::At(Duration::from_secs(1 << 33)))];
    ops.extend([Op::Wait(Duration::from_millis(3)); 40]);
    run(&ops);
}

#[test]
fn same_script_leads_to_the_same_events() {
    fn agree(script: Drawn<Op>) {
        let ops = script.script();
        assert_eq!(ours::both::transcript(&ops), theirs::both::transcript(&ops));
    }
    check(500, 150, agree);
}
