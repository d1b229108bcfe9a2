//! Random scripts against the model, the same ones in every run.

use std::time::Duration;

use crate::numbers::Numbers;
use crate::pair::run;
use crate::script::{Op, When, decode};

#[test]
fn random_scripts_agree_with_the_model() {
    for seed in 1..=500 {
        let mut numbers = Numbers(seed);
        let length = 1 + numbers.below(150) as usize;
        run(&decode(&numbers.bytes(24 * length), length));
    }
}

/// Whatever the bytes, there is a script in them, and it ends with them.
#[test]
fn scripts_decoded_from_bytes_agree_with_the_model() {
    (0..=u8::MAX).for_each(|byte| run(&decode(&[byte; 300], 100)));
    assert!(decode(&[], 100).is_empty());
}

/// A waiting task polls once more when its own patience ends; that is not the queue's doing. Found by
/// fuzzing: the comparison blamed the queue for it.
#[test]
fn waits_given_up_are_not_wake_ups() {
    let mut ops = vec![Op::Insert(When::At(Duration::from_secs(1 << 33)))];
    ops.extend([Op::Wait(Duration::from_millis(3)); 40]);
    run(&ops);
}
