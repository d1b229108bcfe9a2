//! Scripts: the operations a wheel and its model are both run through, and their decoding from
//! bytes, biased towards the clocks, deadlines and jumps that broke other wheels.

use timer_wheel::{Budget, Geometry};

/// One operation. Whatever it names that is not there (a timer of an empty wheel) is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Schedule(When),
    /// Many timers at one deadline.
    Bunch {
        at: When,
        count: u8,
    },
    /// Many timers, `step` apart.
    Storm {
        from: When,
        step: u64,
        count: u8,
    },
    /// Bounds the wheel to `room` timers more than it has, then tries that many and one.
    FillToLimit {
        at: When,
        room: u8,
    },
    Cancel(Pick),
    /// Cancels every `stride`-th timer, in order.
    CancelMany {
        stride: u8,
    },
    /// Cancels the last in the order of those that are due, or of all when none is.
    CancelTail {
        count: u8,
    },
    Reschedule(Pick, When),
    /// Timers that come and go: `count` are scheduled, in turn `step` apart, and from the
    /// `lag`-th on the oldest is cancelled for each new one, unless it is a `keep`-th.
    Churn {
        from: When,
        step: u64,
        count: u16,
        lag: u8,
        keep: u8,
    },
    /// Reschedules every `stride`-th timer, round and round, to one moment and back to another.
    Swing {
        stride: u8,
        there: When,
        back: When,
        count: u16,
    },
    /// Postpones or advances every `stride`-th timer to one deadline.
    RescheduleMany {
        stride: u8,
        to: When,
    },
    /// Sets a timer that may have fired.
    Set(Pick, When),
    /// Keeps every `stride`-th timer, and writes to all values.
    Retain {
        stride: u8,
    },
    Advance(When),
    /// An advance dropped once `taken` items were pulled.
    AdvanceDropped {
        to: When,
        taken: u8,
    },
    /// At most `calls` budgeted calls: a backlog may be left.
    AdvanceBudgeted {
        to: When,
        budget: usize,
        calls: u8,
    },
    /// Budgeted calls until no backlog is left.
    AdvanceToEnd {
        to: When,
        budget: usize,
    },
    /// One call of `advance_with`.
    AdvanceWith {
        to: When,
        budget: usize,
        rule: Rule,
    },
    /// One call whose budget bounds work and fires apart.
    AdvanceFires {
        to: When,
        budget: Budget,
    },
    /// One call of `advance_with` whose budget bounds work and fires apart.
    AdvanceWithFires {
        to: When,
        budget: Budget,
        rule: Rule,
    },
    /// One call of `advance_with` that is stopped at a timer.
    AdvanceUntil {
        to: When,
        budget: Budget,
        nth: u8,
    },
    Pop(When),
    /// A loop over `peek_expired` that stops at a timer, each looked at twice.
    PeekExpired {
        to: When,
        nth: u8,
        rule: Rule,
    },
    /// Takes the earliest timer out, due or not.
    PopFirst,
    /// Looks at the earliest timer, due or not.
    PeekFirst,
    /// Takes the earliest timer out and schedules another, time and again.
    Evict {
        at: When,
        count: u8,
    },
    /// Pops what is due, and schedules into the same moment in between.
    PopAndSchedule {
        to: When,
        count: u8,
    },
    /// A driver: sleeps for `expiration_delay` when that is at most `within`, advances, and so on.
    Drive {
        wake_ups: u8,
        within: u64,
    },
    Clear,
    /// A drain dropped once `taken` items were pulled.
    Drain {
        taken: u8,
    },
    Shrink,
    Reserve(u8),
    Reload(Road),
    /// Lets the order numbers run out after that many more.
    Exhaust(u8),
    /// Writes to a value in place.
    Touch(Pick),
}

/// A moment, absolute or as seen from the clock when the operation runs. Saturates at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(u64),
    In(u64),
    Ago(u64),
    /// Next to a boundary of buckets of `span` nanoseconds, `steps` boundaries ahead.
    Edge {
        span: u64,
        steps: u8,
        offset: i8,
    },
    /// Next to the deadline of the live timer at that place in the order, unless that lies more
    /// than `within` ahead.
    Like {
        nth: u8,
        offset: i8,
        within: u64,
    },
}

/// A timer to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The live timer at that place in the order of the contract.
    Live(u8),
    /// Any key ever given out, counted back from the latest; most are stale.
    Any(u16),
}

