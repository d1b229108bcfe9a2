//! The instructions of the wheel for indexes of one's own; see `wheel.rs`.

mod ceiling;
mod counted;
mod steady;

use counted::counted;
use timer_wheel_bench::queue::Indexed;

counted!(index_wheel, Indexed:
    schedule from without_oldest,
    cancel from with_oldest,
    reschedule_to_later from with_random,
    advance_idly from with_oldest,
    expire from about_to_expire,
);
