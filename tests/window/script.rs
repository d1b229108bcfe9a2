//! Histories of a store, a window and a host as data: a capacity, what the store and the news are like, and operations.

use crate::bytes::{Decoder, Draw};

/// Whether positions are used again, and in which order news arrive. It decides whether the host may announce removals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ids {
    /// No position is used twice. News arrive in any order, those of removals too.
    #[default]
    Once,
    /// Positions are used again. News arrive in any order, and removals are not announced.
    Again,
    /// Positions are used again. News of inserts and removals arrive in the order of the commits.
    InOrder,
}

/// One operation. A row, a scan or a piece of news is named by its place among those there are; where there is none,
/// nothing happens. Deadlines count from the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A writer inserts a row. If the transaction is `open`, it commits later.
    Insert { id: u8, at: i8, open: bool },
    /// A writer commits a transaction that is open.
    Commit(u8),
    /// A writer removes a row.
    Remove(u8),
    /// A writer gives a row another deadline.
    Move { row: u8, at: i8 },
    /// A piece of news reaches the window.
    Tell(u8),
    /// The host asks for a load, and begins the scan if there is one.
    Ask,
    /// A scan sees the store.
    See(u8),
    /// A scan ends with its answer. Of the rows that came or went since `See` it has those that `odd` says.
    Answer { scan: u8, rows: u8, odd: u8, end: bool },
    /// A scan fails, and the host says so.
    Fail(u8),
    /// The task of a scan is cancelled.
    Drop(u8),
    /// The host polls once.
    Poll,
    /// The host polls until nothing more is due.
    PollAll,
    /// The work on a row ends.
    Finish { work: u8, end: End },
    /// Time passes.
    Pass(u8),
    /// The host sleeps until the wake-up.
    Sleep,
    /// The clock is set back.
    Back(u8),
    /// The host starts again. Answers to the scans of the old window arrive at the new one if they are `late`.
    Crash { late: bool },
    /// News are lost, and the host takes its partition over again.
    Reset,
    /// The host takes a new floor, if it may.
    Floor,
    /// A writer dies before it announces an insert.
    Lose(u8),
    /// The host rechecks all rows, or those after the floor. All news under way are lost before if there is a `cut`.
    Recheck { all: bool, cut: bool },
}

/// How the work on a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The row is removed.
    Gone,
    /// The row is moved.
    Later(i8),
    /// The row stays where it is, and the host announces it again before or after it calls `done`.
    Stays { told_first: bool },
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) capacity: usize,
    pub(crate) ids: Ids,
    pub(crate) start: u64,
    pub(crate) ops: Vec<Op>,
}

/// Most are soon, so that many rows share a deadline.
fn ahead(decoder: &mut Decoder<'_>) -> i8 {
    let span = decoder.choose(&[8, 25, 65]);
    decoder.below(span) as i8 - 5
}

impl Draw for Script {
    type Script = Self;

    fn begin(decoder: &mut Decoder<'_>) -> Self {
        Self {
            capacity: decoder.choose(&[1, 2, 3, 4, 8, 20]),
            ids: decoder.choose(&[Ids::Once, Ids::Again, Ids::InOrder]),
            start: decoder.choose(&[100, 0, u64::MAX - 60]),
            ops: Vec::new(),
        }
    }

    fn extend(script: &mut Self, decoder: &mut Decoder<'_>) {
        script.ops.push(match decoder.below(100) {
            0..16 => Op::Insert { id: decoder.byte(), at: ahead(decoder), open: decoder.below(4) == 3 },
            16..18 => Op::Commit(decoder.byte()),
            18..21 => Op::Remove(decoder.byte()),
            21..24 => Op::Move { row: decoder.byte(), at: ahead(decoder) },
            24..42 => Op::Tell(decoder.byte()),
            42..50 => Op::Ask,
            50..54 => Op::See(decoder.byte()),
            54..61 => Op::Answer {
                scan: decoder.byte(),
                rows: decoder.byte(),
                odd: decoder.byte(),
                end: decoder.below(4) != 0,
            },
            61 => Op::Fail(decoder.byte()),
            62 => Op::Drop(decoder.byte()),
            63..71 => Op::Poll,
            71..75 => Op::PollAll,
            75..84 => Op::Finish {
                work: decoder.byte(),
                end: match decoder.below(8) {
                    6 => End::Later(ahead(decoder)),
                    7 => End::Stays { told_first: decoder.below(2) == 1 },
                    _ => End::Gone,
                },
            },
            84..89 => Op::Pass(decoder.below(5)),
            89 => Op::Pass(decoder.below(80)),
            90..92 => Op::Sleep,
            92 => Op::Back(decoder.below(40)),
            93 => Op::Crash { late: decoder.below(2) == 1 },
            94 => Op::Reset,
            95 => Op::Floor,
            96 => Op::Lose(decoder.byte()),
            _ => Op::Recheck { all: decoder.below(2) == 1, cut: decoder.below(2) == 1 },
        });
    }
}
