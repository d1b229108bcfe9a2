//! `bitwheel`, its large and precise wheel with failover: a timer stays in the gear it was put into.
//!
//! It does not cascade, so a timer is as late as its gear is coarse, by seconds at the most.

use std::time::{Duration, Instant};

use bitwheel::timer::{LargePreciseWheelWithFailover, Timer, TimerHandle};

use super::Handles;
use crate::queue::Need::{self, Budget, Clear, Fire, First, Horizon, List, Move, Wake};
use crate::queue::{Order, Queue};

pub struct BitWheel {
    epoch: Instant,
    wheel: Box<LargePreciseWheelWithFailover<Number>>,
    handles: Handles<TimerHandle>,
    fired: Vec<u32>,
}

struct Number(u32);

impl Timer for Number {
    type Context = Vec<u32>;

    #[inline]
    fn fire(&mut self, fired: &mut Vec<u32>) {
        fired.push(self.0);
    }
}

impl BitWheel {
    #[inline]
    fn instant(&self, time: u64) -> Instant {
        self.epoch + Duration::from_nanos(time)
    }
}

impl Queue for BitWheel {
    const NAME: &'static str = "bitwheel";
    const ORDER: Order = Order::Step;
    const LACKS: &'static [Need] = &[Fire, Move, Clear, First, List, Budget, Wake, Horizon];
    type Key = u32;

    fn new(_now: u64) -> Self {
        let epoch = Instant::now();
        Self {
            epoch,
            wheel: LargePreciseWheelWithFailover::boxed_with_epoch(epoch),
            handles: Handles(Vec::new()),
            fired: Vec::new(),
        }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let handle = self.wheel.insert(self.instant(deadline), Number(value));
        self.handles.put(value, handle);
        value
    }

    #[inline]
    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        self.wheel.poll(self.instant(now), &mut self.fired);
        self.fired.drain(..).for_each(|value| fire(now, value));
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        let handle = self.handles.take(key)?;
        self.wheel.cancel(handle).map(|Number(value)| value)
    }
}
