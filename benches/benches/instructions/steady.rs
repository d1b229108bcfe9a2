//! A wheel in the middle of a steady run, and a thousand calls of each operation on it.

use std::collections::HashSet;
use std::hint::black_box;

use timer_wheel::{TimerKey, Wheel};
use timer_wheel_bench::workload::{SECOND, STEP, XorShift64Star};

/// How many calls are counted at one go.
pub(crate) const CALLS: usize = 1_000;
/// How many timers are live.
const N: usize = 100_000;
const TIMEOUT: u64 = 30 * SECOND;
/// Turns between two advances.
const BATCH: usize = 100;

/// A wheel in use as for requests with a timeout: the oldest is cancelled, a new one is scheduled, and time
/// goes on, until each that there was at first has been replaced twice.
pub(crate) struct Steady {
    wheel: Wheel<u32>,
    now: u64,
    /// Those that the calls are about, with their values.
    chosen: Vec<(TimerKey, u32)>,
}

impl Steady {
    /// The oldest are chosen.
    pub(crate) fn with_oldest() -> Self {
        let mut wheel = Wheel::new(0);
        let mut now = 0;
        let mut keys: Vec<TimerKey> = (0..N as u32)
            .map(|value| wheel.schedule(TIMEOUT, value))
            .collect();
        for turn in 0..2 * N {
            let (oldest, value) = (&mut keys[turn % N], (turn % N) as u32);
            assert_eq!(wheel.cancel(*oldest), Some(value));
            *oldest = wheel.schedule(now + TIMEOUT, value);
            if turn % BATCH == BATCH - 1 {
                now += STEP;
                assert_eq!(wheel.advance(now).count(), 0);
            }
        }
        let chosen = keys.into_iter().zip(0..).take(CALLS).collect();
        Self { wheel, now, chosen }
    }

    /// The oldest are cancelled, and about to begin again.
    pub(crate) fn without_oldest() -> Self {
        Self::with_oldest().cancel()
    }

    /// Some are chosen anywhere.
    pub(crate) fn with_random() -> Self {
        let mut steady = Self::with_oldest();
        let order = XorShift64Star::new().permutation(N as u32);
        let all = steady.wheel.iter().map(|timer| (timer.key, *timer.value));
        let all: Vec<_> = all.collect();
        let chosen = order.iter().map(|&at| all[at as usize]);
        steady.chosen = chosen.take(CALLS).collect();
        steady
    }

    #[inline(always)]
    pub(crate) fn schedule(mut self) -> Self {
        let deadline = black_box(self.now + TIMEOUT);
        for (key, value) in &mut self.chosen {
            *key = self.wheel.schedule(deadline, *value);
        }
        self
    }

    #[inline(always)]
    pub(crate) fn cancel(mut self) -> Self {
        for &(key, value) in &self.chosen {
            assert_eq!(self.wheel.cancel(key), Some(value));
        }
        self
    }

    #[inline(always)]
    pub(crate) fn reschedule_to_later(mut self) -> Self {
        let deadline = black_box(self.now + TIMEOUT);
        for &(key, _) in &self.chosen {
            assert!(self.wheel.reschedule(key, deadline));
        }
        self
    }

    /// Nothing is due, and the tick does not end.
    #[inline(always)]
    pub(crate) fn advance_idly(mut self) -> Self {
        let now = black_box(self.now);
        for ahead in 0..CALLS as u64 {
            assert!(self.wheel.advance(now + ahead).next().is_none());
        }
        self
    }

    /// That every live timer fires, and has its value.
    pub(crate) fn check(mut self) {
        self.wheel.check_invariants();
        let live = self.wheel.len();
        let values: HashSet<u32> = self
            .wheel
            .advance(self.now + TIMEOUT)
            .map(|timer| timer.value)
            .collect();
        assert!(values.len() == live && (live == N || live == N - CALLS));
    }
}
