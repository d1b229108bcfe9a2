//! Operations out of bytes, biased towards the clocks, deadlines and jumps that broke other wheels.

use timer_wheel::Budget;

use crate::bytes::Decoder;
use crate::script::{Op, Road, Rule, When};

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
            20 => Op::Storm(decoder.deadline(spans), 0, decoder.below(4)),
            21..=24 => Op::Cancel(decoder.pick()),
            25 => Op::CancelMany(decoder.below(8)),
            26..=32 => Op::Reschedule(decoder.pick(), decoder.deadline(spans)),
            33 => Op::RescheduleMany(decoder.below(8), decoder.deadline(spans)),
            34..=37 => Op::Advance(decoder.jump(spans)),
            38..=40 => Op::AdvanceDropped(decoder.jump(spans), decoder.choose(&[0, 1, 1, 2, 4, 16, 50])),
            41..=44 => Op::AdvanceBudgeted(decoder.jump(spans), Budget::of_work(decoder.budget()), decoder.below(4)),
            45..=46 => Op::AdvanceToEnd(decoder.jump(spans), decoder.budget()),
            47..=50 => {
                let work = [0, 1, 2, 7, 40, usize::MAX, usize::MAX];
                let (to, work) = (decoder.jump(spans), decoder.choose(&work));
                Op::AdvanceWith(to, Budget::of_work(work), decoder.rule(spans))
            }
            51..=53 => Op::Pop(decoder.jump(spans)),
            54..=55 => Op::PopAndSchedule(decoder.jump(spans), decoder.below(8)),
            56..=57 => Op::Drive(decoder.below(24), decoder.reach(spans)),
            58 => Op::rare(decoder),
            59 => Op::Shrink,
            60 => Op::Reserve(decoder.byte()),
            61 => Op::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
            62 => Op::Touch(decoder.pick()),
            _ => Op::first_or_fires(decoder, spans),
        }
    }
}

impl Op {
    /// What takes timers before their time, or fires few of those that are due.
    pub(crate) fn first_or_fires(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        match decoder.below(14) {
            0 => Self::PeekFirst,
            1..=2 => Self::PopFirst,
            3..=4 => Self::Evict(decoder.deadline(spans), decoder.choose(&[2, 5, 9, 33])),
            5..=6 => Self::AdvanceBudgeted(decoder.jump(spans), decoder.fires(), 0),
            7 => Self::AdvanceWith(decoder.jump(spans), decoder.fires(), decoder.rule(spans)),
            8 => {
                let (to, budget) = (decoder.jump(spans), decoder.fires());
                Self::AdvanceWith(to, budget, Rule::Until(decoder.below(20)))
            }
            9..=11 => {
                let (to, most) = (decoder.jump(spans), [0, 1, 2, 5, 30, u8::MAX]);
                Self::PeekExpired(to, decoder.choose(&most), decoder.rule(spans))
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
    pub(crate) fn clock(&mut self, spans: &[u64; 5]) -> u64 {
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
            4..=7 => self.edge(spans),
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
            100..=159 => self.edge(&spans[..near]),
            _ => When::In(self.delay(&spans[..near])),
        }
    }

    /// How far ahead to go at most.
    pub(crate) fn reach(&mut self, spans: &[u64; 5]) -> u64 {
        let levels = [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4];
        spans[self.choose(&levels)].saturating_mul(4)
    }

    pub(crate) fn like(&mut self, within: u64) -> When {
        let nth = self.choose(&[0, 0, 1, 2, 5, 11, 40]);
        When::Like(nth, self.choose(&[-1, 0, 0, 0, 1]), within)
    }

    fn edge(&mut self, spans: &[u64]) -> When {
        let (span, steps) = (self.choose(spans), self.choose(&[0, 1, 1, 2, 3, 7]));
        When::Edge(span, steps, self.choose(&[-1, 0, 1]))
    }

    /// A time span, near those of the levels or within one.
    pub(crate) fn delay(&mut self, spans: &[u64]) -> u64 {
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

    pub(crate) fn rule(&mut self, spans: &[u64; 5]) -> Rule {
        match self.below(8) {
            0 => Rule::Remove,
            1..=2 => Rule::Every(self.delay(spans)),
            _ => Rule::Mixed(self.byte(), self.delay(spans)),
        }
    }

    fn budget(&mut self) -> usize {
        self.choose(&[0, 1, 1, 2, 3, 7, 20, 100])
    }

    fn fires(&mut self) -> Budget {
        let work = self.choose(&[1, 5, 40, 1_000, 1_000]);
        Budget::of_work(work).with_fires(self.choose(&[0, 1, 1, 2, 5, 30]))
    }
}
