//! Scripts: the operations that a wheel and its model are both run through.

use timer_wheel::index::IndexWheel;
use timer_wheel::{Budget, Geometry, Lane};

pub(crate) use crate::bytes::Pick;

/// One operation. Whatever it names that is not there (a timer of an empty wheel) is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Schedule(When),
    /// So many timers from a moment on, a step apart.
    Storm(When, u64, u8),
    Cancel(Pick),
    /// Cancels a timer, leaves so many alone, and so on, in order.
    CancelMany(u8),
    Reschedule(Pick, When),
    /// Reschedules a timer to the moment, leaves so many alone, and so on, in order.
    RescheduleMany(u8, When),
    /// Reschedules a timer, or schedules another if it is gone.
    RescheduleOrInsert(Pick, When),
    /// Timers that come and go: `count` are scheduled, in turn `step` apart, and from the `lag`-th on the oldest is
    /// cancelled for each new one, unless it is a `keep`-th.
    Churn {
        from: When,
        step: u64,
        count: u16,
        lag: u8,
        keep: u8,
    },
    /// Keeps one timer in so many and one, and writes to all values.
    Retain(u8),
    Advance(When),
    /// An advance dropped once so many items were pulled.
    AdvanceDropped(When, u8),
    /// So many calls with a budget, and one: a backlog may be left.
    AdvanceBudgeted(When, Budget, u8),
    /// Calls with a budget of work until no backlog is left.
    AdvanceToEnd(When, usize),
    /// A loop over `peek_expired_with_budget`, with one budget.
    AdvanceWith(When, Budget, Rule),
    /// The same without a budget, up to that timer.
    PeekExpired(When, u8, Rule),
    /// Holds up to so many timers that are due.
    Hold(When, u8),
    /// Puts the held timer of that number back, or whatever the pick names, which is rarely held.
    Release(u8, Pick),
    /// Prepares for a moment, with a budget of work.
    Prepare(When, usize),
    Pop(When),
    /// Takes the earliest timer out, due or not.
    PopFirst,
    /// Looks at the earliest timer, due or not.
    PeekFirst,
    /// Looks at the earliest timer, and schedules so many before it, evenly spread from the clock on.
    Overtake(u8),
    /// Takes the earliest timer out and schedules another, so many times.
    Evict(When, u8),
    /// Pops what is due, and schedules so many into the same moment in between.
    PopAndSchedule(When, u8),
    /// A driver: sleeps for `expiration_delay` if that is at most so long, advances, and so on, so many times.
    Drive(u8, u64),
    Clear,
    /// A drain dropped once so many items were pulled.
    Drain(u8),
    Shrink,
    Reserve(u8),
    Reload(Road),
    /// Lets the order numbers run out after that many more.
    Exhaust(u8),
    /// Writes to a value in place.
    Touch(Pick),
    /// Adds a lane, and names it from then on in whatever schedules or reschedules.
    AddLane,
    /// Names the lane of that number from then on, whether the wheel has it or not; `None` names none.
    Lane(Option<u8>),
}

/// A moment, absolute or as seen from the clock when the operation runs. Saturates at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(u64),
    In(u64),
    Ago(u64),
    /// Next to a boundary of buckets of a span, so many boundaries ahead, and so far from it.
    Edge(u64, u8, i8),
    /// Next to the deadline of the live timer at that place in the order, so far from it, unless that lies more than
    /// so much ahead.
    Like(u8, i8, u64),
}

/// What becomes of each timer that a loop looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Remove,
    /// Again a period after its deadline.
    Every(u64),
    /// A different answer for each, out of a seed and a delay.
    Mixed(u8, u64),
    /// Removes so many and stops at the next.
    Until(u8),
}

/// What becomes of one timer that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Remove,
    Rearm(u64),
    Hold,
    /// It stays due, and the loop ends.
    Stop,
}

/// Where a serialized wheel passes through before it is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Road {
    Straight,
    /// Through a wheel of another geometry.
    Detour,
}

/// A clock to start at and the operations from there.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) start: u64,
    pub(crate) ops: Vec<Op>,
}

/// The most lanes of a wheel.
pub(crate) const MAX_LANES: u8 = 64;

/// The lane of a number, from a wheel that is not the one that is tested.
pub(crate) fn lane(number: u8) -> Lane {
    let mut another = IndexWheel::new(0);
    (0..number).for_each(|_| _ = another.add_lane());
    another.add_lane()
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

impl When {
    /// The moment meant, at a clock, where `like` is the deadline of the timer it refers to.
    pub(crate) fn resolve(self, now: u64, like: impl FnOnce(usize) -> Option<u64>) -> u64 {
        match self {
            Self::At(moment) => moment,
            Self::In(delay) => now.saturating_add(delay),
            Self::Ago(delay) => now.saturating_sub(delay),
            Self::Edge(span, steps, offset) => (now / span)
                .saturating_add(u64::from(steps))
                .saturating_mul(span)
                .saturating_add_signed(i64::from(offset)),
            Self::Like(nth, offset, within) => like(usize::from(nth))
                .unwrap_or(now)
                .saturating_add_signed(i64::from(offset))
                .min(now.saturating_add(within)),
        }
    }
}

impl Rule {
    /// What to do with the `nth` timer that fires in one call.
    pub(crate) fn answer(self, nth: usize, deadline: u64, now: u64) -> Verdict {
        let (seed, delay) = match self {
            Self::Remove => return Verdict::Remove,
            Self::Until(last) if nth == usize::from(last) => return Verdict::Stop,
            Self::Until(_) => return Verdict::Remove,
            Self::Every(period) => return Verdict::Rearm(deadline.saturating_add(period)),
            Self::Mixed(seed, delay) => (usize::from(seed), delay),
        };
        match (seed + nth * (seed | 1)) % 12 {
            0 => Verdict::Rearm(now),
            1 => Verdict::Rearm(deadline),
            2 => Verdict::Rearm(deadline.saturating_sub(delay)),
            3 => Verdict::Rearm(now.saturating_add(1)),
            4 => Verdict::Rearm(u64::MAX),
            5 => Verdict::Rearm(deadline.saturating_add(delay)),
            6..=7 => Verdict::Rearm(now.saturating_add(delay)),
            8 => Verdict::Hold,
            _ => Verdict::Remove,
        }
    }
}
