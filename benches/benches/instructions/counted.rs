//! A queue, and the calls that are counted on it, as gungraun has them, with the program around.

use std::process::{Command, Stdio};

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};

/// Fails a thousand calls that take more instructions, unless they were counted with another compiler.
pub(crate) fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    if std::env::var_os("INSTRUCTIONS_UNLIMITED").is_none() {
        let mut callgrind = Callgrind::default();
        callgrind.hard_limits([(EventKind::Ir, instructions)]);
        config.tool(callgrind);
    }
    config
}

/// Makes the program of a queue: `counted!(group, queue: call from state at most instructions, ...)`. The macro of
/// gungraun has to stand in the file that has `main`, by which it knows a benchmark.
macro_rules! counted {
    ($group:ident, $queue:ident: $($call:ident from $state:ident at most $limit:literal),+ $(,)?) => {
        mod calls {
            #![expect(unreachable_pub, reason = "gungraun's macros make public functions")]

            use std::hint::black_box;

            use gungraun::prelude::*;

            use super::$queue;
            use crate::counted::at_most;
            use crate::steady::Steady;

            $(
                #[library_benchmark(config = at_most($limit))]
                #[bench::thousand(setup = Steady::<$queue>::$state)]
                fn $call(steady: Steady<$queue>) -> Steady<$queue> {
                    black_box(steady).$call()
                }
            )+

            /// Makes the calls, and lets what they leave fire.
            pub fn check() {
                $( Steady::<$queue>::$state().$call().check(); )+
            }

            library_benchmark_group!(name = $group, benchmarks = [$($call),+]);
        }

        fn main() {
            crate::counted::run(calls::check, || {
                use calls::$group;
                gungraun::main!(library_benchmark_groups = $group);
                main();
            })
        }
    };
}
pub(crate) use counted;

/// Does what the command line says.
pub(crate) fn run(check: impl FnOnce(), count: impl FnOnce()) {
    let is_given = |flag: &str| std::env::args().any(|argument| argument == flag);
    if is_given("--test") {
        check();
    } else if is_given("--gungraun-run") || can_count() {
        count();
    }
}

/// Whether all is there that counting takes.
fn can_count() -> bool {
    let runner = option_env!("GUNGRAUN_RUNNER").unwrap_or("gungraun-runner");
    ["valgrind", runner].into_iter().all(|program| {
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if version.is_err() {
            println!("instructions: not counted, as there is no {program}");
        }
        version.is_ok()
    })
}
