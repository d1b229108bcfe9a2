//! `tokio_util::time::DelayQueue`, polled by hand on a paused clock.
//!
//! It keeps time in milliseconds; here one of them stands for a tick of the wheel it is compared with.
//! The queue learns of the time from the runtime's timers only, so the runtime has to be turned at
//! every advance, which takes longer than what the queue does in most of them. That is not charged:
//! after a measurement as many turns with nothing to do are timed, and taken off. Deadlines are
//! handed over as instants: from durations the queue would read the clock.

use std::cell::Cell;
use std::mem;
use std::task::{Context, Poll, Waker};
use std::time::{self, Duration};

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::ticks;
use crate::queue::{Cancel, Promise, Queue, Reschedule, Work};

/// The queue, with a tick of so many nanoseconds.
#[derive(Debug)]
pub struct Delays<const TICK_NS: u64> {
    runtime: &'static Runtime,
    origin: Instant,
    now: u64,
    turns: u32,
    queue: DelayQueue<u32>,
}

thread_local! {
    static RUNTIME: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

/// The runtime of this thread, which stays entered for as long as the thread lives: entering it anew
/// for every operation would be charged to the queue.
fn runtime() -> &'static Runtime {
    RUNTIME.get().unwrap_or_else(|| {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O asks nothing of the system");
        let runtime: &'static Runtime = Box::leak(Box::new(runtime));
        mem::forget(runtime.enter());
        RUNTIME.set(Some(runtime));
        runtime
    })
}

impl<const TICK_NS: u64> Delays<TICK_NS> {
    /// Lets so many ticks pass, and the runtime notice.
    #[inline]
    fn pass(&self, ticks: u64) {
        let elapsed = Duration::from_millis(ticks);
        self.runtime.block_on(tokio::time::advance(elapsed));
    }

    #[inline]
    fn instant(&self, deadline: u64) -> Instant {
        self.origin + Duration::from_millis(ticks::due_at::<TICK_NS>(deadline))
    }
}

impl<const TICK_NS: u64> Queue for Delays<TICK_NS> {
    const NAME: &'static str = "delayqueue";
    const PROMISE: Promise = Promise::StepOrder;
    const WORK: Work = Work::Untold;
    type Key = Key;

    fn new(now: u64) -> Self {
        let runtime = runtime();
        let mut queue = Self {
            runtime,
            origin: Instant::now(),
            now: 0,
            turns: 0,
            queue: DelayQueue::new(),
        };
        queue.advance(now, |_, _| ());
        queue
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> Key {
        self.queue.insert_at(value, self.instant(deadline))
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        let now = ticks::reached_by::<TICK_NS>(now);
        let elapsed = now.saturating_sub(self.now);
        if elapsed > 0 {
            self.now = now;
            self.turns += 1;
            self.pass(elapsed);
        }
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(expired)) = self.queue.poll_expired(&mut context) {
            fire(self.now * TICK_NS, expired.into_inner());
        }
    }

    fn clock_cost(&mut self) -> Duration {
        let start = time::Instant::now();
        for _ in 0..mem::take(&mut self.turns) {
            self.pass(0);
        }
        start.elapsed()
    }
}

impl<const TICK_NS: u64> Cancel for Delays<TICK_NS> {
    const REFUSES_STALE_KEYS: bool = false;

    #[inline]
    fn cancel(&mut self, key: Key) -> Option<u32> {
        self.queue
            .try_remove(&key)
            .map(|expired| expired.into_inner())
    }
}

impl<const TICK_NS: u64> Reschedule for Delays<TICK_NS> {
    #[inline]
    fn reschedule(&mut self, key: &mut Key, deadline: u64) -> bool {
        let when = self.instant(deadline);
        self.queue.reset_at(key, when);
        true
    }
}
