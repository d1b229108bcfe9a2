//! Operations out of bytes, biased towards the clocks, deadlines and jumps that broke other wheels.

use timer_wheel::Budget;

pub(crate) use crate::bytes::Decoder;
use crate::script::{Op, Pick, Road, Rule, Script, When};

/// A way of reading an operation: missing bytes count as zero.
pub(crate) type Read = fn(&mut Decoder<'_>, &[u64; 5]) -> Op;

impl Script {
    /// Reads a start and operations until the bytes run out, at most `limit` of them.
    pub(crate) fn decode_by(read: Read, bytes: &[u8], spans: &[u64; 5], limit: usize) -> Self {
        let mut decoder = Decoder(bytes);
        let start = decoder.clock(spans);
        let mut ops = Vec::new();
        let mut left = limit;
        while !decoder.is_at_end() && left > 0 {
            let op = read(&mut decoder, spans);
            left = left.saturating_sub(op.size());
            ops.push(op);
        }
        Self { start, ops }
    }
}

impl Op {
    /// Reads one operation of any kind.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        match decoder.below(64) {
            0..=15 => Self::Schedule(decoder.deadline(spans)),
            16..=17 => {
                let counts = [2, 3, 8, 15, 16, 17, 31, 32, 33, 34, 63, 65, 100];
                Self::Storm(decoder.deadline(spans), 0, decoder.choose(&counts))
            }
            18..=19 => Self::Storm(decoder.deadline(spans), decoder.delay(spans), decoder.below(40)),
            20 => Self::Storm(decoder.deadline(spans), 0, decoder.below(4)),
            21..=24 => Self::Cancel(decoder.pick()),
            25 => Self::CancelMany(decoder.below(8)),
            26..=32 => Self::Reschedule(decoder.pick(), decoder.deadline(spans)),
            33 => Self::RescheduleMany(decoder.below(8), decoder.deadline(spans)),
            34..=37 => Self::Advance(decoder.jump(spans)),
            38..=40 => Self::AdvanceDropped(decoder.jump(spans), decoder.choose(&[0, 1, 1, 2, 4, 16, 50])),
            41..=44 => Self::AdvanceBudgeted(decoder.jump(spans), Budget::of_work(decoder.budget()), decoder.below(4)),
            45..=46 => Self::AdvanceToEnd(decoder.jump(spans), decoder.budget()),
            47..=50 => {
                let work = [0, 1, 2, 7, 40, usize::MAX, usize::MAX];
                let (to, work) = (decoder.jump(spans), decoder.choose(&work));
                Self::AdvanceWith(to, Budget::of_work(work), decoder.rule(spans))
            }
            51..=53 => Self::Pop(decoder.jump(spans)),
            54..=55 => Self::PopAndSchedule(decoder.jump(spans), decoder.below(8)),
            56..=57 => Self::Drive(decoder.below(24), decoder.reach(spans)),
            58 => Self::rare(decoder),
            59 => Self::Shrink,
            60 => Self::Reserve(decoder.byte()),
            61 => Self::Reload(decoder.choose(&[Road::Straight, Road::Detour])),
            62 => Self::Touch(decoder.pick()),
            _ => Self::first_or_fires(decoder, spans),
        }
    }

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

    pub(crate) fn pick(&mut self) -> Pick {
        match self.below(8) {
            0 => Pick::Any(u16::from(self.byte())),
            1 => Pick::Any(u16::from(self.byte()) << 3),
            _ => Pick::Live(self.byte()),
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
