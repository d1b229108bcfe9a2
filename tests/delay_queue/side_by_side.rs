//! The same scripts on both queues: they deliver the same items at the same times.

use quickcheck::{Arbitrary, Gen, QuickCheck};

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

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        let nth = u8::arbitrary(g);
        let delay = some_time(g);
        match u8::arbitrary(g) % 40 {
            0..12 => Self::Insert { delay },
            12..14 => Self::InsertPast { age: delay },
            14..18 => Self::Remove { nth },
            18..24 => Self::Reset { nth, delay },
            24..32 => Self::Poll,
            32..37 => Self::Pass { time: delay % 100_000 },
            37 => Self::Jump { days: nth % 30 },
            38 => Self::Clear,
            _ => Self::Compact,
        }
    }
}

/// Anything from nothing to a week, short ones as often as long ones.
fn some_time(g: &mut Gen) -> u64 {
    let bits = u32::arbitrary(g) % 30;
    u64::arbitrary(g) % (1 << bits)
}

#[test]
fn same_script_leads_to_the_same_events() {
    fn agree(steps: Vec<Step>) {
        assert_eq!(ours::transcript::transcript(&steps), theirs::transcript::transcript(&steps));
    }
    QuickCheck::new().rng(Gen::new(150)).tests(500).quickcheck(agree as fn(Vec<Step>));
}
