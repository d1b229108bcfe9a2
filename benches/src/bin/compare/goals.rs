//! The goals that the wheel is held to: ratios of medians, within one run, against the others.

use crate::experiment::{hold, server, small};
use crate::figure::{
    AGED_SCHEDULE, BURST_LONGEST_CALL, CALM_BUDGETED_LONGEST_CALL, CALM_LONGEST_CALL, CHURN,
    EVICTION, EVICTION_OF_MANY_TTLS, EXPIRE, FAR, FRESH_BYTES, FRESH_SCHEDULE, Figure, HOLDS,
    PAUSE_LONGEST, PAUSE_WHOLE, PEAK_CLEAR, PEAK_DROP, PEAK_LONGEST_CANCEL, PEAK_LONGEST_SCHEDULE,
    RANDOM_CANCEL, REFRESH, ROTATED_BYTES, SERVER_CANCELS, SERVER_SCHEDULES, SMALL_BYTES,
    SMALL_OPERATION,
};
use crate::ledger::Ledger;

const WHEEL: &str = "wheel";
const SET_WITH_SLAB: &str = "btree+slab";
const SET: &str = "btree";
const DELAY_QUEUE: &str = "delayqueue";
const TEXTBOOK: &str = "textbook";
const HEAP: &str = "heap";
const BITWHEEL: &str = "bitwheel";

const MOST: usize = 10_000_000;
const VERY_MANY: usize = 4_000_000;
const MANY: usize = 1_000_000;
const FEW: usize = 10_000;

/// How the wheel is to stand to a rival: their medians, or of single calls the least samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// The rival's median is at least so many times the wheel's.
    Faster(f64),
    /// The wheel's median is at most so many times the rival's.
    Within(f64),
    /// The wheel's is at most so much, whatever a rival's.
    AtMost(f64),
    /// The wheel's is at most so much, or so many times the rival's where that is more.
    AtMostOr { most: f64, times: f64 },
}

/// One thing that the wheel is to achieve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) n: usize,
    pub(crate) figure: Figure,
    pub(crate) rival: &'static str,
    pub(crate) bound: Bound,
}

/// A goal whose subjects were measured.
pub(crate) struct Verdict {
    pub(crate) goal: Goal,
    /// What the wheel was measured at.
    pub(crate) wheel: f64,
    rival: f64,
}

impl Goal {
    const fn new(n: usize, figure: Figure, rival: &'static str, bound: Bound) -> Self {
        Self {
            n,
            figure,
            rival,
            bound,
        }
    }

    fn judge(self, ledger: &Ledger) -> Option<Verdict> {
        let wheel = ledger.find(self.n, WHEEL, self.figure)?.value();
        let rival = match self.bound {
            Bound::AtMost(most) => most,
            _ => ledger.find(self.n, self.rival, self.figure)?.value(),
        };
        Some(Verdict {
            goal: self,
            wheel,
            rival,
        })
    }
}

impl Verdict {
    pub(crate) fn is_met(&self) -> bool {
        match self.goal.bound {
            Bound::Faster(least) => self.ratio() >= least,
            Bound::Within(most) => 1.0 / self.ratio() <= most,
            Bound::AtMost(most) => self.wheel <= most,
            Bound::AtMostOr { most, times } => self.wheel <= most.max(times * self.rival),
        }
    }

    /// The rival's in units of the wheel's.
    pub(crate) fn ratio(&self) -> f64 {
        self.rival / self.wheel
    }
}

/// Every goal that the ledger has the figures for.
pub(crate) fn judge(ledger: &Ledger) -> Vec<Verdict> {
    all()
        .into_iter()
        .filter_map(|goal| goal.judge(ledger))
        .collect()
}

fn all() -> Vec<Goal> {
    let mut goals = of_many();
    goals.extend(of_few());
    goals.extend(of_pauses());
    goals.extend(of_other_uses());
    goals
}

