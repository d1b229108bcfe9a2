//! The one tokio timer that a queue sleeps on.

use std::boxed::Box;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::delay_queue::timeline::Timeline;

/// The longest sleep that is requested from tokio, whose own timers reach two years ahead. The queue then checks the
/// time, and sleeps on.
const LONGEST_SLEEP: Duration = Duration::from_secs(365 * 86_400);

/// A tokio timer, made when it is first needed and reset from then on.
///
/// Invariant: there is one while it is set.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The wheel's time for which it is set. `None` when it is not, or has fired.
    set_for: Option<u64>,
}

impl Alarm {
    /// Whether it does not fire by that time.
    #[inline]
    pub(super) fn is_too_late_for(&self, time: u64) -> bool {
        match self.set_for {
            Some(set_for) => time < set_for,
            None => true,
        }
    }

    /// Whether it has been set for that time and has not been found to fire.
    #[inline]
    pub(super) fn is_set_for(&self, time: u64) -> bool {
        self.set_for == Some(time)
    }

    /// Waits until `time`, or less if that is far ahead.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime that keeps time.
    pub(super) fn poll_until(&mut self, time: u64, timeline: Timeline, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_set_for(time) {
            self.set(time, timeline);
        }
        let sleep = self.sleep.as_mut().expect("it has just been set");
        // A dropped runtime fires its timers, and tokio panics when one of them is polled.
        let rung = if sleep.is_elapsed() { Poll::Ready(()) } else { sleep.as_mut().poll(cx) };
        if rung.is_ready() {
            self.set_for = None;
        }
        rung
    }

    /// Takes the timer away from tokio.
    pub(super) fn cancel(&mut self) {
        *self = Self::default();
    }

    fn set(&mut self, time: u64, timeline: Timeline) {
        let instant = timeline.instant(time).min(Instant::now() + LONGEST_SLEEP);
        match &mut self.sleep {
            Some(sleep) if !sleep.is_elapsed() => sleep.as_mut().reset(instant),
            // In the runtime of this poll, because that of the last one may have been dropped.
            Some(sleep) => sleep.set(sleep_until(instant)),
            None => self.sleep = Some(Box::pin(sleep_until(instant))),
        }
        self.set_for = Some(time);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn alarm_asks_no_more_than_a_year_of_tokio() {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime needs nothing from the system");
        runtime.block_on(async {
            let mut alarm = Alarm::default();
            let timeline = Timeline::from_now();
            for time in [u64::MAX, u64::MAX / 2] {
                let poll = |cx: &mut Context<'_>| Poll::Ready(alarm.poll_until(time, timeline, cx));
                assert!(poll_fn(poll).await.is_pending());
                assert!(alarm.is_set_for(time));
                let sleep = alarm.sleep.as_ref().expect("it is set");
                assert_eq!(sleep.deadline() - Instant::now(), LONGEST_SLEEP);
            }
            alarm.cancel();
            assert!(alarm.sleep.is_none() && alarm.is_too_late_for(u64::MAX));
        });
    }
}
