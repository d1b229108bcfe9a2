//! The program `raft-ttl`. All of it is in the library, so that it is compiled once.

use std::process::ExitCode;

fn main() -> ExitCode {
    raft_ttl::cli::main()
}