/// What `advance_with` answers for each timer that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Remove,
    /// Again a period after its deadline.
    Every(u64),
    /// A different answer for each, out of a seed.
    Mixed {
        seed: u8,
        delay: u64,
    },
}

/// Where a serialized wheel passes through before it is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Road {
    Straight,
    /// Through a wheel of another geometry.
    Detour,
}

/// A way of reading an operation: missing bytes count as zero.
pub(crate) type Read = fn(&mut Decoder<'_>, &[u64; 5]) -> Op;

/// A clock to start at and the operations from there.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) start: u64,
    pub(crate) ops: Vec<Op>,
}

/// The nanoseconds one bucket covers on each of the five levels.
pub(crate) const fn spans<G: Geometry>() -> [u64; 5] {
    let [first, second, third, fourth] = G::LEVEL_BITS;
    let tick = 1 << G::TICK_BITS;
    [
        tick,
        tick << first,
        tick << (first + second),
        tick << (first + second + third),
        tick << (first + second + third + fourth),
    ]
}

impl Script {
    /// Reads a start and operations until the bytes run out, at most `limit` of them.
    pub(crate) fn decode(bytes: &[u8], spans: &[u64; 5], limit: usize) -> Self {
        Self::decode_by(Op::decode, bytes, spans, limit)
    }

    /// As [`Script::decode`], with another way of reading an operation.
    pub(crate) fn decode_by(read: Read, bytes: &[u8], spans: &[u64; 5], limit: usize) -> Self {
        let mut decoder = Decoder { bytes };
        let start = decoder.clock(spans);
        let mut ops = Vec::new();
        let mut left = limit;
        while !decoder.bytes.is_empty() && left > 0 {
            let op = read(&mut decoder, spans);
            left = left.saturating_sub(op.size());
            ops.push(op);
        }
        Self { start, ops }
    }
}

impl When {
    /// The moment meant, at a clock, where `like` is the deadline of the timer it refers to.
    pub(crate) fn resolve(self, now: u64, like: impl FnOnce(usize) -> Option<u64>) -> u64 {
        match self {
            Self::At(moment) => moment,
            Self::In(delay) => now.saturating_add(delay),
            Self::Ago(delay) => now.saturating_sub(delay),
            Self::Edge {
                span,
                steps,
                offset,
            } => (now / span)
                .saturating_add(u64::from(steps))
                .saturating_mul(span)
                .saturating_add_signed(i64::from(offset)),
            Self::Like {
                nth,
                offset,
                within,
            } => like(usize::from(nth))
                .unwrap_or(now)
                .saturating_add_signed(i64::from(offset))
                .min(now.saturating_add(within)),
        }
    }
}

impl Op {
    /// What it counts for in the length of a script: bursts by the calls that they are made of,
    /// which are only partly compared.
    fn size(&self) -> usize {
        match *self {
            Self::Churn { count, .. } | Self::Swing { count, .. } => 1 + usize::from(count) / 32,
            _ => 1,
        }
    }

