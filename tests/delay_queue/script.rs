//! Scripts: the operations that a queue and its model are both run through, and their decoding
//! from bytes, biased towards what broke other queues.

use std::time::Duration;

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

/// An item to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The item at that place in the order of delivery.
    Live(u8),
    /// Any key ever given out, counted back from the latest; most are stale.
    Any(u16),
}

/// Reads operations until the bytes run out, at most `limit` of them.
pub(crate) fn decode(bytes: &[u8], limit: usize) -> Vec<Op> {
    let mut decoder = Decoder { bytes };
    let mut ops = Vec::new();
    while !decoder.bytes.is_empty() && ops.len() < limit {
        ops.push(decoder.op());
    }
    ops
}

/// Bytes that choices are read from. Zeros follow their end.
struct Decoder<'a> {
    bytes: &'a [u8],
}

impl Decoder<'_> {
    fn op(&mut self) -> Op {
        match self.byte() % 64 {
            0..14 => Op::Insert(self.when()),
            14..17 => Op::Bunch(self.when(), self.byte() % 40),
            17..23 => Op::Remove(self.pick()),
            23..32 => Op::Reset(self.pick(), self.when()),
            32..38 => Op::Poll,
            38..44 => Op::PollAll,
            44..49 => Op::Pass(self.short()),
            49..52 => Op::Jump(self.jump()),
            52..57 => Op::Wait(self.short()),
            57 => Op::Clear,
            58 => Op::Shrink,
            59 => Op::Compact,
            60 => Op::Reserve(self.byte()),
            _ => Op::Touch(self.pick()),
        }
    }

    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        first
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn pick(&mut self) -> Pick {
        let byte = self.byte();
        if byte < 192 { Pick::Live(byte) } else { Pick::Any(u16::from_le_bytes([self.byte(), self.byte()])) }
    }

    fn when(&mut self) -> When {
        match self.byte() % 16 {
            0..6 => When::In(self.delay()),
            6..11 => When::At(self.delay()),
            11 => When::Ago(self.short()),
            _ => When::Like(self.byte(), i8::from_le_bytes([self.byte()])),
        }
    }

    /// Any delay at all, the far and the odd included.
    fn delay(&mut self) -> Duration {
        match self.byte() % 16 {
            0 => Duration::ZERO,
            1 => Duration::MAX,
            2 => Duration::from_nanos(u64::MAX),
            3 => Duration::from_secs(self.word()),
            4..8 => Duration::from_millis(u64::from(self.byte())),
            8 => Duration::from_millis((1 << 36) + u64::from(self.byte())),
            _ => self.short(),
        }
    }

    /// Up to three days; each magnitude is as likely as another.
    fn short(&mut self) -> Duration {
        let bits = self.byte() % 49;
        Duration::from_nanos(self.word() % (1 << bits))
    }

    /// Up to ten years.
    fn jump(&mut self) -> Duration {
        match self.byte() % 4 {
            0 => Duration::from_secs(86_400 * (self.word() % 3_650)),
            _ => self.short(),
        }
    }
}
