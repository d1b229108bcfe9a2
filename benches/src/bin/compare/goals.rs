//! The goals: ratios, within one run, of the wheel and the timer to the others. Times are in ns.

use timer_wheel_bench::results::Row;

use Bound::{AtLeast, Below, Faster, Within, WithinOr};

/// What is held to the goals, but for those of a lane and of an index wheel.
const OURS: [&str; 2] = ["wheel", "Timer"];

/// How ours is to stand to a rival. Of times less is better, of rates more.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// The rival's is at least so many times its own.
    Faster(f64),
    /// Its own is at most so many times the rival's.
    Within(f64),
    /// The same, or at most so much where that is more.
    WithinOr(f64, f64),
    Below(f64),
    /// Its own is at least so many times the rival's.
    AtLeast(f64),
}

/// What is to be achieved in the figures whose names begin so, at some sizes.
#[derive(Clone, Copy, Debug)]
struct Goal {
    /// Whichever of these was measured.
    ours: &'static [&'static str],
    figure: &'static str,
    sizes: &'static [u64],
    rival: &'static str,
    bound: Bound,
}

const fn goal(figure: &'static str, sizes: &'static [u64], rival: &'static str, bound: Bound) -> Goal {
    Goal { ours: &OURS, figure, sizes, rival, bound }
}

impl Goal {
    const fn of(self, ours: &'static [&'static str]) -> Self {
        Self { ours, ..self }
    }
}

const EACH: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000];
const LESS: &[u64] = &[10_000, 30_000, 100_000, 300_000];
const FROM_30_000: &[u64] = &[30_000, 100_000, 300_000, 1_000_000];
const MILLION: &[u64] = &[1_000_000];
const PAUSES: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000, 10_000_000];
const PEAKS: &[u64] = &[10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];
const HOLDS: &[u64] = &[100, 1_000, 10_000, 100_000, 1_000_000];
const HOLDS_OF_MANY: &[u64] = &[1_000, 10_000, 100_000, 1_000_000];
const UP_TO_100_000: &[u64] = &[10_000, 30_000, 100_000];
const SERVERS: &[u64] = &[10_000, 100_000];
const BURSTS: &[u64] = &[1_000, 4_096, 10_000, 100_000];
const PRODUCERS: &[u64] = &[1, 2, 4, 8];

const LIVE: &[u64] = &[4_096];

const LANE: &[&str] = &["lane"];
const INDEX: &[&str] = &["index-wheel"];
const LOCAL: &[&str] = &["LocalTimer on a TurnClock"];
const ONE_THREAD: &str = "tokio on one thread";
const TREE: &str = "btree+slab";
const SPLIT: &str = "split_off";
const LIST: &str = "textbook";
const TOKIO: &str = "delayqueue";
const THREAD: &str = "Mutex<BTreeMap> + Condvar";
const TIMEOUT: &str = "tokio::time::timeout";

const US: f64 = 1_000.0;

