//! Kinds of scripts: operations out of bytes, biased towards the clocks, deadlines and jumps that broke other wheels.

use timer_wheel::{Budget, Geometry};

use crate::bytes::{Decoder, Draw};
use crate::geometries::FAR_TIMERS;
use crate::script::{MAX_LANES, Op, Road, Rule, Script, When, spans};

/// A kind of script for the wheel: a way of reading its operations.
pub(crate) trait Kind: 'static {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op;
}

/// Everything that a wheel can do, evenly mixed.
pub(crate) struct Mixed;

impl Kind for Mixed {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(64) {
            0..=15 => Op::Schedule(decoder.deadline(spans)),
            16..=17 => {
                let counts = [2, 3, 8, 15, 16, 17, 31, 32, 33, 34, 63, 65, 100];
                Op::Storm(decoder.deadline(spans), 0, decoder.choose(&counts))
            }
            18..=19 => Op::Storm(decoder.deadline(spans), decoder.delay(spans), decoder.below(40)),
            20 => Op::lane(decoder),
            21..=24 => Op::Cancel(decoder.pick()),
            25 => Op::CancelMany(decoder.below(8)),
            26..=32 => Op::Reschedule(decoder.pick(), decoder.deadline(spans)),
            33 => Op::RescheduleMany(decoder.below(8), decoder.deadline(spans)),
            34..=37 => Op::Advance(decoder.jump(spans)),
            38..=40 => Op::AdvanceDropped(decoder.jump(spans), decoder.choose(&[0, 1, 1, 2, 4, 16, 50])),
            41..=44 => Op::AdvanceBudgeted(decoder.jump(spans), Budget::of_work(budget(decoder)), decoder.below(4)),
            45..=46 => Op::AdvanceToEnd(decoder.jump(spans), budget(decoder)),
            47..=50 => {
                let (to, work) = (decoder.jump(spans), decoder.choose(&[0, 1, 2, 7, 40, usize::MAX, usize::MAX]));
                Op::AdvanceWith(to, Budget::of_work(work), decoder.rule(spans))
            }
            51..=52 => Op::Pop(decoder.jump(spans)),
            53 => Op::prepare(decoder, spans),
            54..=55 => Op::PopAndSchedule(decoder.jump(spans), decoder.below(8)),
            56..=57 => Op::Drive(decoder.below(24), decoder.reach(spans)),
            58 => Op::rare(decoder),
            59 => Op::Shrink,
            60 => Op::Reserve(decoder.byte()),
            61 => Op::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
            62 => match decoder.below(4) {
                0 => Op::Touch(decoder.pick()),
                _ => Op::hold(decoder, spans),
            },
            _ => Op::first_or_fires(decoder, spans),
        }
    }
}

/// Schedules and advances in turn, at the edges of buckets and levels, in one tick, in the past and
/// at the end of time.
pub(crate) struct Edges;

impl Kind for Edges {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(16) {
            0..=4 => Op::Schedule(moment(decoder, spans)),
            5 => Op::Storm(moment(decoder, spans), 0, 2 + decoder.below(7)),
            6 => Op::Storm(moment(decoder, spans), decoder.choose(spans), 2 + decoder.below(7)),
            7..=10 => Op::Advance(step(decoder, spans)),
            11 => Op::AdvanceDropped(step(decoder, spans), decoder.below(4)),
            12 => Op::Pop(step(decoder, spans)),
            13 => Op::PopAndSchedule(step(decoder, spans), decoder.below(4)),
            14 => match decoder.below(2) {
                0 => Op::AdvanceWith(step(decoder, spans), Budget::unlimited(), decoder.rule(spans)),
                _ => Op::lane(decoder),
            },
            _ => Op::Drive(decoder.below(8), decoder.reach(spans)),
        }
    }
}

/// Advances that a budget interrupts, and everything that can happen while a backlog waits.
pub(crate) struct Backlog;

