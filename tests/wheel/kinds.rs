//! Kinds of scripts: what [`Mixed`] mixes evenly, concentrated on one part of the contract.
//!
//! Each kind reads an operation from few bytes, so that a script that gets somewhere is short.

use timer_wheel::{Budget, Geometry};

use crate::bytes::{Decoder, Draw};
pub(crate) use crate::decoder::{Kind, Mixed};
use crate::geometries::FAR_TIMERS;
use crate::script::{Op, Road, Script, When, spans};

/// Schedules and advances in turn, at the edges of buckets and levels, in one tick, in the past and
/// at the end of time.
pub(crate) struct Edges;

impl Kind for Edges {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(16) {
            0..=4 => Op::Schedule(moment(decoder, spans)),
            5 => Op::Storm(moment(decoder, spans), 0, 2 + decoder.below(7)),
            6 => {
                let (from, step) = (moment(decoder, spans), decoder.choose(spans));
                Op::Storm(from, step, 2 + decoder.below(7))
            }
            7..=10 => Op::Advance(step(decoder, spans)),
            11 => Op::AdvanceDropped(step(decoder, spans), decoder.below(4)),
            12 => Op::Pop(step(decoder, spans)),
            13 => Op::PopAndSchedule(step(decoder, spans), decoder.below(4)),
            14 => Op::AdvanceWith(step(decoder, spans), Budget::UNLIMITED, decoder.rule(spans)),
            _ => Op::Drive(decoder.below(8), decoder.reach(spans)),
        }
    }
}

/// Advances that a budget interrupts, and everything that can happen while a backlog waits.
pub(crate) struct Backlog;

impl Kind for Backlog {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(32) {
            0..=9 => advance_budgeted(decoder, spans),
            10 => Op::first_or_fires(decoder, spans),
            11..=12 => {
                let (to, work) = (step(decoder, spans), budget(decoder));
                Op::AdvanceWith(to, Budget::of_work(work), decoder.rule(spans))
            }
            13 => Op::AdvanceToEnd(step(decoder, spans), budget(decoder)),
            14 => Op::AdvanceDropped(step(decoder, spans), decoder.below(8)),
            15..=17 => Op::Schedule(moment(decoder, spans)),
            18..=21 => crowd(decoder, spans),
            22..=23 => Op::Cancel(decoder.pick()),
            24..=25 => Op::CancelMany(decoder.below(6)),
            26..=27 => Op::Reschedule(decoder.pick(), moment(decoder, spans)),
            28 => Op::RescheduleMany(decoder.below(6), moment(decoder, spans)),
            29 => Op::Pop(step(decoder, spans)),
            30 => churn(decoder, spans),
            _ => Mixed::read(decoder, spans),
        }
    }
}

/// Timers by the hundred that come, go and move, so that there are crowds.
pub(crate) struct Bursts;

impl Kind for Bursts {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(32) {
            0..=7 => churn(decoder, spans),
            8..=14 => crowd(decoder, spans),
            15..=17 => Op::CancelMany(decoder.below(3)),
            18..=20 => Op::RescheduleMany(decoder.below(4), moment(decoder, spans)),
            21..=23 => Op::Advance(step(decoder, spans)),
            24..=25 => advance_budgeted(decoder, spans),
            26 => Op::Shrink,
            27 => Op::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
            28 => Op::Exhaust(decoder.byte()),
            _ => Mixed::read(decoder, spans),
        }
    }
}

/// Scripts of a kind for the wheels of a geometry.
impl<K: Kind, G: Geometry> Draw for (K, G) {
    type Script = Script;

    fn begin(decoder: &mut Decoder<'_>) -> Script {
        // In a large geometry a short script makes no lists without it.
        let ballast = Op::Storm(When::At(u64::MAX), 0, FAR_TIMERS as u8);
        let ops = if decoder.below(2) == 1 { vec![ballast] } else { Vec::new() };
        Script { start: decoder.clock(&spans::<G>()), ops }
    }

    fn extend(script: &mut Script, decoder: &mut Decoder<'_>) {
        script.ops.push(K::read(decoder, &spans::<G>()));
    }
}

fn advance_budgeted(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    let (to, work) = (step(decoder, spans), budget(decoder));
    Op::AdvanceBudgeted(to, Budget::of_work(work), 0)
}

/// Many timers, at one time or apart.
fn crowd(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
    let (from, is_spread) = (moment(decoder, spans), decoder.below(2) == 1);
    let step = if is_spread { decoder.delay(spans) } else { 0 };
    Op::Storm(from, step, decoder.byte())
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
    const EXTREME: [u64; 6] = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    let byte = decoder.byte();
    let span = spans[usize::from(byte >> 3) % spans.len()];
    match byte % 8 {
        0 => When::Ago(u64::from(decoder.byte()).saturating_mul(span / 64)),
        // Mostly the tick of the present.
        1 => When::In(u64::from(decoder.byte()).saturating_mul((spans[0] / 256).max(1))),
        2 => When::At(decoder.choose(&EXTREME)),
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
    When::Edge(span, byte >> 2 & 15, [-1, 0, 0, 1][usize::from(byte % 4)])
}
