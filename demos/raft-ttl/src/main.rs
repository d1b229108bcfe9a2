//! The program `raft-ttl`. All of it is in the library, so that it is compiled once.

fn main() {
    raft_ttl::cli::main();
}
