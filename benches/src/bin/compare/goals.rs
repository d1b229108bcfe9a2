//! The goals that the wheel is held to: ratios, within one run, to the others.

use timer_wheel_bench::figure::FIGURES;
use timer_wheel_bench::results::{self, Measured};
use timer_wheel_bench::subject;

/// How the wheel is to stand to a rival.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// The rival's is at least so many times the wheel's.
    Faster(f64),
    /// The wheel's is at most so many times the rival's.
    Within(f64),
    /// The same, or at most so much where that is more.
    WithinOr(f64, f64),
    /// The wheel's is at most so much.
    Below(f64),
}

/// What the wheel is to achieve in the figures whose names begin so, with each of some numbers of timers.
pub(crate) struct Goal {
    figure: &'static str,
    sizes: &'static [u64],
    rival: &'static str,
    bound: Bound,
}

use Bound::{Below, Faster, Within, WithinOr};

const fn goal(figure: &'static str, sizes: &'static [u64], rival: &'static str, bound: Bound) -> Goal {
    Goal { figure, sizes, rival, bound }
}

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

/// The goals. Times are in ns.
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

/// Judges every goal whose figures were measured: a line for each, and one for all.
pub(crate) fn judge(measured: &[Measured], goals: &[Goal]) -> Result<(String, String), String> {
    let wheel = subject::ALL[0].name;
    let (mut text, mut all, mut missed) = (String::new(), 0, Vec::<(&str, Vec<u64>)>::new());
    for goal in goals {
        goal.check()?;
        let find = |figure: &str, n, subject: &str| {
            let is_it = |it: &&Measured| (&*it.figure, it.n, &*it.subject) == (figure, n, subject);
            measured.iter().find(is_it).map(Measured::value)
        };
        let wheels = measured.iter().filter(|it| it.subject == wheel && goal.covers(it));
        for ours in wheels {
            let Some(rival) = find(&ours.figure, ours.n, goal.rival) else {
                continue;
            };
            let is_met = ours.value() <= goal.bound.limit(rival);
            all += 1;
            text += &format!(
                "  {:<8}{:<40}n = {:<10}{:<34}{:.1} : {rival:.1}, {:.2} x\n",
                if is_met { "met" } else { "missed" },
                ours.figure,
                ours.n,
                goal.bound.told(goal.rival),
                ours.value(),
                rival / ours.value(),
            );
            if !is_met {
                match missed.iter_mut().find(|(figure, _)| *figure == ours.figure) {
                    Some((_, sizes)) if sizes.contains(&ours.n) => {}
                    Some((_, sizes)) => sizes.push(ours.n),
                    None => missed.push((&ours.figure, vec![ours.n])),
                }
            }
        }
    }
    let count_missed = text.lines().filter(|line| line.starts_with("  missed")).count();
    let missed = missed.iter().map(|(figure, sizes)| format!("{figure} (n = {sizes:?})"));
    let missed: Vec<String> = missed.collect();
    let summary = match all {
        0 => "no goals judged: they need the wheel, a rival and the sizes of the goals".to_owned(),
        _ => results::verdict(all - count_missed, all, &missed),
    };
    Ok((format!("\nGoals, wheel : rival\n{text}"), summary))
}

impl Goal {
    /// Whether there is what it names.
    fn check(&self) -> Result<(), String> {
        let is_figure = FIGURES.iter().any(|it| results::is_named(it.name, self.figure));
        let is_subject = subject::ALL.iter().any(|it| it.name == self.rival);
        match is_figure && is_subject {
            true => Ok(()),
            false => Err(format!("a goal names '{}' or '{}', unknown here", self.figure, self.rival)),
        }
    }

    /// A whole name covers its figure alone, though others begin so.
    fn covers(&self, it: &Measured) -> bool {
        let is_whole = FIGURES.iter().any(|figure| figure.name == self.figure);
        let is_named = match is_whole {
            true => it.figure == self.figure,
            false => it.is_named(self.figure),
        };
        is_named && self.sizes.contains(&it.n)
    }
}

impl Bound {
    /// The most that the wheel's may be.
    fn limit(self, rival: f64) -> f64 {
        match self {
            Faster(least) => rival / least,
            Within(most) => rival * most,
            WithinOr(times, most) => most.max(rival * times),
            Below(most) => most,
        }
    }

    fn told(self, rival: &str) -> String {
        match self {
            Faster(least) => format!("{least} x faster than {rival}"),
            Within(most) => format!("<= {most} x {rival}"),
            WithinOr(times, most) => format!("<= {times} x {rival} or {most}"),
            Below(most) => format!("<= {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use timer_wheel_bench::Spread;
    use timer_wheel_bench::figure;

    use super::*;

    fn measured(figure: &str, subject: &str, value: f64) -> Measured {
        let figure = figure::named(figure).unwrap();
        figure.measured(1_000_000, subject, Spread::of([value]))
    }

    #[test]
    fn bound_is_the_last_that_is_met() {
        assert_eq!(Faster(4.0).limit(8.0), 2.0);
        assert_eq!(Within(2.0).limit(8.0), 16.0);
        assert_eq!(WithinOr(2.0, 20.0).limit(8.0), 20.0);
        assert_eq!(Below(1.0).limit(8.0), 1.0);
    }

    #[test]
    fn last_line_says_what_is_missed() {
        let mut run = vec![
            measured("W3 cancel one, schedule one", "wheel", 10.0),
            measured("W3 cancel one, schedule one", TREE, 65.0),
            measured("W8 after W1a", "wheel", 60.0),
        ];
        assert_eq!(judge(&run, ALL).unwrap().1, "all 1 goals met");
        run.push(measured("W8 after W1a", TREE, 50.0));
        let (text, summary) = judge(&run, ALL).unwrap();
        assert!(text.contains("6.50 x") && text.contains("missed  W8 after W1a"));
        assert_eq!(summary, "1 of 2 goals met; missed: W8 after W1a (n = [1000000])");
        assert!(judge(&[], ALL).unwrap().1.starts_with("no goals judged"));
    }

    #[test]
    fn goal_that_names_an_unknown_figure_or_subject_is_an_error() {
        for wrong in [goal("W1a cancel", EACH, TREE, Faster(2.0)), goal("W1a schedule", EACH, "sundial", Faster(2.0))] {
            assert!(judge(&[], &[wrong]).is_err());
        }
    }
}
