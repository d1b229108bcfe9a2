//! The program `durable-jobs`. All of it is in the library, so that it is compiled once.

use std::process::ExitCode;

fn main() -> ExitCode {
    durable_jobs::cli::main()
}
