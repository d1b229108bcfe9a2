//! The same scripts on both queues: they deliver the same items at the same times.

use crate::arbitrary::{Drawn, check};
use crate::script::Op;
use crate::{ours, theirs};

#[test]
fn same_script_leads_to_the_same_events() {
    fn agree(script: Drawn<Op>) {
        let ops = script.script();
        assert_eq!(ours::transcript::transcript(&ops), theirs::transcript::transcript(&ops));
    }
    check(500, 150, agree);
}