#[rustfmt::skip]
const ALL: &[Goal] = &[
    goal("W1a schedule", LESS, TREE, Faster(7.0)),
    goal("W1a schedule", MILLION, TREE, Faster(16.0)),
    goal("W1a schedule", EACH, LIST, Within(2.0)),
    goal("W1a schedule", EACH, TOKIO, Faster(2.5)),
    goal("W1b cancel", EACH, TREE, Faster(6.0)),
    goal("W1b cancel", LESS, LIST, Within(2.5)),
    goal("W1b cancel", MILLION, LIST, Within(1.3)),
    goal("W1b cancel", EACH, LIST, Within(2.0)).of(INDEX),
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
    goal("W3 cancel one, schedule one", &[10_000], LIST, Within(1.8)),
    goal("W3 cancel one, schedule one", FROM_30_000, LIST, Within(1.5)),
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
    goal("W12 operation", &[10_000], TREE, Within(2.0)),
    goal("W12 a queue", &[10_000], TREE, Below(1_600.0)),
    goal("W13", EACH, TREE, Within(2.0)),
    goal("W14", EACH, TREE, Within(4.0)),
    goal("W15", PEAKS, TREE, WithinOr(3.0, 300.0 * US)),
    goal("W16 p99 of schedules", SERVERS, TREE, Within(0.5)),
    goal("W16 p99.9 of schedules", SERVERS, TREE, Within(0.5)),
    goal("W16 p99 of cancels", SERVERS, TREE, Within(0.75)),
    goal("W16 p99.9 of cancels", SERVERS, TREE, Within(0.75)),
    goal("W16 p99 of advances", SERVERS, TREE, Below(2.0 * US)),
    goal("W16 p99.9 of advances", SERVERS, TREE, Below(2.0 * US)),
    goal("W19 full life", EACH, TREE, Faster(3.0)).of(LANE),
    goal("W19 full life", EACH, LIST, Within(1.0)).of(LANE),
    goal("W19 full life", EACH, "wheel", Within(0.6)).of(LANE),
    goal("W19 full life", EACH, "nexus-timeouts", Within(1.0)).of(LANE),
    goal("W19 eviction", EACH, TREE, Faster(3.0)).of(LANE),
    goal("W19 eviction", EACH, "wheel", Within(0.6)).of(LANE),
    goal("W19 one renewal a TTL", UP_TO_100_000, LIST, Within(1.2)).of(LANE),
    goal("W19 one renewal a TTL", EACH, "nexus-timeouts", Within(1.0)).of(LANE),
    goal("W20 end and begin", EACH, TREE, Faster(5.0)),
    goal("W20 end and begin", EACH, "nexus-timer", Within(1.0)),
    goal("W20 end and begin", EACH, "nexus-timer", Faster(2.0)).of(INDEX),
    goal("W20 end and begin", EACH, TOKIO, Faster(3.0)).of(INDEX),
    goal("W22 in all", &[100], SPLIT, Within(0.8)),
    goal("W22 in all", BURSTS, SPLIT, Within(0.5)),
    goal("W22 expire", BURSTS, SPLIT, Within(4.0)),
    goal("W23", &[10_000], TREE, Within(1.0)),
    goal("W17 pairs a second", PRODUCERS, "a Timer each", AtLeast(0.8)),
    goal("W17 pairs a second", PRODUCERS, "a Mutex<BTreeMap> each", AtLeast(2.0)),
    goal("W17 pairs a second", PRODUCERS, THREAD, AtLeast(1.0)),
    goal("W17 CPU time of a pair", PRODUCERS, THREAD, Within(1.0)),
    goal("W18 timeout, never pending", &[1, 2], TIMEOUT, Within(0.1)),
    goal("W18 timeout, pending once", &[1], TIMEOUT, Within(1.0)),
    goal("W18 timeout, pending once", &[2], TIMEOUT, Within(0.7)),
    goal("W18 reset to later", &[1, 2], TIMEOUT, Within(1.0)),
    goal("W18-local never pending", LIVE, ONE_THREAD, Within(0.05)).of(LOCAL),
    goal("W18-local pending once", LIVE, ONE_THREAD, Within(0.55)).of(LOCAL),
    goal("W18-local reset", LIVE, ONE_THREAD, Within(0.25)).of(LOCAL),
    goal("W18-local expire", LIVE, ONE_THREAD, Within(1.0)).of(LOCAL),
];

/// Judges every goal whose figures were measured: a line for each, and one for all. O(goals x rows).
pub(crate) fn judge(rows: &[Row]) -> (String, String) {
    judge_by(ALL, rows)
}

fn judge_by(goals: &[Goal], rows: &[Row]) -> (String, String) {
    let (mut text, mut all, mut count_missed, mut missed) = (String::new(), 0, 0, Vec::<(&str, Vec<u64>)>::new());
    for Goal { ours, figure, sizes, rival, bound } in goals {
        for row in rows.iter().filter(|row| row.is_named(figure) && sizes.contains(&row.n)) {
            let ours = ours.iter().find_map(|subject| row.value(subject));
            let (Some(ours), Some(theirs)) = (ours, row.value(rival)) else { continue };
            let is_met = bound.is_met(ours, theirs);
            all += 1;
            text += &format!(
                "  {:<8}{:<40}n = {:<10}{:<34}{ours:.1} : {theirs:.1}, {:.2} x\n",
                if is_met { "met" } else { "missed" },
                row.figure,
                row.n,
                bound.told(rival),
                theirs / ours,
            );
            if !is_met {
                count_missed += 1;
                match missed.iter_mut().find(|(figure, _)| *figure == row.figure) {
                    Some((_, sizes)) if sizes.contains(&row.n) => {}
                    Some((_, sizes)) => sizes.push(row.n),
                    None => missed.push((&row.figure, vec![row.n])),
                }
            }
        }
    }
    let missed: Vec<String> = missed.iter().map(|(figure, sizes)| format!("{figure} (n = {sizes:?})")).collect();
    let summary = match all {
        0 => format!("no goals judged: they need {}, a rival and the sizes of the goals", OURS.join(" or ")),
        _ if missed.is_empty() => format!("all {all} goals met"),
        _ => format!("{} of {all} goals met; missed: {}", all - count_missed, missed.join(", ")),
    };
    (format!("\nGoals, ours : rival\n{text}"), summary)
}

