//! A queue in the middle of a steady run, and a thousand calls of each operation on it.
#![allow(dead_code, reason = "not every program counts all of it")]

use std::hint::black_box;

use timer_wheel_bench::queue::Queue;
use timer_wheel_bench::workload::{SECOND, STEP, XorShift64Star};

/// How many calls are counted at one go.
pub(crate) const CALLS: usize = 1_000;
/// How many timers are live.
pub(crate) const N: usize = 100_000;
const TIMEOUT: u64 = 30 * SECOND;
/// Turns between two advances.
const BATCH: usize = 100;
/// As many as fill a whole number of pages of slots, 256 each.
const FULL: usize = N.next_multiple_of(256);

/// A queue in use as for requests with a timeout: the oldest is cancelled, a new one is scheduled, and time
/// goes on, until each that there was at first has been replaced twice.
pub(crate) struct Steady<Q: Queue> {
    queue: Q,
    now: u64,
    /// When the first of all fire.
    earliest: u64,
    /// Those that the calls are about, with their values.
    chosen: Vec<(Q::Key, u32)>,
    /// Room for the keys of those that begin again, with their values.
    begun: Vec<(Option<Q::Key>, u32)>,
    live: usize,
}

/// The only place of a program that schedules: so the compiler puts the function here, in line.
#[inline(never)]
fn schedule_each<Q: Queue>(queue: &mut Q, deadline: u64, timers: &mut [(Option<Q::Key>, u32)]) {
    for (key, value) in timers {
        *key = Some(queue.schedule(deadline, *value));
    }
}

/// The only place that cancels.
#[inline(never)]
fn cancel_each<Q: Queue>(queue: &mut Q, timers: &[(Q::Key, u32)]) {
    for &(key, value) in timers {
        assert_eq!(queue.cancel(key), Some(value));
    }
}

fn under_key<K>((key, value): (Option<K>, u32)) -> (K, u32) {
    (key.expect("it was scheduled"), value)
}

impl<Q: Queue> Steady<Q> {
    fn new(order: Vec<u32>) -> Self {
        let mut queue = Q::new(0);
        let mut timers: Vec<(Option<Q::Key>, u32)> = (0..N as u32).map(|value| (None, value)).collect();
        schedule_each(&mut queue, TIMEOUT, &mut timers);
        let mut now = 0;
        for turn in 0..2 * N {
            let oldest = turn % N;
            cancel_each(&mut queue, &[under_key(timers[oldest])]);
            schedule_each(&mut queue, now + TIMEOUT, &mut timers[oldest..=oldest]);
            if turn % BATCH == BATCH - 1 {
                now += STEP;
                queue.advance(now, |_, _| unreachable!("nothing is due"));
            }
        }
        let chosen: Vec<_> = order.into_iter().take(CALLS).map(|at| under_key(timers[at as usize])).collect();
        Self {
            queue,
            now,
            earliest: now + TIMEOUT - (N / BATCH) as u64 * STEP,
            begun: chosen.iter().map(|&(_, value)| (None, value)).collect(),
            chosen,
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

    /// The oldest are chosen, and no slot is free.
    pub(crate) fn full() -> Self {
        let mut steady = Self::with_oldest();
        let mut more: Vec<_> = (N as u32..FULL as u32).map(|value| (None, value)).collect();
        schedule_each(&mut steady.queue, steady.now + TIMEOUT, &mut more);
        steady.live = FULL;
        steady
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
        schedule_each(&mut self.queue, self.now + TIMEOUT, &mut self.begun);
        self.live += CALLS;
        self
    }

    #[inline(always)]
    pub(crate) fn cancel(mut self) -> Self {
        cancel_each(&mut self.queue, &self.chosen);
        self.live -= CALLS;
        self
    }

    /// The slot that a cancel frees is the only one that the schedule after it can take.
    #[inline(always)]
    pub(crate) fn cancel_and_schedule(mut self) -> Self {
        for (chosen, begun) in self.chosen.iter().zip(&mut self.begun) {
            cancel_each(&mut self.queue, std::slice::from_ref(chosen));
            schedule_each(&mut self.queue, self.now + TIMEOUT, std::slice::from_mut(begun));
        }
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
        let mut seen = vec![false; FULL];
        let mut fired = 0;
        self.queue.advance(self.now + TIMEOUT, |_, value| {
            assert!(!std::mem::replace(&mut seen[value as usize], true));
            fired += 1;
        });
        assert_eq!(fired, self.live);
    }
}
