//! The instructions of a `clear` and of a drop after a peak, for each timer that is live: slots that were in use once
//! must not count. See `wheel.rs`.

mod counted;
mod steady;

use counted::counted;

type Wheel = timer_wheel::Wheel<u32>;

counted!(wheel_after_a_peak, Wheel: clear from after_peak at most 142_100, discard from after_peak at most 84_800);
