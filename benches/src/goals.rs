//! The goals that a subject is held to: ratios, within one run, to the others.

use crate::figure::Figure;
use crate::results::{self, Measured};

/// How the first subject is to stand to a rival. Of times less is better, of rates more.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
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

/// What the first subject is to achieve in the figures whose names begin so, at some sizes.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    figure: &'static str,
    sizes: &'static [u64],
    rival: &'static str,
    bound: Bound,
}

use Bound::{AtLeast, Below, Faster, Within, WithinOr};

pub const fn goal(figure: &'static str, sizes: &'static [u64], rival: &'static str, bound: Bound) -> Goal {
    Goal { figure, sizes, rival, bound }
}

/// Judges every goal whose figures were measured, for the first of all subjects: a line for each, and one for all.
/// O(goals x measured).
pub fn judge(
    measured: &[Measured],
    goals: &[Goal],
    figures: &[Figure],
    subjects: &[&str],
) -> Result<(String, String), String> {
    let (mut text, mut all, mut missed) = (String::new(), 0, Vec::<(&str, Vec<u64>)>::new());
    for goal in goals {
        let names = || figures.iter().map(|it| it.name);
        if !names().any(|name| results::is_named(name, goal.figure)) || !subjects.contains(&goal.rival) {
            return Err(format!("a goal names '{}' or '{}', unknown here", goal.figure, goal.rival));
        }
        // A whole name covers its figure alone, though others begin so.
        let is_whole = names().any(|name| name == goal.figure);
        let covers = |it: &Measured| {
            let is_named = if is_whole { it.figure == goal.figure } else { it.is_named(goal.figure) };
            is_named && goal.sizes.contains(&it.n)
        };
        let find = |figure: &str, n, subject: &str| {
            let is_it = |it: &&Measured| (&*it.figure, it.n, &*it.subject) == (figure, n, subject);
            measured.iter().find(is_it).map(Measured::value)
        };
        for ours in measured.iter().filter(|it| it.subject == subjects[0] && covers(it)) {
            let Some(rival) = find(&ours.figure, ours.n, goal.rival) else {
                continue;
            };
            let is_met = goal.bound.is_met(ours.value(), rival);
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
        0 => format!("no goals judged: they need {}, a rival and the sizes of the goals", subjects[0]),
        _ if missed.is_empty() => format!("all {all} goals met"),
        _ => format!("{} of {all} goals met; missed: {}", all - count_missed, missed.join(", ")),
    };
    Ok((format!("\nGoals, {} : rival\n{text}", subjects[0]), summary))
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
    use super::*;
    use crate::Spread;
    use crate::results::Counts;

    const FIGURES: [Figure; 2] =
        [Figure::new("W3 churn", "ns", Counts::Median), Figure::new("W8 after W1a", "bytes", Counts::Median)];
    const GOALS: [Goal; 2] = [goal("W3 churn", &[10], "tree", Faster(6.0)), goal("W8", &[10], "tree", Within(0.95))];
    const SUBJECTS: [&str; 2] = ["wheel", "tree"];

    fn measured(figure: usize, subject: &str, value: f64) -> Measured {
        FIGURES[figure].measured(10, subject, Spread::of([value]))
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
        let judge = |run: &[Measured]| judge(run, &GOALS, &FIGURES, &SUBJECTS).unwrap();
        let mut run = vec![measured(0, "wheel", 10.0), measured(0, "tree", 65.0), measured(1, "wheel", 60.0)];
        assert_eq!(judge(&run).1, "all 1 goals met");
        run.push(measured(1, "tree", 50.0));
        let (text, summary) = judge(&run);
        assert!(text.contains("6.50 x") && text.contains("missed  W8 after W1a"));
        assert_eq!(summary, "1 of 2 goals met; missed: W8 after W1a (n = [10])");
        assert!(judge(&[]).1.starts_with("no goals judged"));
    }

    #[test]
    fn goal_that_names_an_unknown_figure_or_subject_is_an_error() {
        for wrong in [goal("W3 chur", &[10], "tree", Faster(2.0)), goal("W3 churn", &[10], "sundial", Faster(2.0))] {
            assert!(judge(&[], &[wrong], &FIGURES, &SUBJECTS).is_err());
        }
    }
}
