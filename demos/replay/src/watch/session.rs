//! One pass over the trace, at the viewer's pace.

use std::num::NonZeroUsize;

use timer_wheel::{Geometry, Wheel};

use super::tally::Tally;
use crate::cache::{Cache, Policy};
use crate::queue::BudgetedWheel;
use crate::trace::{KeyId, Trace};

/// Requests that are served between two looks at the time.
const REQUESTS_BETWEEN_LOOKS: usize = 256;

/// What every session of a run has in common.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    /// The requests.
    pub(super) trace: &'a Trace,
    /// The rules of the cache.
    pub(super) policy: Policy,
    /// Work units of one call to advance; unbounded without.
    pub(super) budget: Option<NonZeroUsize>,
}

/// The cache, and how far it has come in the trace.
///
/// Invariant: all requests before `next` have been served, and none of the others is earlier than
/// `now_ns`, to which the wheel has been advanced.
pub(super) struct Session<'a, G: Geometry> {
    trace: &'a Trace,
    cache: Cache<BudgetedWheel<G>>,
    next: usize,
    now_ns: u64,
    pub(super) tally: Tally,
}

impl<'a, G: Geometry> Session<'a, G> {
    /// A session at the start of the trace.
    pub(super) fn new(setting: Setting<'a>) -> Self {
        let Setting {
            trace,
            policy,
            budget,
        } = setting;
        let queue = BudgetedWheel::new(trace.start_ns(), budget.unwrap_or(NonZeroUsize::MAX));
        Self {
            trace,
            cache: Cache::new(queue, policy, trace.keys),
            next: 0,
            now_ns: trace.start_ns(),
            tally: Tally::new(),
        }
    }

    /// The wheel.
    pub(super) fn wheel(&self) -> &Wheel<KeyId, G> {
        self.cache.queue().wheel()
    }

    /// The trace's time.
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Whether all requests have been served.
    pub(super) fn is_over(&self) -> bool {
        self.next == self.trace.requests.len()
    }

    /// Serves what arrives up to a time and advances the wheel to it, unless time is up before.
    pub(super) fn run_until(&mut self, time_ns: u64, is_time_up: impl Fn() -> bool) {
        let mut left = REQUESTS_BETWEEN_LOOKS;
        while self.next_request().is_some_and(|at_ns| at_ns <= time_ns) {
            self.serve();
            left -= 1;
            if left == 0 {
                if is_time_up() {
                    return;
                }
                left = REQUESTS_BETWEEN_LOOKS;
            }
        }
        self.advance(time_ns.min(self.trace.end_ns()));
    }

    /// Goes on to the start of the wheel's next tick.
    pub(super) fn run_to_next_tick(&mut self, is_time_up: impl Fn() -> bool) {
        let tick_ns = 1 << G::TICK_BITS;
        self.run_until((self.now_ns / tick_ns + 1) * tick_ns, is_time_up);
    }

    /// Goes on to when the wheel next wants to be advanced, unless time is up before.
    pub(super) fn run_to_wake_up(&mut self, is_time_up: impl Fn() -> bool) {
        let mut wake_ns = self.wake_ns();
        while self.next_request().is_some_and(|at_ns| at_ns < wake_ns) {
            self.serve();
            wake_ns = self.wake_ns();
            if is_time_up() {
                return;
            }
        }
        self.advance(wake_ns.min(self.trace.end_ns()));
    }

    /// The trace's time at which the wheel wants to be advanced; the end of time if it is empty.
    fn wake_ns(&self) -> u64 {
        let delay = self.wheel().expiration_delay();
        delay.map_or(u64::MAX, |delay| self.now_ns.saturating_add(delay))
    }

    /// When the next request arrives.
    fn next_request(&self) -> Option<u64> {
        self.trace
            .requests
            .get(self.next)
            .map(|request| request.at_ns)
    }

    /// Serves the next request.
    fn serve(&mut self) {
        let request = self.trace.requests[self.next];
        self.cache.serve(request, &mut self.tally);
        self.tally.counts.requests += 1;
        self.now_ns = request.at_ns;
        self.next += 1;
    }

    fn advance(&mut self, time_ns: u64) {
        self.cache.advance(time_ns, &mut self.tally);
        self.now_ns = self.now_ns.max(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use timer_wheel::{Caffeine, Millis};

    use super::*;
    use crate::observer::Nobody;
    use crate::queue::PlainWheel;
    use crate::watch::tests::{setting, trace};

    #[test]
    fn watched_cache_does_what_the_unwatched_one_does() {
        let trace = trace();
        let mut unwatched = Cache::new(
            PlainWheel::<Millis>::new(trace.start_ns()),
            setting(&trace).policy,
            trace.keys,
        );
        for &request in &trace.requests {
            unwatched.serve(request, &mut Nobody);
        }
        let mut session = Session::<Millis>::new(setting(&trace));
        let step_ns = (trace.end_ns() - trace.start_ns()) / 777;
        while !session.is_over() {
            session.run_until(session.now_ns() + step_ns, || false);
        }
        assert_eq!(session.cache.counts(), unwatched.counts());
        assert_eq!(session.tally.counts.expired, unwatched.counts().expired);
        assert_eq!(session.tally.counts.requests, trace.requests.len() as u64);
        assert!(session.tally.counts.expired > 0 && session.tally.counts.repeated == 0);
    }

    #[test]
    fn session_whose_time_is_up_stops_and_goes_on_from_there() {
        let trace = trace();
        let mut session = Session::<Millis>::new(setting(&trace));
        session.run_until(u64::MAX, || true);
        assert_eq!(session.next, REQUESTS_BETWEEN_LOOKS);
        assert_eq!(session.now_ns(), trace.requests[session.next - 1].at_ns);
        session.run_until(u64::MAX, || false);
        assert!(session.is_over());
        assert_eq!(session.now_ns(), trace.end_ns());
    }

    #[test]
    fn step_to_the_next_tick_moves_the_finest_cursor_by_one() {
        let trace = trace();
        let mut session = Session::<Caffeine>::new(setting(&trace));
        for _ in 0..80 {
            let cursor = session.wheel().levels()[0].cursor();
            session.run_to_next_tick(|| false);
            assert_eq!(session.wheel().levels()[0].cursor(), (cursor + 1) % 64);
        }
    }

    #[test]
    fn step_to_the_wake_up_serves_what_comes_before_it_and_no_more() {
        let trace = trace();
        let mut session = Session::<Millis>::new(setting(&trace));
        let mut expired = 0;
        while !session.is_over() {
            let before = session.tally.counts;
            session.run_to_wake_up(|| false);
            let after = session.tally.counts;
            assert!(after.calls > before.calls, "nothing happened");
            expired += u64::from(after.expired > before.expired);
        }
        assert!(expired > 100, "{expired} wake-ups fired something");
    }

    #[test]
    fn budget_repeats_calls_and_counts_them() {
        let trace = trace();
        let budget = NonZeroUsize::new(1);
        let mut session = Session::<Millis>::new(Setting {
            budget,
            ..setting(&trace)
        });
        session.run_until(u64::MAX, || false);
        let counts = session.tally.counts;
        assert!(counts.repeated > counts.expired, "{counts:?}");
        assert_eq!(counts.calls - counts.repeated, counts.requests + 1);
    }
}
