//! All that is on the screen at one moment, as plain values.

use timer_wheel::Geometry;
use timer_wheel::inspect::Level;

use super::pace::Pace;
use super::session::Session;
use super::tally::{Counts, Pause};
use super::window::{Rates, Window};
use crate::trace::Trace;

/// Whether the trace's time is passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It is.
    Running,
    /// The viewer has stopped it.
    Paused,
    /// The trace has come to its end.
    Over,
}

/// One level of the wheel that has buckets.
#[derive(Clone, Debug)]
pub(super) struct LevelView {
    pub(super) number: usize,
    /// Nanoseconds that a bucket spans.
    pub(super) span_ns: u64,
    /// The bucket that the wheel has come to.
    pub(super) cursor: usize,
    /// The timers in each bucket.
    pub(super) buckets: Vec<usize>,
}

impl LevelView {
    /// What the wheel shows of a level; nothing of the far timers, which have no buckets.
    fn of(level: &Level<'_>) -> Option<Self> {
        Some(Self {
            number: level.number(),
            span_ns: level.bucket_span()?,
            cursor: level.cursor(),
            buckets: level.buckets().collect(),
        })
    }

    /// The timers on the level.
    pub(super) fn timers(&self) -> usize {
        self.buckets.iter().sum()
    }

    /// The buckets that hold timers.
    pub(super) fn occupied(&self) -> usize {
        self.buckets.iter().filter(|&&timers| timers != 0).count()
    }
}

/// The timers that are not in the buckets of a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    /// Beyond the last level.
    pub(super) far: usize,
    /// In no bucket: in order already, to fire next.
    pub(super) ready: usize,
}

/// All that is on the screen.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) state: State,
    pub(super) is_help_open: bool,
    pub(super) pace: Pace,
    /// How many times the viewer's time it really is, when the machine cannot keep the pace.
    pub(super) reached: Option<f64>,
    /// Time since the trace began.
    pub(super) elapsed_ns: u64,
    /// How long the trace is.
    pub(super) length_ns: u64,
    /// The levels that have buckets, the finest first.
    pub(super) levels: Vec<LevelView>,
    pub(super) elsewhere: Elsewhere,
    pub(super) timers: usize,
    /// How long until the wheel wants to be advanced.
    pub(super) delay_ns: Option<u64>,
    pub(super) bytes: usize,
    pub(super) counts: Counts,
    pub(super) rates: Option<Rates>,
    pub(super) longest: Pause,
    pub(super) recent: Pause,
}

/// What a view shows beside the session.
pub(super) struct Around<'a> {
    pub(super) title: &'a str,
    pub(super) state: State,
    pub(super) is_help_open: bool,
    pub(super) pace: Pace,
    pub(super) reached: Option<f64>,
    pub(super) window: &'a Window,
}

impl View {
    /// A session as it stands.
    pub(super) fn new<G: Geometry>(
        trace: &Trace,
        session: &Session<'_, G>,
        around: &Around<'_>,
    ) -> Self {
        let wheel = session.wheel();
        let stats = wheel.stats();
        let levels = wheel.levels();
        let on_levels: usize = levels.iter().map(Level::timers).sum();
        Self {
            title: around.title.to_owned(),
            state: around.state,
            is_help_open: around.is_help_open,
            pace: around.pace,
            reached: around.reached,
            elapsed_ns: session.now_ns() - trace.start_ns(),
            length_ns: trace.end_ns() - trace.start_ns(),
            levels: levels.iter().filter_map(LevelView::of).collect(),
            elsewhere: Elsewhere {
                far: levels.last().map_or(0, Level::timers),
                ready: wheel.len() - on_levels,
            },
            timers: stats.timers,
            delay_ns: wheel.expiration_delay(),
            bytes: stats.bytes,
            counts: session.tally.counts,
            rates: around.window.rates(),
            longest: session.tally.longest(),
            recent: around.window.pause(),
        }
    }
}
