//! The goals of the wheel. Times are in ns.

use timer_wheel_bench::goals::Bound::{Below, Faster, Within, WithinOr};
use timer_wheel_bench::goals::{Goal, goal};

const EACH: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000];
const LESS: &[u64] = &[10_000, 30_000, 100_000, 300_000];
const MILLION: &[u64] = &[1_000_000];
const PAUSES: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000, 10_000_000];
const PEAKS: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];
const HOLDS: &[u64] = &[100, 1_000, 10_000, 100_000, 1_000_000];
const HOLDS_OF_MANY: &[u64] = &[1_000, 10_000, 100_000, 1_000_000];
const SERVERS: &[u64] = &[10_000, 100_000];

const TREE: &str = "btree+slab";
const LIST: &str = "textbook";
const TOKIO: &str = "delayqueue";

const US: f64 = 1_000.0;

#[rustfmt::skip]
pub(crate) const ALL: &[Goal] = &[
    goal("W1a schedule", LESS, TREE, Faster(8.0)),
    goal("W1a schedule", MILLION, TREE, Faster(16.0)),
    goal("W1a schedule", EACH, LIST, Within(1.5)),
    goal("W1a schedule", EACH, TOKIO, Faster(2.5)),
    goal("W1b cancel", EACH, TREE, Faster(6.0)),
    goal("W1b cancel", LESS, LIST, Within(1.8)),
    goal("W1b cancel", MILLION, LIST, Within(1.3)),
    goal("W1b cancel", EACH, TOKIO, Faster(5.0)),
    goal("W1c schedule, aged", LESS, TREE, Faster(10.0)),
    goal("W1c schedule, aged", MILLION, TREE, Faster(18.0)),
    goal("W1c schedule, aged", LESS, LIST, Within(1.3)),
    goal("W1c schedule, aged", MILLION, LIST, Within(0.15)),
    goal("W2 expire", LESS, TREE, Within(1.15)),
    goal("W2 expire", MILLION, TREE, Within(1.0)),
    goal("W2 expire", LESS, LIST, Within(1.0)),
    goal("W2 expire", MILLION, LIST, Within(0.55)),
    goal("W2 expire", EACH, TOKIO, Faster(4.0)),
    goal("W3 cancel one, schedule one", EACH, TREE, Faster(6.0)),
    goal("W3 cancel one, schedule one", EACH, LIST, Within(1.0)),
    goal("W3 cancel one, schedule one", EACH, "nexus-timer", Within(1.0)),
    goal("W4 reschedule to later", EACH, TREE, Faster(25.0)),
    goal("W4 reschedule to later", EACH, LIST, Within(0.3)),
    goal("W4 reschedule to later", EACH, TOKIO, Faster(20.0)),
    goal("W6 calm longest call", EACH, TREE, WithinOr(3.0, 100.0 * US)),
    goal("W10 longest advance", PAUSES, TREE, WithinOr(3.0, 100.0 * US)),
    goal("W10 in all", EACH, TREE, Within(0.3)),
    goal("W10 in all", EACH, LIST, Within(0.8)),
    goal("W6b calm longest call", EACH, TREE, Within(3.0)),
    goal("W7 longest call, budget 256", EACH, TREE, Within(3.0)),
    goal("W7 expire a burst", EACH, TREE, Within(2.0)),
    goal("W7 expire a burst, spread over its tick", EACH, TREE, Within(2.0)),
    goal("W8 after W1a", EACH, TREE, Within(0.95)),
    goal("W8 after W1a", &[1_000], TREE, Below(90.0)),
    goal("W11", HOLDS, TREE, Within(0.8)),
    goal("W11", HOLDS_OF_MANY, "heap", Within(1.0)),
    goal("W11", &[100], "heap", Within(1.4)),
    goal("W12 operation", &[10_000], TREE, Within(1.3)),
    goal("W12 a queue", &[10_000], TREE, Below(1_600.0)),
    goal("W13", EACH, TREE, Within(2.0)),
    goal("W14", EACH, TREE, Within(5.0)),
    goal("W15", PEAKS, TREE, WithinOr(3.0, 300.0 * US)),
    goal("W16 p99 of schedules", SERVERS, TREE, Within(0.5)),
    goal("W16 p99.9 of schedules", SERVERS, TREE, Within(0.5)),
    goal("W16 p99 of cancels", SERVERS, TREE, Within(0.75)),
    goal("W16 p99.9 of cancels", SERVERS, TREE, Within(0.75)),
    goal("W16 p99 of advances", SERVERS, TREE, Below(2.0 * US)),
    goal("W16 p99.9 of advances", SERVERS, TREE, Below(2.0 * US)),
    goal("W16 p99 of schedules", SERVERS, "bitwheel", Within(0.5)),
    goal("W16 p99.9 of schedules", SERVERS, "bitwheel", Within(0.5)),
    goal("W16 p99 of cancels", SERVERS, "bitwheel", Within(0.75)),
    goal("W16 p99.9 of cancels", SERVERS, "bitwheel", Within(0.75)),
];

#[cfg(test)]
mod tests {
    use timer_wheel_bench::figure::FIGURES;
    use timer_wheel_bench::goals::judge;
    use timer_wheel_bench::subject;

    #[test]
    fn goals_name_figures_and_subjects_that_there_are() {
        let names: Vec<&str> = subject::ALL.iter().map(|subject| subject.name).collect();
        assert!(judge(&[], super::ALL, FIGURES, &names).is_ok());
    }
}
