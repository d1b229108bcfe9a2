//! The time by which TTLs count: one for the whole cluster, carried on by the log.
//!
//! A wall clock that is wrong must not expire anything, so wall clocks are read as rarely as can be. The
//! leader stamps each command with the *time of the cluster*. A node takes that up from the stamps it
//! receives and carries it on by its monotonic clock, so the next leader goes on where the last one was,
//! whatever its wall clock says. While a process is down its machine's wall clock tells how long
//! that was: the difference between two readings of one clock, not between clocks. That may still be wrong, if
//! the clock was set meanwhile; so a node that was started takes the time from those whom it asks for their
//! votes, and expires and stamps nothing before most of them have elected it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use timer_wheel::clock::SystemClock;

pub(crate) const NS_PER_MS: u64 = 1_000_000;

/// What a node writes down with its log, to know after a start how long it was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The time of the cluster, in nanoseconds since 1970.
    pub time_ns: u64,
    /// What the wall clock of this machine said then, in microseconds.
    pub wall_us: u64,
}

/// The time of the cluster, as one node knows it.
///
/// Invariants: it goes forward by what elapses on the monotonic clock, and at a stamp by `skew` more at
/// most. It goes back only before it is [settled](Self::settle).
pub struct Clock {
    monotonic_ns: Box<dyn Fn() -> u64 + Send + Sync>,
    wall_us: Box<dyn Fn() -> u64 + Send + Sync>,
    skew_ns: u64,
    time: Mutex<Time>,
}

#[derive(Debug, Default)]
struct Time {
    /// The time of the cluster when the monotonic clock was at `since_ns`.
    base_ns: u64,
    since_ns: u64,
    /// What is certainly over, by what was written down last.
    floor_ns: u64,
    /// Whether others have told what time it is, as far as they will.
    is_settled: bool,
}

impl Clock {
    /// The time as it is after a start, by these clocks and the last reading of them.
    pub fn new(
        monotonic_ns: impl Fn() -> u64 + Send + Sync + 'static,
        wall_us: impl Fn() -> u64 + Send + Sync + 'static,
        last: Option<Reading>,
        skew: Duration,
    ) -> Self {
        let now_us = wall_us();
        let base_ns = match last {
            // A wall clock that went back says nothing: the time stood still.
            Some(last) => {
                let elapsed_us = now_us.saturating_sub(last.wall_us);
                last.time_ns.saturating_add(elapsed_us.saturating_mul(1_000))
            }
            None => now_us.saturating_mul(1_000),
        };
        let since_ns = monotonic_ns();
        Self {
            monotonic_ns: Box::new(monotonic_ns),
            wall_us: Box::new(wall_us),
            skew_ns: u64::try_from(skew.as_nanos()).unwrap_or(u64::MAX),
            time: Mutex::new(Time { base_ns, since_ns, floor_ns: last.map_or(0, |it| it.time_ns), is_settled: false }),
        }
    }

    /// The same by the clocks of this machine, whose wall clock is so many seconds ahead.
    pub fn system(last: Option<Reading>, skew: Duration, ahead_s: i64) -> Self {
        let wall_us = move || wall_us_now().saturating_add_signed(ahead_s.saturating_mul(1_000_000));
        let monotonic = SystemClock::new();
        Self::new(move || monotonic.now(), wall_us, last, skew)
    }

    pub fn now_ns(&self) -> u64 {
        self.now(&self.time.lock())
    }

    /// The time in milliseconds, rounded up, so that a TTL that begins then does not end early.
    pub fn stamp_ms(&self) -> u64 {
        self.now_ns().div_ceil(NS_PER_MS)
    }

    /// What to write down.
    pub(crate) fn reading(&self) -> Reading {
        // In this order: what passes between the two is time that a start does not add.
        Reading { time_ns: self.now_ns(), wall_us: (self.wall_us)() }
    }

    /// Takes up the stamp of an entry that was received: it is at least so late.
    ///
    /// However late that is, the time moves by the skew at most. A stamp is rounded up, so its millisecond
    /// counts as not over, or each change of the lead would add a part of one.
    pub fn receive(&self, stamp_ms: u64) {
        let stamp_ns = stamp_ms.saturating_sub(1).saturating_mul(NS_PER_MS);
        let mut time = self.time.lock();
        time.is_settled = true;
        let now_ns = self.now(&time);
        if stamp_ns > now_ns {
            time.base_ns += stamp_ns.min(now_ns.saturating_add(self.skew_ns)) - now_ns;
        }
    }

    /// Takes down what time it is on another node. If that is much earlier and this one has only its wall
    /// clock to go by, that was set forward, or the other's back; too late is the lesser harm.
    pub fn hear(&self, their_ns: u64) {
        let mut time = self.time.lock();
        if !time.is_settled && self.now(&time) > their_ns.saturating_add(self.skew_ns) {
            (time.base_ns, time.since_ns) = (their_ns.max(time.floor_ns), (self.monotonic_ns)());
        }
    }

