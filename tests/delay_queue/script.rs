//! Scripts: the operations that a queue and its model are both run through, and how they are
//! read, biased towards what broke other queues.

use std::time::Duration;

use crate::bytes::{Decoder, Draw, Pick};

/// One operation. Whatever it names that is not there (an item of an empty queue) is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Insert(When),
    /// Many items at one deadline.
    Bunch(When, u8),
    Remove(Pick),
    Reset(Pick, When),
    /// Polls once.
    Poll,
    /// Polls until the queue has nothing more to deliver.
    PollAll,
    /// Lets time pass, with everything that happens meanwhile.
    Pass(Duration),
    /// Moves the clock in one step.
    Jump(Duration),
    /// Sleeps as the waiting task would, so long at most, and polls when it is woken.
    Wait(Duration),
    Clear,
    Shrink,
    Compact,
    Reserve(u8),
    Touch(Pick),
}

/// When an item is to be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// As a timeout.
    In(Duration),
    /// As an instant ahead.
    At(Duration),
    Ago(Duration),
    /// As an instant next to the deadline of the item at that place in the order, so far from it.
    Like(u8, i8),
}

impl Draw for Op {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        script.push(match decoder.below(64) {
            0..14 => Self::Insert(when(decoder)),
            14..17 => Self::Bunch(when(decoder), decoder.below(40)),
            17..23 => Self::Remove(decoder.pick()),
            23..32 => Self::Reset(decoder.pick(), when(decoder)),
            32..38 => Self::Poll,
            38..44 => Self::PollAll,
            44..49 => Self::Pass(short(decoder)),
            49..52 => Self::Jump(jump(decoder)),
            52..57 => Self::Wait(short(decoder)),
            57 => Self::Clear,
            58 => Self::Shrink,
            59 => Self::Compact,
            60 => Self::Reserve(decoder.byte()),
            _ => Self::Touch(decoder.pick()),
        });
    }
}

fn when(decoder: &mut Decoder<'_>) -> When {
    match decoder.below(16) {
        0..6 => When::In(delay(decoder)),
        6..11 => When::At(delay(decoder)),
        11 => When::Ago(short(decoder)),
        _ => When::Like(decoder.byte(), i8::from_le_bytes([decoder.byte()])),
    }
}

/// Any delay at all, the far and the odd included.
fn delay(decoder: &mut Decoder<'_>) -> Duration {
    match decoder.below(16) {
        0 => Duration::ZERO,
        1 => Duration::MAX,
        2 => Duration::from_nanos(u64::MAX),
        3 => Duration::from_secs(decoder.word()),
        4..8 => Duration::from_millis(u64::from(decoder.byte())),
        8 => Duration::from_millis((1 << 36) + u64::from(decoder.byte())),
        _ => short(decoder),
    }
}

/// Up to three days; each magnitude is as likely as another.
fn short(decoder: &mut Decoder<'_>) -> Duration {
    let bits = decoder.below(49);
    Duration::from_nanos(decoder.word() % (1 << bits))
}

/// Up to ten years.
fn jump(decoder: &mut Decoder<'_>) -> Duration {
    match decoder.below(4) {
        0 => Duration::from_secs(86_400 * (decoder.word() % 3_650)),
        _ => short(decoder),
    }
}
