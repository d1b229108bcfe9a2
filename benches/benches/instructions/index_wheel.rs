//! The instructions of the wheel for indexes of one's own; see `wheel.rs`.

mod counted;
mod steady;

use counted::counted;
use timer_wheel_bench::queue::Indexed;

counted!(index_wheel, Indexed:
    schedule from without_oldest at most 120_300,
    cancel from with_oldest at most 62_900,
    reschedule_to_later from with_random at most 31_400,
    advance_idly from with_oldest at most 16_800,
    expire from about_to_expire at most 329_700,
);