    /// Nobody puts the time back from now on, because this node leads.
    pub fn settle(&self) {
        self.time.lock().is_settled = true;
    }

    fn now(&self, time: &Time) -> u64 {
        let elapsed_ns = (self.monotonic_ns)().saturating_sub(time.since_ns);
        time.base_ns.saturating_add(elapsed_ns)
    }
}

pub fn wall_us_now() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use timer_wheel::clock::ManualClock;

    const HOUR: Duration = Duration::from_secs(3_600);
    const SKEW: Duration = Duration::from_secs(1);

    /// A machine whose wall clock can be set.
    struct Machine {
        wall_us: Arc<AtomicU64>,
        monotonic: ManualClock,
    }

    impl Machine {
        fn at(wall: Duration) -> Self {
            let machine = Self { wall_us: Arc::default(), monotonic: ManualClock::new() };
            machine.set(wall);
            machine
        }

        fn set(&self, wall: Duration) {
            self.wall_us.store(u64::try_from(wall.as_micros()).unwrap(), Ordering::Relaxed);
        }

        /// A process starts, with what the last one wrote down.
        fn start(&self, last: Option<Reading>) -> Clock {
            let (wall_us, monotonic) = (Arc::clone(&self.wall_us), self.monotonic.clone());
            Clock::new(move || monotonic.now(), move || wall_us.load(Ordering::Relaxed), last, SKEW)
        }

        fn pass(&self, time: Duration) {
            let us = u64::try_from(time.as_micros()).unwrap();
            self.wall_us.fetch_add(us, Ordering::Relaxed);
            self.monotonic.advance(time);
        }
    }

    fn now(clock: &Clock) -> Duration {
        Duration::from_nanos(clock.now_ns())
    }

    #[test]
    fn time_goes_on_through_a_start_by_what_the_wall_clock_says_elapsed() {
        let machine = Machine::at(100 * HOUR);
        let clock = machine.start(None);
        machine.pass(HOUR);
        // Those who lead are two hours behind, and so is the time.
        clock.hear(u64::try_from((99 * HOUR).as_nanos()).unwrap());
        let last = clock.reading();
        machine.set(104 * HOUR);
        let clock = machine.start(Some(last));
        assert_eq!(now(&clock), 102 * HOUR);
        // A wall clock that was set back says nothing.
        machine.set(50 * HOUR);
        assert_eq!(now(&machine.start(Some(last))), 99 * HOUR);
    }

    #[test]
    fn stamp_moves_the_time_by_what_elapsed_and_the_skew_at_most() {
        let machine = Machine::at(100 * HOUR);
        let clock = machine.start(None);
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap();
        clock.receive(ms(102 * HOUR));
        assert_eq!(now(&clock), 100 * HOUR + SKEW);
        machine.pass(HOUR);
        clock.receive(u64::MAX);
        assert_eq!(now(&clock), 101 * HOUR + 2 * SKEW);
        // An old one says nothing, one that is a little later is taken up.
        clock.receive(ms(100 * HOUR));
        clock.receive(0);
        assert_eq!(now(&clock), 101 * HOUR + 2 * SKEW);
        let later = 101 * HOUR + 2 * SKEW + SKEW / 2;
        clock.receive(ms(later));
        assert_eq!(now(&clock), later - Duration::from_millis(1));
    }

    #[test]
    fn clock_that_was_set_ahead_while_down_is_put_right_by_one_that_was_not() {
        let machine = Machine::at(100 * HOUR);
        let last = machine.start(None).reading();
        machine.set(102 * HOUR);
        let clock = machine.start(Some(last));
        let theirs = 100 * HOUR + SKEW;
        clock.hear(u64::try_from(theirs.as_nanos()).unwrap());
        assert_eq!(now(&clock), theirs);
        clock.settle();
        // What was over stays over.
        let other = machine.start(Some(last));
        other.hear(0);
        assert_eq!(now(&other), 100 * HOUR);
        // From now on nobody puts it back.
        clock.hear(0);
        assert_eq!(now(&clock), theirs);
    }

    #[test]
    fn rounding_adds_nothing_however_often_the_lead_changes() {
        let machines = [Machine::at(HOUR), Machine::at(HOUR)];
        let clocks = machines.each_ref().map(|machine| machine.start(None));
        for nth in 0..10_000 {
            for machine in &machines {
                machine.pass(Duration::from_nanos(100_001));
            }
            clocks[(nth + 1) % 2].receive(clocks[nth % 2].stamp_ms());
        }
        let elapsed = 10_000 * Duration::from_nanos(100_001);
        for clock in &clocks {
            assert_eq!(now(clock), HOUR + elapsed);
        }
    }
}
