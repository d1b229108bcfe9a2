//! How many instructions a call takes in the middle of a steady run at 100,000 timers:
//! `cargo bench -p timer-wheel-bench --bench instructions`.
//!
//! Callgrind counts them. The count is the same in every run, however busy the machine is, so a change of a
//! single instruction shows; what a cache miss costs does not. Each benchmark makes a thousand calls, and
//! fails if these take more than a thousand times the limit of one.
//!
//! Needs valgrind and gungraun's runner of the version that Cargo.toml names:
//! `cargo install --locked gungraun-runner@0.18.2`. Where one of the two is missing nothing is counted, and
//! the program says so. With `-- --test` the calls are made once, without valgrind, for the sake of their
//! checks.

mod counted;
mod steady;

use std::process::{Command, Stdio};

use steady::Steady;

fn main() {
    let is_given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if is_given("--test") {
        check();
    } else if is_given("--gungraun-run") || can_count() {
        count();
    }
}

/// Has everything counted, and ends the program with an error if something is beyond its limit. The macro
/// stands in this file because gungraun knows a benchmark by the file of its `main`.
fn count() {
    use counted::steady_run;
    gungraun::main!(library_benchmark_groups = steady_run);
    main();
}

/// Makes the calls and lets what they leave fire.
fn check() {
    Steady::without_oldest().schedule().check();
    Steady::with_oldest().cancel().check();
    Steady::with_random().reschedule_to_later().check();
    Steady::with_oldest().advance_idly().check();
}

/// Whether all is there that counting takes.
fn can_count() -> bool {
    let runner = option_env!("GUNGRAUN_RUNNER").unwrap_or("gungraun-runner");
    ["valgrind", runner].into_iter().all(|program| {
        let version = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if version.is_err() {
            println!("instructions: not counted, as there is no {program}");
        }
        version.is_ok()
    })
}