impl Kind for Backlog {
    fn read(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Op {
        match decoder.below(32) {
            0..=8 => Op::AdvanceBudgeted(step(decoder, spans), Budget::of_work(budget(decoder)), 0),
            9 => Op::prepare(decoder, spans),
            10 => Op::first_or_fires(decoder, spans),
            11..=12 => Op::AdvanceWith(step(decoder, spans), Budget::of_work(budget(decoder)), decoder.rule(spans)),
            13 => Op::AdvanceToEnd(step(decoder, spans), budget(decoder)),
            14 => Op::AdvanceDropped(step(decoder, spans), decoder.below(8)),
            15..=17 => Op::Schedule(moment(decoder, spans)),
            18..=21 => crowd(decoder, spans),
            22 => Op::Cancel(decoder.pick()),
            23 => Op::hold(decoder, spans),
            24..=25 => Op::CancelMany(decoder.below(6)),
            26..=27 => Op::Reschedule(decoder.pick(), moment(decoder, spans)),
            28 => Op::RescheduleMany(decoder.below(6), moment(decoder, spans)),
            29 => match decoder.below(2) {
                0 => Op::Pop(step(decoder, spans)),
                _ => Op::lane(decoder),
            },
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
            15..=16 => Op::CancelMany(decoder.below(3)),
            17 => Op::lane(decoder),
            18..=20 => Op::RescheduleMany(decoder.below(4), moment(decoder, spans)),
            21..=23 => Op::Advance(step(decoder, spans)),
            24..=25 => Op::AdvanceBudgeted(step(decoder, spans), Budget::of_work(budget(decoder)), 0),
            26 => Op::Shrink,
            27 => Op::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
            28 => Op::Exhaust(decoder.byte()),
            29 => Op::overtake(decoder),
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

impl Op {
    /// Another lane for what follows.
    fn lane(decoder: &mut Decoder<'_>) -> Self {
        match decoder.below(8) {
            0..=2 => Self::AddLane,
            3 => Self::Lane(None),
            _ => Self::Lane(Some(decoder.choose(&[0, 0, 0, 1, 1, 2, MAX_LANES - 1]))),
        }
    }

    /// Timers that are held, or no longer.
    fn hold(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        match decoder.below(2) {
            0 => Self::Hold(decoder.jump(spans), decoder.choose(&[1, 1, 2, 5, 40, u8::MAX])),
            _ => Self::Release(decoder.byte(), decoder.pick()),
        }
    }

    /// Work that is done ahead of time.
    fn prepare(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        Self::Prepare(decoder.jump(spans), decoder.choose(&[0, 1, 3, 50, usize::MAX, usize::MAX]))
    }

    /// A look at the earliest timer, and then nearer ones.
    fn overtake(decoder: &mut Decoder<'_>) -> Self {
        Self::Overtake(decoder.choose(&[20, 70, 130, u8::MAX]))
    }

    /// What takes timers before their time, or fires few of those that are due.
    fn first_or_fires(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        match decoder.below(14) {
            0 => match decoder.below(3) {
                0 => Self::PeekFirst,
                _ => Self::overtake(decoder),
            },
            1..=2 => Self::PopFirst,
            3..=4 => Self::Evict(decoder.deadline(spans), decoder.choose(&[2, 5, 9, 33])),
            5..=6 => Self::AdvanceBudgeted(decoder.jump(spans), decoder.fires(), 0),
            7 => Self::AdvanceWith(decoder.jump(spans), decoder.fires(), decoder.rule(spans)),
            8 => Self::AdvanceWith(decoder.jump(spans), decoder.fires(), Rule::Until(decoder.below(20))),
            9..=11 => {
                let (to, most) = (decoder.jump(spans), decoder.choose(&[0, 1, 2, 5, 30, u8::MAX]));
                Self::PeekExpired(to, most, decoder.rule(spans))
            }
            12 => Self::RescheduleOrInsert(decoder.pick(), decoder.deadline(spans)),
            _ => Self::Retain(decoder.below(4)),
        }
    }

    /// What empties the wheel, and so must not come often.
    fn rare(decoder: &mut Decoder<'_>) -> Self {
        match decoder.below(4) {
            0 => Self::Clear,
            1 => Self::Drain(decoder.choose(&[0, 1, 3, u8::MAX])),
            _ => Self::Shrink,
        }
    }
}

impl Decoder<'_> {
    /// A clock to start at.
    fn clock(&mut self, spans: &[u64; 5]) -> u64 {
        const SIGN: u64 = 1 << 63;
        const MEBI: u64 = 1 << 20;
        match self.below(16) {
            0 => self.choose(&[0, 1]),
            1..=2 => self.choose(&[MEBI - 1, MEBI, MEBI + 1]),
            3..=4 => self.choose(&[SIGN - 1, SIGN, SIGN + 1]),
            5 => self.choose(&[u64::MAX - 1, u64::MAX, u64::MAX / 2]),
            6 => u64::MAX - self.delay(spans),
            7..=8 => SIGN - self.delay(spans).min(SIGN),
            9..=12 => self.delay(spans),
            _ => self.word(),
        }
    }

    /// A deadline to schedule or reschedule to.
    fn deadline(&mut self, spans: &[u64; 5]) -> When {
        const EXTREME: [When; 5] =
            [When::At(0), When::At(1), When::At(u64::MAX), When::At(u64::MAX - 1), When::In(1 << 61)];
        match self.below(16) {
            0 => When::Ago(self.delay(spans)),
            1 => self.choose(&EXTREME),
            2..=3 => self.like(u64::MAX),
            4..=7 => edge(self.choose(spans), self),
            _ => When::In(self.delay(spans)),
        }
    }

    /// A moment to advance to: mostly near, so that the script does not end at the end of time.
    fn jump(&mut self, spans: &[u64; 5]) -> When {
        const FAR: [When; 5] =
            [When::In(1 << 31), When::In(1 << 32), When::In(1 << 61), When::In(1 << 62), When::At(u64::MAX)];
        let near = 1 + usize::from(self.choose(&[0_u8, 1, 1, 1, 2, 2, 3, 4]));
        match self.byte() {
            0..=1 => self.choose(&FAR),
            2..=15 => When::Ago(self.delay(spans)),
            16..=99 => {
                let within = self.reach(spans);
                self.like(within)
            }
            100..=159 => edge(self.choose(&spans[..near]), self),
            _ => When::In(self.delay(&spans[..near])),
        }
    }

    /// How far ahead to go at most.
    fn reach(&mut self, spans: &[u64; 5]) -> u64 {
        let levels = [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4];
        spans[self.choose(&levels)].saturating_mul(4)
    }

    fn like(&mut self, within: u64) -> When {
        let nth = self.choose(&[0, 0, 1, 2, 5, 11, 40]);
        When::Like(nth, self.choose(&[-1, 0, 0, 0, 1]), within)
    }

    /// A time span, near those of the levels or within one.
    fn delay(&mut self, spans: &[u64]) -> u64 {
        match self.below(8) {
            0 => u64::from(self.below(3)),
            1..=2 => {
                let (span, times) = (self.choose(spans), self.choose(&[1, 1, 2, 3]));
                span.saturating_mul(times).saturating_add_signed(self.choose(&[-1, 0, 1]))
            }
            3 => spans[0].saturating_mul(u64::from(self.byte())),
            _ => {
                let span = self.choose(spans);
                (self.word() % span).saturating_mul(self.choose(&[1, 2]))
            }
        }
    }

    fn rule(&mut self, spans: &[u64; 5]) -> Rule {
        match self.below(8) {
            0 => Rule::Remove,
            1..=2 => Rule::Every(self.delay(spans)),
            _ => Rule::Mixed(self.byte(), self.delay(spans)),
        }
    }

    fn fires(&mut self) -> Budget {
        let work = self.choose(&[1, 5, 40, 1_000, 1_000]);
        Budget::of_work(work).with_fires(self.choose(&[0, 1, 1, 2, 5, 30]))
    }
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
        _ => edge(span, decoder),
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
        _ => edge(span, decoder),
    }
}

/// Next to a boundary of buckets.
fn edge(span: u64, decoder: &mut Decoder<'_>) -> When {
    let byte = decoder.byte();
    When::Edge(span, byte >> 2 & 15, [-1, 0, 0, 1][usize::from(byte % 4)])
}
