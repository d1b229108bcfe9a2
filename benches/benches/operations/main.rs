//! What each operation costs, one criterion group an operation: `cargo bench -p timer-wheel-bench`.
//!
//! Every group measures the wheel and, beside it, the textbook wheel, a bare `BTreeSet` and a
//! `BTreeSet` with a slab of values, each with a thousand, ten thousand and a million live timers:
//! `schedule/wheel/1000000`. The TTL layer is measured beside the two ordered sets that it replaces. A
//! group leaves out a subject that lacks the operation, and says why. Everything takes many minutes;
//! `-- --quick` takes less, and `-- cancel` or `-- wheel/1000$` measures only what matches.
//!
//! Criterion measures one subject after the other. That is right for finding out what a change did to
//! an operation (`-- --save-baseline before`, `-- --baseline before`); to hold the subjects against
//! each other on a noisy machine, use the program `compare`, whose rounds are interleaved.
//!
//! With `-- --test`, or under `cargo test --benches`, each benchmark runs once and with a thousand timers,
//! for the sake of its checks.

mod advance;
mod budget;
mod cancel;
mod churn;
mod harness;
mod order;
mod reschedule;
mod schedule;
mod ttl;
mod wake_up;

fn main() {
    let mut criterion = harness::configuration().configure_from_args();
    schedule::bench(&mut criterion);
    cancel::bench(&mut criterion);
    reschedule::bench(&mut criterion);
    churn::bench(&mut criterion);
    advance::bench(&mut criterion);
    wake_up::bench(&mut criterion);
    order::bench(&mut criterion);
    budget::bench(&mut criterion);
    ttl::bench(&mut criterion);
    criterion.final_summary();
}
