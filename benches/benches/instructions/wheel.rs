//! How many instructions a call takes in the middle of a steady run at 100,000 timers:
//! `cargo bench -p timer-wheel-bench --no-default-features --bench instructions`, and `--bench instructions_index`,
//! `--bench instructions_lane`, `--bench instructions_ttl` and `--bench instructions_clear` for the wheel for indexes
//! of one's own, for timers in a lane, for TTLs by their handles, and for a wheel that is cleared after a peak. A
//! schedule and a cancel are counted in line, and with `--bench instructions_outlined` as functions that are called.
//!
//! Callgrind counts them. The count is the same in every run, however busy the machine is, so a change of a
//! single instruction shows; what a cache miss costs does not. Each benchmark makes a thousand calls, and
//! fails if these take more than the ceiling that stands beside it, a twenty-fifth above the count of rustc 1.95.0.
//! With another compiler set `INSTRUCTIONS_UNLIMITED`. What is inlined depends on all that a program holds: hence one
//! for each queue, and no features.
//!
//! Needs valgrind and gungraun's runner of the version that Cargo.toml names:
//! `cargo install --locked gungraun-runner@0.18.2`. Where one of the two is missing nothing is counted, and
//! the program says so. With `-- --test` the calls are made once, without valgrind, for the sake of their
//! checks.

mod counted;
mod steady;

use counted::counted;

type Wheel = timer_wheel::Wheel<u32>;

counted!(wheel, Wheel:
    schedule from without_oldest at most 98_000,
    cancel from with_oldest at most 102_200,
    reschedule_to_later from with_random at most 33_500,
    advance_idly from with_oldest at most 16_800,
    expire from about_to_expire at most 357_400,
    cancel_and_schedule from full at most 284_900,
);
