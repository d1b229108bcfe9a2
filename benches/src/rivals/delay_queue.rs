//! `tokio_util::time::DelayQueue`, polled by hand on a paused clock.
//!
//! It keeps time in milliseconds; here one of them stands for a tick of the wheel it is compared with. It learns the
//! time from the runtime's timers only, so the runtime has to be turned at every advance, which takes longer than the
//! queue does in most of them. That is not charged: as many turns with nothing to do are timed and taken off. Deadlines
//! are handed over as instants: from durations the queue would read the clock.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{self, Duration};

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::{due_at, reached_by};
use crate::queue::Need::{self, Budget, First, Horizon, SingleCalls};
use crate::queue::{Order, Queue};

/// The queue, with a tick of so many nanoseconds.
#[derive(Debug)]
pub struct Delays<const TICK_NS: u64> {
    runtime: &'static Runtime,
    origin: Instant,
    now: u64,
    turns: u32,
    woken: Arc<Woken>,
    queue: DelayQueue<u32>,
}

/// Whether the queue has asked to be polled again, as one does that bounds the work of a poll.
#[derive(Debug, Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

thread_local! {
    /// The runtime of this thread, which stays entered: entering it for every operation would be charged to the queue.
    static RUNTIME: &'static Runtime = {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime: &Runtime = Box::leak(Box::new(runtime.expect("a runtime without I/O asks nothing of the system")));
        mem::forget(runtime.enter());
        runtime
    };
}

impl<const TICK_NS: u64> Delays<TICK_NS> {
    /// Lets so many ticks pass, and the runtime notice.
    #[inline]
    fn pass(&self, ticks: u64) {
        self.runtime.block_on(tokio::time::advance(Duration::from_millis(ticks)));
    }

    #[inline]
    fn instant(&self, deadline: u64) -> Instant {
        self.origin + Duration::from_millis(due_at::<TICK_NS>(deadline))
    }
}

impl<const TICK_NS: u64> Queue for Delays<TICK_NS> {
    const NAME: &'static str = "delayqueue";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[SingleCalls, First, Budget, Horizon];
    type Key = Key;

    fn new(_now: u64) -> Self {
        let (runtime, queue) = (RUNTIME.with(|runtime| *runtime), DelayQueue::new());
        Self { runtime, origin: Instant::now(), now: 0, turns: 0, woken: Arc::default(), queue }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key {
        self.queue.insert_at(value, self.instant(deadline))
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        let now = reached_by::<TICK_NS>(now);
        let elapsed = now.saturating_sub(self.now);
        if elapsed > 0 {
            self.now = now;
            self.turns += 1;
            self.pass(elapsed);
        }
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut context = Context::from_waker(&waker);
        loop {
            match self.queue.poll_expired(&mut context) {
                Poll::Ready(Some(expired)) => fire(self.now * TICK_NS, expired.into_inner()),
                _ if self.woken.0.swap(false, Ordering::Relaxed) => {}
                _ => break,
            }
        }
    }

    fn clock_cost(&mut self) -> Duration {
        let start = time::Instant::now();
        (0..mem::take(&mut self.turns)).for_each(|_| self.pass(0));
        start.elapsed()
    }

    #[inline]
    fn cancel(&mut self, key: Self::Key) -> Option<u32> {
        self.queue.try_remove(&key).map(|expired| expired.into_inner())
    }

    #[inline]
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool {
        let when = self.instant(deadline);
        self.queue.reset_at(key, when);
        true
    }
}