    /// Reads one operation; missing bytes count as zero.
    pub(crate) fn decode(decoder: &mut Decoder<'_>, spans: &[u64; 5]) -> Self {
        match decoder.below(64) {
            0..=15 => Self::Schedule(decoder.deadline(spans)),
            16..=17 => Self::Bunch {
                at: decoder.deadline(spans),
                count: decoder.choose(&[2, 3, 8, 15, 16, 17, 31, 32, 33, 34, 63, 65, 100]),
            },
            18..=19 => Self::Storm {
                from: decoder.deadline(spans),
                step: decoder.delay(spans),
                count: decoder.below(40),
            },
            20 => Self::FillToLimit {
                at: decoder.deadline(spans),
                room: decoder.below(4),
            },
            21..=24 => Self::Cancel(decoder.pick()),
            25 => match decoder.below(2) {
                0 => Self::CancelMany {
                    stride: decoder.below(8),
                },
                _ => Self::CancelTail {
                    count: decoder.choose(&[1, 5, 20, 50, 80, 200]),
                },
            },
            26..=32 => Self::Reschedule(decoder.pick(), decoder.deadline(spans)),
            33 => Self::RescheduleMany {
                stride: decoder.below(8),
                to: decoder.deadline(spans),
            },
            34..=37 => Self::Advance(decoder.jump(spans)),
            38..=40 => Self::AdvanceDropped {
                to: decoder.jump(spans),
                taken: decoder.choose(&[0, 1, 1, 2, 4, 16, 50]),
            },
            41..=44 => Self::AdvanceBudgeted {
                to: decoder.jump(spans),
                budget: decoder.budget(),
                calls: decoder.below(4),
            },
            45..=46 => Self::AdvanceToEnd {
                to: decoder.jump(spans),
                budget: decoder.budget(),
            },
            47..=50 => Self::AdvanceWith {
                to: decoder.jump(spans),
                budget: decoder.choose(&[0, 1, 2, 7, 40, usize::MAX, usize::MAX]),
                rule: decoder.rule(spans),
            },
            51..=53 => Self::Pop(decoder.jump(spans)),
            54..=55 => Self::PopAndSchedule {
                to: decoder.jump(spans),
                count: decoder.below(8),
            },
            56..=57 => Self::Drive {
                wake_ups: decoder.below(24),
                within: decoder.reach(spans),
            },
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
            12 => Self::Set(decoder.pick(), decoder.deadline(spans)),
            13 => Self::Retain {
                stride: decoder.below(4),
            },
            8 => Self::AdvanceUntil {
                to: decoder.jump(spans),
                budget: decoder.fires(),
                nth: decoder.below(20),
            },
            9..=11 => Self::PeekExpired {
                to: decoder.jump(spans),
                nth: decoder.choose(&[0, 1, 2, 5, 30, u8::MAX]),
                rule: decoder.rule(spans),
            },
            0 => Self::PeekFirst,
            1..=2 => Self::PopFirst,
            3..=4 => Self::Evict {
                at: decoder.deadline(spans),
                count: decoder.choose(&[2, 5, 9, 33]),
            },
            5..=6 => Self::AdvanceFires {
                to: decoder.jump(spans),
                budget: decoder.fires(),
            },
            _ => Self::AdvanceWithFires {
                to: decoder.jump(spans),
                budget: decoder.fires(),
                rule: decoder.rule(spans),
            },
        }
    }

    /// What empties the wheel, and so must not come often.
    fn rare(decoder: &mut Decoder<'_>) -> Self {
        match decoder.below(4) {
            0 => Self::Clear,
            1 => Self::Drain {
                taken: decoder.choose(&[0, 1, 3, u8::MAX]),
            },
            _ => Self::Shrink,
        }
    }
}

/// Reads choices from bytes.
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

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
    pub(crate) fn deadline(&mut self, spans: &[u64; 5]) -> When {
        match self.below(16) {
            0 => When::Ago(self.delay(spans)),
            1 => self.choose(&[
                When::At(0),
                When::At(1),
                When::At(u64::MAX),
                When::At(u64::MAX - 1),
                When::In(1 << 61),
            ]),
            2..=3 => self.like(u64::MAX),
            4..=7 => self.edge(spans),
            _ => When::In(self.delay(spans)),
        }
    }

    /// A moment to advance to: mostly near, so that the script does not end at the end of time.
    pub(crate) fn jump(&mut self, spans: &[u64; 5]) -> When {
        const FAR: [When; 5] = [
            When::In(1 << 31),
            When::In(1 << 32),
            When::In(1 << 61),
            When::In(1 << 62),
            When::At(u64::MAX),
        ];
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
        When::Like {
            nth: self.choose(&[0, 0, 1, 2, 5, 11, 40]),
            offset: self.choose(&[-1, 0, 0, 0, 1]),
            within,
        }
    }

    pub(crate) fn edge(&mut self, spans: &[u64]) -> When {
        When::Edge {
            span: self.choose(spans),
            steps: self.choose(&[0, 1, 1, 2, 3, 7]),
            offset: self.choose(&[-1, 0, 1]),
        }
    }

    /// A time span, near those of the levels or within one.
    pub(crate) fn delay(&mut self, spans: &[u64]) -> u64 {
        match self.below(8) {
            0 => u64::from(self.below(3)),
            1..=2 => {
                let span = self
                    .choose(spans)
                    .saturating_mul(self.choose(&[1, 1, 2, 3]));
                span.saturating_add_signed(self.choose(&[-1, 0, 1]))
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
            _ => Rule::Mixed {
                seed: self.byte(),
                delay: self.delay(spans),
            },
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

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        first
    }

    pub(crate) fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    pub(crate) fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}
