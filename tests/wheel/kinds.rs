//! Kinds of scripts: what [`Op::decode`] mixes evenly, concentrated on one part of the contract.
//!
//! Each kind reads an operation from few bytes, so that a script that gets somewhere is short.

use crate::script::{Decoder, Op, Read, Road, When};

/// Schedules and advances in turn, at the edges of buckets and levels, in one tick, in the past and
/// at the end of time.
pub(crate) const EDGES: Read = edges;

/// Advances that a budget interrupts, and everything that can happen while a backlog waits.
pub(crate) const BACKLOG: Read = backlog;

/// Timers by the hundred that come, go and move, so that there are crowds.
pub(crate) const BURSTS: Read = bursts;

fn edges(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    match decoder.below(16) {
        0..=4 => Op::Schedule(moment(decoder, spans)),
        5 => Op::Bunch {
            at: moment(decoder, spans),
            count: 2 + decoder.below(7),
        },
        6 => Op::Storm {
            from: moment(decoder, spans),
            step: decoder.choose(spans),
            count: 2 + decoder.below(7),
        },
        7..=10 => Op::Advance(step(decoder, spans)),
        11 => Op::AdvanceDropped {
            to: step(decoder, spans),
            taken: decoder.below(4),
        },
        12 => Op::Pop(step(decoder, spans)),
        13 => Op::PopAndSchedule {
            to: step(decoder, spans),
            count: decoder.below(4),
        },
        14 => Op::AdvanceWith {
            to: step(decoder, spans),
            budget: usize::MAX,
            rule: decoder.rule(spans),
        },
        _ => Op::Drive {
            wake_ups: decoder.below(8),
            within: decoder.reach(spans),
        },
    }
}

fn backlog(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    match decoder.below(32) {
        0..=9 => Op::AdvanceBudgeted {
            to: step(decoder, spans),
            budget: budget(decoder),
            calls: 0,
        },
        10 => Op::first_or_fires(decoder, spans),
        11..=12 => Op::AdvanceWith {
            to: step(decoder, spans),
            budget: budget(decoder),
            rule: decoder.rule(spans),
        },
        13 => Op::AdvanceToEnd {
            to: step(decoder, spans),
            budget: budget(decoder),
        },
        14 => Op::AdvanceDropped {
            to: step(decoder, spans),
            taken: decoder.below(8),
        },
        15..=17 => Op::Schedule(moment(decoder, spans)),
        18..=19 => Op::Bunch {
            at: moment(decoder, spans),
            count: decoder.byte(),
        },
        20..=21 => Op::Storm {
            from: moment(decoder, spans),
            step: decoder.delay(spans),
            count: decoder.byte(),
        },
        22..=23 => Op::Cancel(decoder.pick()),
        24 => Op::CancelMany {
            stride: decoder.below(6),
        },
        25 => Op::CancelTail {
            count: decoder.byte(),
        },
        26..=27 => Op::Reschedule(decoder.pick(), moment(decoder, spans)),
        28 => Op::RescheduleMany {
            stride: decoder.below(6),
            to: moment(decoder, spans),
        },
        29 => Op::Pop(step(decoder, spans)),
        30 => churn(decoder, spans),
        _ => Op::decode(decoder, spans),
    }
}

fn bursts(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    match decoder.below(32) {
        0..=7 => churn(decoder, spans),
        8..=9 => Op::Swing {
            stride: decoder.below(40),
            there: moment(decoder, spans),
            back: moment(decoder, spans),
            count: decoder.choose(&[10, 33, 64, 100, 200]),
        },
        10..=12 => Op::Bunch {
            at: moment(decoder, spans),
            count: decoder.byte(),
        },
        13..=14 => Op::Storm {
            from: moment(decoder, spans),
            step: decoder.delay(spans),
            count: decoder.byte(),
        },
        15..=17 => Op::CancelMany {
            stride: decoder.below(3),
        },
        18 => Op::CancelTail {
            count: decoder.byte(),
        },
        19..=20 => Op::RescheduleMany {
            stride: decoder.below(4),
            to: moment(decoder, spans),
        },
        21..=23 => Op::Advance(step(decoder, spans)),
        24..=25 => Op::AdvanceBudgeted {
            to: step(decoder, spans),
            budget: budget(decoder),
            calls: 0,
        },
        26 => Op::Shrink,
        27 => Op::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
        28 => Op::Exhaust(decoder.byte()),
        _ => Op::decode(decoder, spans),
    }
}

/// Comings and goings at few deadlines: a slot is used again for the tick that it was used for.
fn churn(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    Op::Churn {
        from: moment(decoder, spans),
        step: decoder.choose(&[0, 1, spans[0], spans[0], spans[1], spans[2], spans[3]]),
        count: decoder.choose(&[20, 40, 70, 100, 150, 200, 300]),
        lag: decoder.choose(&[0, 0, 1, 5, 31, 60, 100, 200]),
        keep: decoder.choose(&[0, 0, 2, 3, 5, 10, 30]),
    }
}

/// Any number of units, small ones mostly.
fn budget(decoder: &mut Decoder<'_>) -> usize {
    match decoder.below(8) {
        0..=4 => usize::from(decoder.below(40)),
        5..=6 => usize::from(decoder.byte()) << 2,
        _ => decoder.choose(&[1 << 12, 1 << 16, usize::MAX - 1, usize::MAX]),
    }
}

/// A deadline where it hurts.
fn moment(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> When {
    let byte = decoder.byte();
    let span = spans[usize::from(byte >> 3) % spans.len()];
    match byte % 8 {
        0 => When::Ago(u64::from(decoder.byte()).saturating_mul(span / 64)),
        // Mostly the tick of the present.
        1 => When::In(u64::from(decoder.byte()).saturating_mul((spans[0] / 256).max(1))),
        2 => decoder.choose(&[
            When::At(0),
            When::At(1),
            When::At((1 << 63) - 1),
            When::At(1 << 63),
            When::At(u64::MAX - 1),
            When::At(u64::MAX),
        ]),
        3 => When::In(u64::from(decoder.byte()).saturating_mul(span)),
        4 => decoder.like(u64::MAX),
        _ => edge(decoder, span),
    }
}

/// A moment to advance to: as [`moment`], but seldom so far that nothing can follow.
fn step(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> When {
    let byte = decoder.byte();
    let level = decoder.choose(&[0, 0, 1, 1, 2, 2, 3, 4]);
    let span = spans[level];
    match byte {
        0..=2 => moment(decoder, spans),
        3..=10 => When::Ago(u64::from(decoder.byte())),
        11..=30 => When::In(0),
        31..=80 => When::In(u64::from(decoder.byte()).saturating_mul((span / 256).max(1))),
        81..=150 => decoder.like(span.saturating_mul(4)),
        _ => edge(decoder, span),
    }
}

fn edge(decoder: &mut Decoder<'_>, span: u64) -> When {
    let byte = decoder.byte();
    When::Edge {
        span,
        steps: byte >> 2 & 15,
        offset: [-1, 0, 0, 1][usize::from(byte % 4)],
    }
}
