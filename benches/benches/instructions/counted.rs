//! A queue, and the calls that are counted on it, as gungraun has them, with the program around.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::ceiling;

/// Makes the program of a queue: `counted!(group, queue: call from state, ...)`. The macro of gungraun has to
/// stand in the file that has `main`, by which it knows a benchmark.
macro_rules! counted {
    ($group:ident, $queue:ident: $($call:ident from $state:ident),+ $(,)?) => {
        mod calls {
            #![expect(unreachable_pub, reason = "gungraun's macros make public functions")]

            use std::hint::black_box;

            use gungraun::prelude::*;

            use super::$queue;
            use crate::ceiling::ceiling;
            use crate::steady::Steady;

            $(
                #[library_benchmark(config = ceiling(stringify!($group), stringify!($call)))]
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

        fn main() -> std::process::ExitCode {
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
pub(crate) fn run(check: impl FnOnce(), count: impl FnOnce()) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let place = |flag: &str| arguments.iter().position(|argument| argument == flag);
    if place("--test").is_some() {
        check();
    } else if let Some(flag) = place("--json") {
        let path = arguments.get(flag + 1).map(Path::new);
        let path = path.ok_or_else(|| "expected a file after --json".to_owned());
        if let Err(error) = path.and_then(ceiling::keep) {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    } else if place("--gungraun-run").is_some() || can_count() {
        count();
    }
    ExitCode::SUCCESS
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
