//! One pass over the trace, at the viewer's pace.

use std::time::Instant;

use cpu_time::ThreadTime;
use timer_wheel::{Geometry, Wheel};

use crate::cache::{Cache, Counts, Observer, Policy};
use crate::figure::pause;
use crate::trace::{KeyId, Trace};

/// Requests that are served between two checks of the time.
const REQUESTS_BETWEEN_CHECKS: usize = 256;

#[derive(Default)]
pub(super) struct Stopwatch {
    longest_ns: u64,
    /// The longest time during which the machine did something else in the middle of an advance.
    longest_pause_ns: u64,
    /// When the advance that is under way began: on the thread's own clock, and on everybody's.
    begun: Option<(ThreadTime, Instant)>,
}

impl Stopwatch {
    /// The longest advance, and the longest time that the machine did something else meanwhile.
    pub(super) fn longest(&self) -> [String; 2] {
        let words = |ns| if ns == 0 { "none".to_owned() } else { pause(ns as f64) };
        [self.longest_ns, self.longest_pause_ns].map(words)
    }
}

impl Observer for Stopwatch {
    fn advance_begins(&mut self) {
        self.begun = Some((ThreadTime::now(), Instant::now()));
    }

    fn advanced(&mut self, _now_ns: u64) {
        let Some((own, common)) = self.begun.take() else { return };
        let (common, own) = (common.elapsed(), own.elapsed());
        // Reading the thread's clock takes a while, so the other one is right where there was no pause.
        self.longest_ns = self.longest_ns.max(common.min(own).as_nanos() as u64);
        self.longest_pause_ns = self.longest_pause_ns.max(common.saturating_sub(own).as_nanos() as u64);
    }
}

/// The cache, and how far it has come in the trace.
///
/// Invariant: all requests before `next` have been served, and none of the others is earlier than `now_ns`, to
/// which the wheel has been advanced.
pub(super) struct Session<'a, G: Geometry> {
    pub(super) trace: &'a Trace,
    policy: Policy,
    cache: Cache<Wheel<KeyId, G>>,
    next: usize,
    now_ns: u64,
    pub(super) stopwatch: Stopwatch,
}

impl<'a, G: Geometry> Session<'a, G> {
    pub(super) fn new(trace: &'a Trace, policy: Policy) -> Self {
        let queue = Wheel::with_geometry(trace.start_ns());
        Self {
            trace,
            policy,
            cache: Cache::new(queue, policy, trace.keys),
            next: 0,
            now_ns: trace.start_ns(),
            stopwatch: Stopwatch::default(),
        }
    }

    pub(super) fn restart(&mut self) {
        *self = Self::new(self.trace, self.policy);
    }

    pub(super) fn wheel(&self) -> &Wheel<KeyId, G> {
        self.cache.queue()
    }

    pub(super) fn events(&self) -> Counts {
        self.cache.events()
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub(super) fn is_over(&self) -> bool {
        self.next == self.trace.requests.len()
    }

    /// Serves what arrives up to a time and advances the wheel to it; stops earlier at the viewer's time `stop`.
    pub(super) fn run_until(&mut self, time_ns: u64, stop: Instant) {
        let mut served = 0;
        while self.next_request().is_some_and(|at_ns| at_ns <= time_ns) {
            self.serve();
            served += 1;
            if served % REQUESTS_BETWEEN_CHECKS == 0 && Instant::now() >= stop {
                return;
            }
        }
        self.advance(time_ns.min(self.trace.end_ns()));
    }

    pub(super) fn run_to_next_tick(&mut self, stop: Instant) {
        let tick_ns = 1 << G::TICK_BITS;
        self.run_until((self.now_ns / tick_ns + 1) * tick_ns, stop);
    }

    /// Goes on to the wheel's next wake-up; stops earlier at the viewer's time `stop`.
    pub(super) fn run_to_wake_up(&mut self, stop: Instant) {
        let mut wake_ns = self.wake_ns();
        while self.next_request().is_some_and(|at_ns| at_ns < wake_ns) {
            self.serve();
            wake_ns = self.wake_ns();
            if Instant::now() >= stop {
                return;
            }
        }
        self.advance(wake_ns.min(self.trace.end_ns()));
    }

    /// The trace's time of the next wake-up; the end of time if the wheel is empty.
    fn wake_ns(&self) -> u64 {
        let delay = self.wheel().expiration_delay();
        delay.map_or(u64::MAX, |delay| self.now_ns.saturating_add(delay))
    }

    fn next_request(&self) -> Option<u64> {
        self.trace.requests.get(self.next).map(|request| request.at_ns)
    }

    fn serve(&mut self) {
        let request = self.trace.requests[self.next];
        self.cache.serve(request, &mut self.stopwatch);
        self.now_ns = request.at_ns;
        self.next += 1;
    }

    fn advance(&mut self, time_ns: u64) {
        self.cache.advance(time_ns, &mut self.stopwatch);
        self.now_ns = self.now_ns.max(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use timer_wheel::{Caffeine, Millis};

    use super::*;
    use crate::watch::tests::{POLICY, later, trace};

    #[test]
    fn watched_cache_does_what_the_unwatched_one_does() {
        let trace = trace();
        let mut session = Session::<Millis>::new(&trace, POLICY);
        let mut unwatched = Session::<Millis>::new(&trace, POLICY).cache;
        trace.requests.iter().for_each(|&request| unwatched.serve(request, &mut ()));
        while !session.is_over() {
            session.run_until(session.now_ns() + trace.length_ns() / 777, later());
        }
        assert_eq!(session.cache.counts(), unwatched.counts());
    }

    #[test]
    fn session_whose_time_is_up_stops_and_goes_on_from_there() {
        let trace = trace();
        let mut session = Session::<Millis>::new(&trace, POLICY);
        session.run_until(u64::MAX, Instant::now());
        assert_eq!(session.next, REQUESTS_BETWEEN_CHECKS);
        assert_eq!(session.now_ns(), trace.requests[session.next - 1].at_ns);
        session.run_until(u64::MAX, later());
        assert!(session.is_over() && session.now_ns() == trace.end_ns());
    }

    #[test]
    fn steps_go_to_the_next_tick_and_to_the_wake_up() {
        let trace = trace();
        let mut session = Session::<Caffeine>::new(&trace, POLICY);
        for _ in 0..80 {
            let cursor = session.wheel().levels()[0].cursor;
            session.run_to_next_tick(later());
            assert_eq!(session.wheel().levels()[0].cursor, (cursor + 1) % 64);
        }
        let mut session = Session::<Millis>::new(&trace, POLICY);
        let mut firing = 0;
        while !session.is_over() {
            let (now_ns, expired) = (session.now_ns(), session.events().expired);
            session.run_to_wake_up(later());
            let is_firing = session.events().expired > expired;
            assert!(session.now_ns() > now_ns || is_firing, "nothing happened");
            firing += u64::from(is_firing);
        }
        assert!(firing > 100, "{firing} wake-ups fired something");
    }
}
