//! How fast the trace's time runs, compared with the viewer's.

use std::fmt;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::NS_PER_S;

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
}
