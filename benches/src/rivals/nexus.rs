//! `nexus-timer`: its wheel of any deadlines, which moves timers down as it polls, and its queue of timers with one
//! timeout.

use std::time::{Duration, Instant};

use nexus_timer::{TimeoutQueue, TimeoutQueueBuilder, TimerHandle, Wheel, WheelBuilder};

use super::{due_at, reached_by};
use crate::experiments::TTL;
use crate::queue::Need::{self, Budget, Delays, First, Horizon};
use crate::queue::{Order, Queue};

/// One of the two, under its name, with a tick of so many nanoseconds. `$ahead` is by how much its clock is ahead of
/// that of the measurement, `$poll` and `$reschedule` are its calls, the latter without a handle if the timer is gone.
macro_rules! nexus {
    ($queue:ident of $timers:ident, $name:literal, $lacks:expr, $ahead:expr,
     $builder:expr, $poll:ident, $reschedule:expr) => {
        /// The timers, and their handles by value: these can neither be copied nor asked for their timer, so they lie
        /// where a program would keep them.
        pub struct $queue<const TICK_NS: u64> {
            epoch: Instant,
            timers: $timers<u32>,
            handles: Vec<Option<TimerHandle<u32>>>,
            fired: Vec<u32>,
        }

        impl<const TICK_NS: u64> $queue<TICK_NS> {
            /// Times are cut to whole ticks; a nanosecond more makes up for the rounding.
            #[inline]
            fn instant(&self, tick: u64) -> Instant {
                self.epoch + Duration::from_nanos(tick * TICK_NS + 1)
            }
        }

        impl<const TICK_NS: u64> Queue for $queue<TICK_NS> {
            const NAME: &'static str = $name;
            const ORDER: Order = Order::Step;
            const LACKS: &'static [Need] = $lacks;
            type Key = u32;

            fn new(_now: u64) -> Self {
                let epoch = Instant::now();
                let builder = $builder.tick_duration(Duration::from_nanos(TICK_NS)).unbounded(4_096);
                let timers = builder.build(epoch).expect("a sound geometry");
                Self { epoch, timers, handles: Vec::new(), fired: Vec::new() }
            }

            #[inline]
            fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
                let handle = self.timers.schedule(self.instant(due_at::<TICK_NS>(deadline)), value);
                let at = value as usize;
                if at >= self.handles.len() {
                    self.handles.resize_with(at + 1, || None);
                }
                self.handles[at] = Some(handle);
                value
            }

            #[inline]
            fn key_of(&value: &u32) -> Option<u32> {
                Some(value)
            }

            #[inline]
            fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
                let reached = reached_by::<TICK_NS>(now) + due_at::<TICK_NS>($ahead);
                self.timers.$poll(self.instant(reached), &mut self.fired);
                for value in self.fired.drain(..) {
                    if let Some(handle) = self.handles[value as usize].take() {
                        self.timers.free(handle);
                    }
                    fire(now, value);
                }
            }

            #[inline]
            fn cancel(&mut self, key: u32) -> Option<u32> {
                self.timers.cancel(self.handles[key as usize].take()?)
            }

            #[inline]
            fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
                let Some(handle) = self.handles[*key as usize].take() else {
                    return false;
                };
                let time = self.instant(due_at::<TICK_NS>(deadline));
                self.handles[*key as usize] = $reschedule(&mut self.timers, handle, time);
                self.handles[*key as usize].is_some()
            }
        }

        impl<const TICK_NS: u64> Drop for $queue<TICK_NS> {
            /// Every handle is to be given back.
            fn drop(&mut self) {
                self.handles.drain(..).flatten().for_each(|handle| self.timers.free(handle));
            }
        }
    };
}

nexus!(
    Nexus of Wheel, "nexus-timer", &[First, Budget, Horizon], 0, WheelBuilder::default(), poll_and_rebalance,
    |wheel: &mut Wheel<u32>, handle, time| Some(wheel.reschedule(handle, time))
);
// It is told when a timer begins, not when it is due, and its own clock is ahead by as much, so that there is such a
// time for every deadline. It has no reschedule, and says to cancel and schedule.
nexus!(
    NexusTimeouts of TimeoutQueue, "nexus-timeouts", &[Budget, Delays, First, Horizon], TTL,
    TimeoutQueueBuilder::new(Duration::from_nanos(TTL.next_multiple_of(TICK_NS))), poll,
    |queue: &mut TimeoutQueue<u32>, handle, time| queue.cancel(handle).map(|value| queue.schedule(time, value))
);
