//! The instructions of a wheel with all timers in one lane; see `wheel.rs`.

mod counted;
mod steady;

use counted::counted;

type Lane = timer_wheel_bench::queue::InLane<u32>;

counted!(lane, Lane:
    schedule from without_oldest at most 91_400,
    cancel from with_oldest at most 103_400,
    reschedule_to_later from with_random at most 101_100,
    expire from about_to_expire at most 94_100,
);
