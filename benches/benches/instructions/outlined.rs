//! The instructions of a `schedule` and a `cancel` that are not inlined, as in a program that calls them in several
//! places; see `wheel.rs`.

mod counted;
mod steady;

use counted::counted;

type Outlined = timer_wheel_bench::queue::OutOfLine<timer_wheel::Wheel<u32>>;

counted!(outlined, Outlined:
    schedule from without_oldest at most 125_100,
    cancel from with_oldest at most 116_700,
);
