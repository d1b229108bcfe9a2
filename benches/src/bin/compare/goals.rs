//! The goals: ratios, within one run, of the wheel and the timer to the others. Times are in ns.

use timer_wheel_bench::results::Row;

use Bound::{AtLeast, Within, WithinOr};

/// What is held to the goals, but for those of a lane and of an index wheel.
const OURS: [&str; 2] = ["wheel", "Timer"];

/// How ours is to stand to a rival. Of times less is better, of rates more.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Its own is at most so many times the rival's.
    Within(f64),
    /// The same, or at most so much where that is more.
    WithinOr(f64, f64),
    /// Its own is at least so many times the rival's.
    AtLeast(f64),
}

/// The rival's is at least so many times its own.
#[expect(non_snake_case, reason = "it stands among the bounds")]
const fn Faster(least: f64) -> Bound {
    Within(1.0 / least)
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

// A server lives between the ends: goals set at the two ends alone once hid a factor of two.
const EACH: &[u64] = &[10_000, 100_000, 1_000_000];
const ENDS: &[u64] = &[10_000, 1_000_000];
const LESS: &[u64] = &[10_000, 100_000];
const MANY: &[u64] = &[100_000, 1_000_000];
const MILLION: &[u64] = &[1_000_000];
const HOLDS: &[u64] = &[100, 10_000, 1_000_000];
const BURSTS: &[u64] = &[1_000, 10_000, 100_000];
const PRODUCERS: &[u64] = &[2, 8];
const LIVE: &[u64] = &[4_096];

const LANE: &[&str] = &["lane"];
const INDEX: &[&str] = &["index-wheel"];
const LOCAL: &[&str] = &["LocalTimer on a TurnClock"];
const ONE_THREAD: &str = "tokio on one thread";
const TREE: &str = "btree+slab";
const SPLIT: &str = "split_off";
const LIST: &str = "textbook";
const TOKIO: &str = "delayqueue";
const NEXUS: &str = "nexus-timer";
const ONE_TIMEOUT: &str = "nexus-timeouts";
const THREAD: &str = "Mutex<BTreeMap> + Condvar";
const TIMEOUT: &str = "tokio::time::timeout";

const US: f64 = 1_000.0;

/// Those for which a change would be refused, and no more.
#[rustfmt::skip]
const ALL: &[Goal] = &[
    goal("W1a schedule", LESS, TREE, Faster(7.0)),
    goal("W1a schedule", MILLION, TREE, Faster(16.0)),
    goal("W1a schedule", EACH, LIST, Within(2.0)),
    goal("W1a schedule", ENDS, TOKIO, Faster(2.5)),
    goal("W1b cancel", EACH, TREE, Faster(6.0)),
    goal("W1b cancel", LESS, LIST, Within(2.5)),
    goal("W1b cancel", MILLION, LIST, Within(1.3)),
    goal("W1b cancel", EACH, LIST, Within(2.0)).of(INDEX),
    goal("W1b cancel", ENDS, TOKIO, Faster(5.0)),
    goal("W1c schedule, aged", LESS, TREE, Faster(10.0)),
    goal("W1c schedule, aged", MILLION, TREE, Faster(18.0)),
    goal("W1c schedule, aged", LESS, LIST, Within(1.3)),
    goal("W1c schedule, aged", MILLION, LIST, Within(0.15)),
    goal("W2 expire", LESS, TREE, Within(1.15)),
    goal("W2 expire", MILLION, TREE, Within(1.0)),
    goal("W2 expire", LESS, LIST, Within(1.0)),
    goal("W2 expire", MILLION, LIST, Within(0.55)),
    goal("W2 expire", ENDS, TOKIO, Faster(4.0)),
    goal("W3 cancel one, schedule one", EACH, TREE, Faster(6.0)),
    goal("W3 cancel one, schedule one", &[10_000], LIST, Within(1.8)),
    goal("W3 cancel one, schedule one", MANY, LIST, Within(1.5)),
    goal("W3 cancel one, schedule one", ENDS, NEXUS, Within(1.0)),
    goal("W4 reschedule to later", EACH, TREE, Faster(25.0)),
    goal("W4 reschedule to later", EACH, LIST, Within(0.3)),
    goal("W4 reschedule to later", ENDS, TOKIO, Faster(20.0)),
    goal("W6b calm longest call", EACH, TREE, Within(3.0)),
    goal("W7 expire a burst", ENDS, TREE, Within(2.0)),
    goal("W8 after W1a", ENDS, TREE, Within(0.95)),
    goal("W10 longest advance", EACH, TREE, WithinOr(3.0, 100.0 * US)),
    goal("W10 in all", EACH, TREE, Within(0.3)),
    goal("W10 in all", EACH, LIST, Within(0.8)),
    goal("W11", HOLDS, TREE, Within(0.8)),
    goal("W11", ENDS, "heap", Within(1.0)),
    goal("W11", &[100], "heap", Within(1.4)),
    goal("W12 operation", &[10_000], TREE, Within(2.0)),
    goal("W12 a queue", &[10_000], TREE, WithinOr(0.0, 1_600.0)),
    goal("W13", ENDS, TREE, Within(2.0)),
    goal("W14", ENDS, TREE, Within(4.0)),
    goal("W15", EACH, TREE, WithinOr(3.0, 300.0 * US)),
    goal("W19 full life", EACH, TREE, Faster(3.0)).of(LANE),
    goal("W19 full life", EACH, LIST, Within(1.0)).of(LANE),
    goal("W19 full life", EACH, "wheel", Within(0.6)).of(LANE),
    goal("W19 full life", ENDS, ONE_TIMEOUT, Within(1.0)).of(LANE),
    goal("W19 eviction", EACH, TREE, Faster(3.0)).of(LANE),
    goal("W19 eviction", EACH, "wheel", Within(0.6)).of(LANE),
    goal("W19 one renewal a TTL", LESS, LIST, Within(1.2)).of(LANE),
    goal("W19 one renewal a TTL", ENDS, ONE_TIMEOUT, Within(1.0)).of(LANE),
    goal("W20 end and begin", EACH, TREE, Faster(5.0)),
    goal("W20 end and begin", ENDS, NEXUS, Within(1.0)),
    goal("W20 end and begin", ENDS, NEXUS, Faster(2.0)).of(INDEX),
    goal("W20 end and begin", ENDS, TOKIO, Faster(3.0)).of(INDEX),
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
    let (mut text, mut all, mut count_missed, mut missed) = (String::new(), 0, 0, Vec::<String>::new());
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
                format!("{bound:.3?} {rival}"),
                theirs / ours,
            );
            if !is_met {
                count_missed += 1;
                missed.push(format!("{} (n = {})", row.figure, row.n));
                missed.dedup();
            }
        }
    }
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
            Within(most) => ours <= rival * most,
            WithinOr(times, most) => ours <= most.max(rival * times),
            AtLeast(times) => ours >= rival * times,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use timer_wheel_bench::experiments::Kind;
    use timer_wheel_bench::results::{Counts, Results, Spread};
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
        let (or_less, or_more) = (WithinOr(2.0, 15.0), WithinOr(2.0, 20.0));
        for (bound, last, beyond) in [
            (Faster(4.0), 2.0, 2.1),
            (Within(2.0), 16.0, 16.1),
            (or_less, 16.0, 16.1),
            (or_more, 20.0, 20.1),
            (AtLeast(2.0), 16.0, 15.9),
        ] {
            assert!(bound.is_met(last, 8.0) && !bound.is_met(beyond, 8.0), "{bound:?}");
        }
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
        assert_eq!(summary, "1 of 2 goals met; missed: W8 after W1a (n = 10)");
        assert!(judge(&[]).1.starts_with("no goals judged"));
    }

    #[test]
    fn goals_name_what_is_measured_and_are_at_most_150() {
        let queues: Vec<_> = subject::ALL.iter().map(|subject| subject.name).collect();
        let of_queues = Kind::ALL.iter().map(|kind| (kind.figures(), queues.clone()));
        let of_drivers =
            drivers::ALL.iter().map(|it| (it.figures, it.subjects.iter().map(|(name, _)| *name).collect()));
        let known: Vec<_> = of_queues.chain(of_drivers).collect();
        let mut judged = 0;
        for goal in ALL {
            let figures = known.iter().filter(|(_, subjects)| {
                subjects.contains(&goal.rival) && subjects.iter().any(|name| goal.ours.contains(name))
            });
            let rows = figures.flat_map(|(figures, _)| *figures).map(|figure| figure.row(0, Vec::new()));
            let count = rows.filter(|row| row.is_named(goal.figure)).count();
            assert!(count > 0, "{goal:?}");
            judged += count * goal.sizes.len();
        }
        assert!(judged <= 150, "{judged} goals");
    }

    /// Of the rows that the documents keep of a run.
    #[test]
    fn goals_missed_on_record_have_their_reason_in_the_document() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let document = fs::read_to_string(root.join("../docs/performance.md")).unwrap();
        let (_, reasons) = document.split_once("## Where the wheel is not ahead").unwrap();
        for file in ["compare", "bursts", "drivers", "drivers-one-core", "timeouts", "local"] {
            let results = Results::read(&root.join(format!("results/{file}.jsonl"))).unwrap();
            for line in judge(&results.rows).0.lines().filter(|line| line.starts_with("  missed")) {
                let workload = line.split_whitespace().nth(1).unwrap();
                let is_named = |line: &str| line.starts_with('|') && line.contains(workload);
                assert!(reasons.lines().any(is_named), "{file}: {line}");
            }
        }
    }
}