/// What each operation costs at a million.
fn of_many() -> Vec<Goal> {
    use Bound::{Faster, Within};

    let goal = |figure, rival, bound| Goal::new(MANY, figure, rival, bound);
    vec![
        goal(FRESH_SCHEDULE, SET_WITH_SLAB, Faster(18.0)),
        goal(FRESH_SCHEDULE, TEXTBOOK, Within(1.2)),
        goal(FRESH_SCHEDULE, DELAY_QUEUE, Faster(3.5)),
        goal(RANDOM_CANCEL, SET_WITH_SLAB, Faster(8.0)),
        goal(RANDOM_CANCEL, TEXTBOOK, Within(1.5)),
        goal(RANDOM_CANCEL, DELAY_QUEUE, Faster(6.0)),
        goal(AGED_SCHEDULE, SET_WITH_SLAB, Faster(18.0)),
        goal(AGED_SCHEDULE, TEXTBOOK, Within(0.2)),
        goal(EXPIRE, SET_WITH_SLAB, Faster(1.7)),
        goal(EXPIRE, SET, Within(1.15)),
        goal(EXPIRE, TEXTBOOK, Within(0.35)),
        goal(EXPIRE, DELAY_QUEUE, Faster(7.0)),
        goal(CHURN, SET_WITH_SLAB, Faster(7.5)),
        goal(CHURN, TEXTBOOK, Within(1.3)),
        goal(CHURN, DELAY_QUEUE, Faster(4.5)),
        goal(REFRESH, SET_WITH_SLAB, Faster(40.0)),
        goal(REFRESH, TEXTBOOK, Within(0.4)),
        goal(REFRESH, DELAY_QUEUE, Faster(25.0)),
        goal(FRESH_BYTES, SET_WITH_SLAB, Within(1.0)),
        goal(ROTATED_BYTES, SET_WITH_SLAB, Within(1.1)),
    ]
}

/// The same where all of it is in the cache, and bookkeeping shows.
fn of_few() -> Vec<Goal> {
    use Bound::{Faster, Within};

    let goal = |figure, rival, bound| Goal::new(FEW, figure, rival, bound);
    vec![
        goal(FRESH_SCHEDULE, SET_WITH_SLAB, Faster(7.0)),
        goal(FRESH_SCHEDULE, TEXTBOOK, Within(1.5)),
        goal(FRESH_SCHEDULE, DELAY_QUEUE, Faster(3.0)),
        goal(RANDOM_CANCEL, SET_WITH_SLAB, Faster(7.0)),
        goal(RANDOM_CANCEL, TEXTBOOK, Within(2.5)),
        goal(RANDOM_CANCEL, DELAY_QUEUE, Faster(6.0)),
        goal(EXPIRE, SET_WITH_SLAB, Within(1.0)),
        goal(EXPIRE, TEXTBOOK, Within(0.8)),
        goal(EXPIRE, DELAY_QUEUE, Faster(8.0)),
        goal(CHURN, SET_WITH_SLAB, Faster(7.0)),
        goal(CHURN, TEXTBOOK, Within(1.5)),
        goal(CHURN, DELAY_QUEUE, Faster(5.0)),
        goal(REFRESH, SET_WITH_SLAB, Faster(60.0)),
        goal(REFRESH, TEXTBOOK, Within(0.4)),
        goal(REFRESH, DELAY_QUEUE, Faster(25.0)),
    ]
}

