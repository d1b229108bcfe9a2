//! How fast the trace's time runs, compared with the viewer's, and what happened in the viewer's last second.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::session::Counts;
use crate::figure::NS_PER_S;

/// A speed: a power of two, so that every key press doubles or halves it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pace(i8);

/// How long a whole trace takes at most, at the speed at which a watch begins.
const SITTING: Duration = Duration::from_secs(120);

impl Pace {
    /// A tick of a microsecond takes a millisecond.
    const SLOWEST: Self = Self(-10);
    /// A year takes half a minute.
    const FASTEST: Self = Self(20);

    /// A speed at which a trace of that length takes one to two minutes.
    pub(super) fn for_trace(length_ns: u64) -> Self {
        let sittings = length_ns.div_ceil(SITTING.as_nanos() as u64).max(1);
        Self(sittings.next_power_of_two().ilog2() as i8).min(Self::FASTEST)
    }

    pub(super) fn faster(self) -> Self {
        Self(self.0 + 1).min(Self::FASTEST)
    }

    pub(super) fn slower(self) -> Self {
        Self(self.0 - 1).max(Self::SLOWEST)
    }

    /// The nanoseconds of the trace that pass in a time of the viewer's.
    pub(super) fn trace_ns(self, real: Duration) -> u64 {
        (real.as_nanos() as f64 * f64::from(self.0).exp2()) as u64
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = if self.0 < 0 { "1/" } else { "" };
        write!(f, "{fraction}{} x", 1_u64 << self.0.unsigned_abs())
    }
}

/// What there was at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The length of the frame, in the viewer's time.
    pub(super) real: Duration,
    pub(super) now_ns: u64,
    pub(super) counts: Counts,
}

/// The samples of about a second, the oldest first.
#[derive(Default)]
pub(super) struct Window(VecDeque<Sample>);

impl Window {
    /// The frames of a second, and the one before them.
    const SAMPLES: usize = 13;

    pub(super) fn push(&mut self, sample: Sample) {
        self.0.truncate(Self::SAMPLES - 1);
        self.0.push_front(sample);
    }

    /// Events a second of the trace, in the order of the counts, once time has passed.
    pub(super) fn rates(&self) -> Option<[f64; 5]> {
        let (last, first) = (self.0.front()?, self.0.back()?);
        let seconds = (last.now_ns - first.now_ns) as f64 / NS_PER_S as f64;
        let rate = |event: usize| (last.counts[event] - first.counts[event]) as f64 / seconds;
        (seconds > 0.0).then(|| std::array::from_fn(rate))
    }

    /// How many times faster than the viewer's time the trace's has passed.
    pub(super) fn speed(&self) -> Option<f64> {
        let (last, first) = (self.0.front()?, self.0.back()?);
        let real: Duration = self.0.iter().map(|sample| sample.real).sum::<Duration>() - first.real;
        (!real.is_zero()).then(|| (last.now_ns - first.now_ns) as f64 / real.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_shows_a_trace_in_two_minutes_at_most_and_stays_within_its_bounds() {
        for seconds in [0, 1, 119, 120, 121, 950, 3_600, 604_800, 31_536_000] {
            let pace = Pace::for_trace(seconds * NS_PER_S);
            let covered = pace.trace_ns(SITTING);
            assert!(covered >= seconds * NS_PER_S, "{seconds}");
            assert!(pace == Pace(0) || covered / 2 <= seconds * NS_PER_S, "{seconds}");
        }
        let fastest = (0..100).fold(Pace(0), |pace, _| pace.faster());
        let slowest = (0..100).fold(Pace(0), |pace, _| pace.slower());
        assert_eq!([fastest, slowest], [Pace::FASTEST, Pace::SLOWEST]);
        assert_eq!([fastest, slowest].map(|pace| pace.to_string()), ["1048576 x", "1/1024 x"]);
        assert_eq!(Pace(-1).trace_ns(Duration::from_nanos(10)), 5);
    }

    #[test]
    fn window_looks_twelve_frames_back() {
        let mut window = Window::default();
        assert_eq!((window.rates(), window.speed()), (None, None));
        for nth in 0..40 {
            window.push(Sample {
                real: Duration::from_millis(100),
                now_ns: nth * NS_PER_S,
                counts: [50 * nth, 0, nth * nth, 0, 0],
            });
            assert_eq!(window.rates().is_none(), nth == 0, "no time has passed");
        }
        let expired = (39.0 * 39.0 - 27.0 * 27.0) / 12.0;
        assert_eq!(window.rates(), Some([50.0, 0.0, expired, 0.0, 0.0]));
        assert_eq!(window.speed().map(f64::round), Some(10.0));
    }
}
