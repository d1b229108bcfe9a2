//! `nexus-timer`: its wheel of any deadlines, which moves timers down as it polls, and its queue of timers with one timeout.

use std::time::{Duration, Instant};

use nexus_timer::{TimeoutQueue, TimeoutQueueBuilder, TimerHandle, Wheel, WheelBuilder};

use super::{Handles, due_at, reached_by};
use crate::experiments::TTL;
use crate::queue::Need::{self, Budget, Clear, Delays, First, Horizon};
use crate::queue::{Order, Queue};

/// The wheel and the handles of its timers, with a tick of so many nanoseconds.
pub struct Nexus<const TICK_NS: u64> {
    epoch: Instant,
    wheel: Wheel<u32>,
    handles: Handles<TimerHandle<u32>>,
    fired: Vec<u32>,
}

impl<const TICK_NS: u64> Nexus<TICK_NS> {
    /// Deadlines are cut to whole ticks by the wheel; a nanosecond more makes up for its rounding.
    #[inline]
    fn instant(&self, time: u64) -> Instant {
        self.epoch + Duration::from_nanos(time.next_multiple_of(TICK_NS) + 1)
    }
}

impl<const TICK_NS: u64> Queue for Nexus<TICK_NS> {
    const NAME: &'static str = "nexus-timer";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Clear, First, Budget, Horizon];
    type Key = u32;

    fn new(_now: u64) -> Self {
        let epoch = Instant::now();
        let tick = WheelBuilder::default().tick_duration(Duration::from_nanos(TICK_NS));
        Self {
            epoch,
            wheel: tick.unbounded(4_096).build(epoch).expect("a sound geometry"),
            handles: Handles(Vec::new()),
            fired: Vec::new(),
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let handle = self.wheel.schedule(self.instant(deadline), value);
        self.handles.put(value, handle);
        value
    }

    #[inline]
    fn key_of(&value: &u32) -> Option<u32> {
        Some(value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        let reached = self.epoch + Duration::from_nanos(now + 1);
        self.wheel.poll_and_rebalance(reached, &mut self.fired);
        for value in self.fired.drain(..) {
            if let Some(handle) = self.handles.take(value) {
                self.wheel.free(handle);
            }
            fire(now, value);
        }
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.wheel.cancel(self.handles.take(key)?)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let Some(handle) = self.handles.take(*key) else {
            return false;
        };
        let handle = self.wheel.reschedule(handle, self.instant(deadline));
        self.handles.put(*key, handle);
        true
    }
}

impl<const TICK_NS: u64> Drop for Nexus<TICK_NS> {
    /// The wheel wants every handle back.
    fn drop(&mut self) {
        for handle in self.handles.0.drain(..).flatten() {
            self.wheel.free(handle);
        }
    }
}

/// The queue of one timeout and the handles of its timers, with a tick of so many nanoseconds.
///
/// It is told when a timer begins, not when it is due: as many ticks before that as the timeout has. Its clock is ahead of
/// that of the measurement by as many, so that there is such a time for every deadline.
pub struct NexusTimeouts<const TICK_NS: u64> {
    epoch: Instant,
    queue: TimeoutQueue<u32>,
    handles: Handles<TimerHandle<u32>>,
    fired: Vec<u32>,
}

impl<const TICK_NS: u64> NexusTimeouts<TICK_NS> {
    const TICKS: u64 = TTL.div_ceil(TICK_NS);

    /// A nanosecond more makes up for its rounding.
    #[inline]
    fn instant(&self, tick: u64) -> Instant {
        self.epoch + Duration::from_nanos(tick * TICK_NS + 1)
    }
}

impl<const TICK_NS: u64> Queue for NexusTimeouts<TICK_NS> {
    const NAME: &'static str = "nexus-timeouts";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Budget, Clear, Delays, First, Horizon];
    type Key = u32;

    fn new(_now: u64) -> Self {
        let epoch = Instant::now();
        let timeout = TimeoutQueueBuilder::new(Duration::from_nanos(Self::TICKS * TICK_NS));
        let timeout = timeout.tick_duration(Duration::from_nanos(TICK_NS)).unbounded(4_096);
        let queue = timeout.build(epoch).expect("a timeout and a tick");
        Self { epoch, queue, handles: Handles(Vec::new()), fired: Vec::new() }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let handle = self.queue.schedule(self.instant(due_at::<TICK_NS>(deadline)), value);
        self.handles.put(value, handle);
        value
    }

    #[inline]
    fn key_of(&value: &u32) -> Option<u32> {
        Some(value)
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        self.queue.poll(self.instant(reached_by::<TICK_NS>(now) + Self::TICKS), &mut self.fired);
        for value in self.fired.drain(..) {
            if let Some(handle) = self.handles.take(value) {
                self.queue.free(handle);
            }
            fire(now, value);
        }
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.queue.cancel(self.handles.take(key)?)
    }

    /// It has no such call, and says to cancel and schedule.
    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let is_live = self.cancel(*key).is_some();
        if is_live {
            self.schedule(deadline, *key);
        }
        is_live
    }
}

impl<const TICK_NS: u64> Drop for NexusTimeouts<TICK_NS> {
    /// The queue wants every handle back.
    fn drop(&mut self) {
        for handle in self.handles.0.drain(..).flatten() {
            self.queue.free(handle);
        }
    }
}