/// No call takes long, and few take longer than most.
fn of_pauses() -> Vec<Goal> {
    use Bound::{AtMostOr, Within};

    let mut goals = vec![
        Goal::new(MANY, CALM_LONGEST_CALL, SET_WITH_SLAB, Within(3.0)),
        Goal::new(MANY, CALM_BUDGETED_LONGEST_CALL, SET_WITH_SLAB, Within(3.0)),
        Goal::new(MANY, BURST_LONGEST_CALL, SET_WITH_SLAB, Within(3.0)),
        Goal::new(MANY, PAUSE_LONGEST, SET_WITH_SLAB, Within(3.0)),
        Goal::new(VERY_MANY, PAUSE_LONGEST, SET_WITH_SLAB, Within(3.0)),
        Goal::new(MANY, PAUSE_WHOLE, SET_WITH_SLAB, Within(0.35)),
        Goal::new(MANY, PAUSE_WHOLE, TEXTBOOK, Within(1.0)),
    ];
    let short = AtMostOr {
        most: 300_000.0,
        times: 3.0,
    };
    for n in [MANY, MOST] {
        for figure in [
            PEAK_LONGEST_SCHEDULE,
            PEAK_LONGEST_CANCEL,
            PEAK_CLEAR,
            PEAK_DROP,
        ] {
            goals.push(Goal::new(n, figure, SET_WITH_SLAB, short));
        }
    }
    for &n in server::SIZES {
        for rival in [SET_WITH_SLAB, BITWHEEL] {
            let [_, p99, p999, _] = SERVER_SCHEDULES;
            goals.push(Goal::new(n, p99, rival, Within(0.5)));
            goals.push(Goal::new(n, p999, rival, Within(0.5)));
            let [_, p99, p999, _] = SERVER_CANCELS;
            goals.push(Goal::new(n, p99, rival, Within(0.75)));
            goals.push(Goal::new(n, p999, rival, Within(0.75)));
        }
    }
    goals
}

/// What is a tree's own ground: the earliest timer, few timers, and those very far away.
fn of_other_uses() -> Vec<Goal> {
    use Bound::{AtMost, Within};

    let mut goals = Vec::new();
    for &n in hold::SIZES {
        for figure in HOLDS {
            goals.push(Goal::new(n, figure, SET_WITH_SLAB, Within(1.0)));
            goals.push(Goal::new(n, figure, HEAP, Within(1.2)));
        }
    }
    for &n in small::SIZES {
        goals.push(Goal::new(n, SMALL_OPERATION, SET_WITH_SLAB, Within(1.2)));
        goals.push(Goal::new(n, SMALL_BYTES, WHEEL, AtMost(1_600.0)));
    }
    for figure in [EVICTION, EVICTION_OF_MANY_TTLS] {
        goals.push(Goal::new(MANY, figure, SET_WITH_SLAB, Within(3.0)));
    }
    goals.push(Goal::new(MANY, FAR, SET_WITH_SLAB, Within(5.0)));
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bound: Bound, ratio: f64) -> bool {
        let goal = Goal::new(MANY, CHURN, TEXTBOOK, bound);
        let verdict = Verdict {
            goal,
            wheel: 1.0,
            rival: ratio,
        };
        verdict.is_met()
    }

    #[test]
    fn verdict_on_the_bound_is_met() {
        assert!(verdict(Bound::Faster(4.0), 4.0));
        assert!(!verdict(Bound::Faster(4.0), 3.9));
        assert!(verdict(Bound::Within(2.0), 0.5));
        assert!(!verdict(Bound::Within(2.0), 0.49));
        assert!(verdict(Bound::AtMost(1.0), 0.0));
        assert!(!verdict(Bound::AtMost(0.9), 9.0));
        let or_twice = |most| Bound::AtMostOr { most, times: 2.0 };
        assert!(verdict(or_twice(1.0), 0.1));
        assert!(verdict(or_twice(0.1), 0.5));
        assert!(!verdict(or_twice(0.9), 0.4));
    }

    #[test]
    fn goal_without_its_subjects_is_left_out() {
        let mut ledger = Ledger::new();
        ledger.record(MANY, WHEEL, CHURN.sample(10.0));
        assert!(judge(&ledger).is_empty());
        ledger.record(MANY, TEXTBOOK, CHURN.sample(9.0));
        let verdicts = judge(&ledger);
        assert_eq!(verdicts.len(), 1);
        assert!(verdicts[0].is_met());
    }
}