impl Bound {
    fn is_met(self, ours: f64, rival: f64) -> bool {
        match self {
            Faster(least) => ours <= rival / least,
            Within(most) => ours <= rival * most,
            WithinOr(times, most) => ours <= most.max(rival * times),
            Below(most) => ours <= most,
            AtLeast(times) => ours >= rival * times,
        }
    }

    fn told(self, rival: &str) -> String {
        match self {
            Faster(least) => format!("{least} x faster than {rival}"),
            Within(most) => format!("<= {most} x {rival}"),
            WithinOr(times, most) => format!("<= {times} x {rival} or {most}"),
            Below(most) => format!("<= {most}"),
            AtLeast(times) => format!(">= {times} x {rival}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use timer_wheel_bench::experiments::Kind;
    use timer_wheel_bench::results::{Counts, Spread};
    use timer_wheel_bench::{drivers, subject};

    use super::*;

    const GOALS: [Goal; 2] = [goal("W3 churn", &[10], "tree", Faster(6.0)), goal("W8", &[10], "tree", Within(0.95))];

    fn row(figure: &str, subjects: &[(&str, f64)]) -> Row {
        let subjects = subjects.iter().map(|&(name, value)| (name.to_owned(), Spread::of([value])));
        let (figure, unit, counts) = (figure.to_owned(), "ns".to_owned(), Counts::Median);
        Row { figure, n: 10, unit, counts, subjects: subjects.collect() }
    }

    #[test]
    fn bound_is_the_last_that_is_met() {
        for (bound, last, beyond) in
            [(Faster(4.0), 2.0, 2.1), (Within(2.0), 16.0, 16.1), (Below(1.0), 1.0, 1.1), (AtLeast(2.0), 16.0, 15.9)]
        {
            assert!(bound.is_met(last, 8.0) && !bound.is_met(beyond, 8.0), "{bound:?}");
        }
        assert!(WithinOr(2.0, 20.0).is_met(20.0, 8.0) && !WithinOr(2.0, 15.0).is_met(16.1, 8.0));
    }

    #[test]
    fn last_line_says_what_is_missed() {
        let judge = |rows: &[Row]| judge_by(&GOALS, rows);
        let mut rows =
            vec![row("W3 churn", &[("wheel", 10.0), ("tree", 65.0)]), row("W8 after W1a", &[("wheel", 60.0)])];
        assert_eq!(judge(&rows).1, "all 1 goals met");
        rows[1] = row("W8 after W1a", &[("wheel", 60.0), ("tree", 50.0)]);
        let (text, summary) = judge(&rows);
        assert!(text.contains("6.50 x") && text.contains("missed  W8 after W1a"));
        assert_eq!(summary, "1 of 2 goals met; missed: W8 after W1a (n = [10])");
        assert!(judge(&[]).1.starts_with("no goals judged"));
    }

    #[test]
    fn goals_name_figures_and_subjects_that_there_are() {
        let queues: Vec<_> = subject::ALL.iter().map(|subject| subject.name).collect();
        let of_queues = Kind::ALL.iter().map(|kind| (kind.figures(), queues.clone()));
        let of_drivers = drivers::ALL.iter().map(|workload| (workload.figures, workload.subjects().collect()));
        let known: Vec<_> = of_queues.chain(of_drivers).collect();
        for goal in ALL {
            let is_known = known.iter().any(|(figures, subjects)| {
                let rows = figures.iter().map(|figure| figure.row(0, Vec::new()));
                let has_ours = subjects.iter().any(|name| goal.ours.contains(name));
                has_ours && subjects.contains(&goal.rival) && rows.into_iter().any(|row| row.is_named(goal.figure))
            });
            assert!(is_known, "{goal:?}");
        }
    }
}
