//! The same scripts on both queues: they deliver the same items at the same times.

use crate::bytes::{Decoder, Draw};
use crate::drawn::{Drawn, check};
use crate::{ours, theirs};

/// One step of a script. Times are milliseconds, as tokio-util rounds to those.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Insert { delay: u64 },
    InsertPast { age: u64 },
    Remove { nth: u8 },
    Reset { nth: u8, delay: u64 },
    Poll,
    Pass { time: u64 },
    Jump { days: u8 },
    Clear,
    Compact,
}

impl Draw for Step {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        let choice = decoder.below(40);
        let (nth, delay) = (decoder.byte(), some_time(decoder));
        script.push(match choice {
            0..12 => Self::Insert { delay },
            12..14 => Self::InsertPast { age: delay },
            14..18 => Self::Remove { nth },
            18..24 => Self::Reset { nth, delay },
            24..32 => Self::Poll,
            32..37 => Self::Pass { time: delay % 100_000 },
            37 => Self::Jump { days: nth % 30 },
            38 => Self::Clear,
            _ => Self::Compact,
        });
    }
}

/// Anything from nothing to a week, short ones as often as long ones.
fn some_time(decoder: &mut Decoder<'_>) -> u64 {
    let bits = decoder.below(30);
    decoder.word() % (1 << bits)
}

#[test]
fn same_script_leads_to_the_same_events() {
    fn agree(script: Drawn<Step>) {
        let steps = script.script();
        assert_eq!(ours::transcript::transcript(&steps), theirs::transcript::transcript(&steps));
    }
    check(500, 150, agree);
}
