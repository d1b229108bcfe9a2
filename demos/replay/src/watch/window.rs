//! The last second of watching, from which rates and recent pauses are taken.

use std::collections::VecDeque;
use std::time::Duration;

use super::tally::{Counts, Pause};
use crate::figure::NS_PER_S;

/// How far back it looks, in the viewer's time.
const LENGTH: Duration = Duration::from_secs(1);

/// What stood at the end of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// How long the frame was, in the viewer's time.
    pub(super) real: Duration,
    /// The trace's time.
    pub(super) now_ns: u64,
    pub(super) counts: Counts,
    /// The longest call of the frame.
    pub(super) pause: Pause,
}

/// Events a second of the trace.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rates {
    pub(super) requests: f64,
    pub(super) scheduled: f64,
    pub(super) rescheduled: f64,
    pub(super) cancelled: f64,
    pub(super) expired: f64,
}

/// The samples of the last second, the oldest first, and the one before them.
#[derive(Default)]
pub(super) struct Window(VecDeque<Sample>);

impl Window {
    /// Adds a frame, and forgets those that are too old.
    pub(super) fn push(&mut self, sample: Sample) {
        self.0.push_back(sample);
        let mut real = Duration::ZERO;
        let within = |sample: &&Sample| {
            real += sample.real;
            real <= LENGTH
        };
        let kept = self.0.iter().rev().take_while(within).count() + 1;
        self.0.drain(..self.0.len().saturating_sub(kept));
    }

    /// The longest call.
    pub(super) fn pause(&self) -> Pause {
        let pauses = self.0.iter().map(|sample| sample.pause);
        pauses.max().unwrap_or_default()
    }

    /// The rates, once time has passed.
    pub(super) fn rates(&self) -> Option<Rates> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let seconds = (last.now_ns - first.now_ns) as f64 / NS_PER_S as f64;
        let rate = |of: fn(&Counts) -> u64| (of(&last.counts) - of(&first.counts)) as f64 / seconds;
        (seconds > 0.0).then(|| Rates {
            requests: rate(|counts| counts.requests),
            scheduled: rate(|counts| counts.scheduled),
            rescheduled: rate(|counts| counts.rescheduled),
            cancelled: rate(|counts| counts.cancelled),
            expired: rate(|counts| counts.expired),
        })
    }

    /// How many times faster than the viewer's time the trace's has passed.
    pub(super) fn speed(&self) -> Option<f64> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let real: Duration = self.0.iter().skip(1).map(|sample| sample.real).sum();
        (!real.is_zero()).then(|| (last.now_ns - first.now_ns) as f64 / real.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(nth: u64) -> Sample {
        Sample {
            real: Duration::from_millis(100),
            now_ns: nth * NS_PER_S,
            counts: Counts {
                requests: 50 * nth,
                expired: nth * nth,
                ..Counts::default()
            },
            pause: Pause {
                ns: 1_000 - nth,
                fired: nth,
            },
        }
    }

    #[test]
    fn window_looks_one_second_back() {
        let mut window = Window::default();
        assert_eq!((window.rates(), window.speed()), (None, None));
        for nth in 0..40 {
            window.push(frame(nth));
        }
        // Frames 30 to 39 make a second, from the end of frame 29 on.
        let rates = window.rates().unwrap();
        assert_eq!((rates.requests, rates.scheduled), (50.0, 0.0));
        assert_eq!(rates.expired, (39.0 * 39.0 - 29.0 * 29.0) / 10.0);
        assert_eq!(window.speed().map(f64::round), Some(10.0));
        assert_eq!(window.pause().fired, 29);
    }

    #[test]
    fn window_in_which_no_time_passed_has_no_rates() {
        let mut window = Window::default();
        window.push(frame(3));
        window.push(frame(3));
        assert_eq!(window.rates(), None);
    }
}
