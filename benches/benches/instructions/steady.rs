//! A queue in the middle of a steady run, and a thousand calls of each operation on it.
#![allow(dead_code, reason = "not every program counts all of it")]

use std::hint::black_box;

use timer_wheel_bench::queue::{Queue, filled_with_keys};
use timer_wheel_bench::workload::{SECOND, STEP, XorShift64Star};

/// How many calls are counted at one go.
pub(crate) const CALLS: usize = 1_000;
/// How many timers are live.
pub(crate) const N: usize = 100_000;
const TIMEOUT: u64 = 30 * SECOND;
/// Turns between two advances.
const BATCH: usize = 100;

/// A queue in use as for requests with a timeout: the oldest is cancelled, a new one is scheduled, and time
/// goes on, until each that there was at first has been replaced twice.
pub(crate) struct Steady<Q: Queue> {
    queue: Q,
    now: u64,
    /// When the first of all fire.
    earliest: u64,
    /// Those that the calls are about, with their values.
    chosen: Vec<(Q::Key, u32)>,
    live: usize,
}

impl<Q: Queue> Steady<Q> {
    /// One for all states: what is inlined depends on from how many places a call is made.
    fn new(order: Vec<u32>) -> Self {
        let (mut queue, mut keys): (Q, _) = filled_with_keys(&[TIMEOUT; N]);
        let mut now = 0;
        for turn in 0..2 * N {
            let (oldest, value) = (&mut keys[turn % N], (turn % N) as u32);
            assert_eq!(queue.cancel(*oldest), Some(value));
            *oldest = queue.schedule(now + TIMEOUT, value);
            if turn % BATCH == BATCH - 1 {
                now += STEP;
                queue.advance(now, |_, _| unreachable!("nothing is due"));
            }
        }
        let chosen = order.into_iter().take(CALLS);
        Self {
            queue,
            now,
            earliest: now + TIMEOUT - (N / BATCH) as u64 * STEP,
            chosen: chosen.map(|at| (keys[at as usize], at)).collect(),
            live: N,
        }
    }

    /// The oldest are chosen.
    pub(crate) fn with_oldest() -> Self {
        Self::new((0..N as u32).collect())
    }

    /// The oldest are cancelled, and about to begin again.
    pub(crate) fn without_oldest() -> Self {
        Self::with_oldest().cancel()
    }

    /// Some are chosen anywhere.
    pub(crate) fn with_random() -> Self {
        Self::new(XorShift64Star::new().permutation(N as u32))
    }

    /// Time has come to the tick before the one in which the oldest are due.
    pub(crate) fn about_to_expire() -> Self {
        let mut steady = Self::with_oldest();
        while steady.now + STEP < steady.earliest {
            steady.now += STEP;
            steady.queue.advance(steady.now, |_, _| unreachable!("nothing is due"));
        }
        steady
    }

    /// As many are live as are counted at one go, and there were far more.
    pub(crate) fn after_peak() -> Self {
        let mut steady = Self::about_to_expire();
        while steady.live > CALLS {
            steady.now += STEP;
            steady.queue.advance(steady.now, |_, _| steady.live -= 1);
        }
        assert_eq!(steady.live, CALLS);
        steady
    }

    #[inline(always)]
    pub(crate) fn schedule(mut self) -> Self {
        let deadline = black_box(self.now + TIMEOUT);
        for (key, value) in &mut self.chosen {
            *key = self.queue.schedule(deadline, *value);
        }
        self.live += CALLS;
        self
    }

    #[inline(always)]
    pub(crate) fn cancel(mut self) -> Self {
        for &(key, value) in &self.chosen {
            assert_eq!(self.queue.cancel(key), Some(value));
        }
        self.live -= CALLS;
        self
    }

    #[inline(always)]
    pub(crate) fn reschedule_to_later(mut self) -> Self {
        let deadline = black_box(self.now + TIMEOUT);
        for (key, _) in &mut self.chosen {
            assert!(self.queue.reschedule(key, deadline));
        }
        self
    }

    /// Nothing is due, and the tick does not end.
    #[inline(always)]
    pub(crate) fn advance_idly(mut self) -> Self {
        let now = black_box(self.now);
        for ahead in 0..CALLS as u64 {
            self.queue.advance(now + ahead, |_, _| unreachable!("nothing is due"));
        }
        self
    }

    /// A tick at a time, until as many have fired.
    #[inline(always)]
    pub(crate) fn expire(mut self) -> Self {
        let mut fired = 0;
        while fired < CALLS {
            self.now += STEP;
            self.queue.advance(self.now, |_, _| fired += 1);
        }
        assert_eq!(fired, CALLS);
        self.live -= CALLS;
        self
    }

    #[inline(always)]
    pub(crate) fn clear(mut self) -> Self {
        self.queue.clear();
        self.live = 0;
        self
    }

    /// The queue is dropped with all that is live.
    #[inline(always)]
    pub(crate) fn discard(mut self) -> Self {
        drop(black_box(std::mem::replace(&mut self.queue, Q::new(0))));
        self.live = 0;
        self
    }

    /// That every live timer fires, and has a value of its own.
    pub(crate) fn check(mut self) {
        let mut seen = vec![false; N];
        let mut fired = 0;
        self.queue.advance(self.now + TIMEOUT, |_, value| {
            assert!(!std::mem::replace(&mut seen[value as usize], true));
            fired += 1;
        });
        assert_eq!(fired, self.live);
    }
}
