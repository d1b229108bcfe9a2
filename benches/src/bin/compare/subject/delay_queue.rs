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

use super::{
    Absence, Cancel, NO_BUDGET, NO_COUNT, NO_FIRST, NO_ORDER, OTHER_HORIZON, Queue, Reschedule,
    Subject, Work, ticks,
};
use crate::answer::Promise;
use crate::figure::{self, Workload};

type Fine = Delays<{ ticks::FINE }>;
type Coarse = Delays<{ ticks::COARSE }>;

pub(super) const SUBJECT: Subject = Subject {
    longest: None,
    idle: None,
    ..Subject::unbudgeted::<Fine, Coarse>().lacking(&[
        NO_BUDGET,
        NO_COUNT,
        NO_ORDER,
        NO_FIRST,
        OTHER_HORIZON,
        Absence::new(
            &[
                figure::LONGEST_CALL,
                figure::CALM_LONGEST_CALL,
                figure::TAIL_CALL,
                figure::WHOLE_HOUR,
                figure::IDLE_JUMP,
                figure::IDLE_STEPS,
            ],
            ONE_OF_TWO,
        ),
        Absence::from(
            &[Workload::W10, Workload::W12, Workload::W15, Workload::W16],
            ONE_OF_TWO,
        ),
        Absence::new(
            &[
                figure::WAKE_QUERY,
                figure::WAKE_QUERY_AND_ADVANCE,
                figure::CAFFEINE_WAKE,
            ],
            "it arms a timer of the runtime and tells nobody for when",
        ),
        Absence::new(
            &[figure::CHURN, figure::CHURN_BYTES],
            "so many timers fire before they are cancelled, and their keys are used again",
        ),
    ])
};

const ONE_OF_TWO: &str = "a single call cannot be told from the turn of the runtime that it needs";

struct Delays<const TICK_NS: u64> {
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

    fn new() -> Self {
        let runtime = runtime();
        Self {
            runtime,
            origin: Instant::now(),
            now: 0,
            turns: 0,
            queue: DelayQueue::new(),
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> Key {
        self.queue.insert_at(value, self.instant(deadline))
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u32)) {
        let now = ticks::reached_by::<TICK_NS>(now);
        let elapsed = now.saturating_sub(self.now);
        if elapsed > 0 {
            self.now = now;
            self.turns += 1;
            self.pass(elapsed);
        }
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(expired)) = self.queue.poll_expired(&mut context) {
            fire(expired.into_inner());
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
