//! The goals that the wheel is held to: ratios of medians, within one run, against the others.

use crate::figure::{
    AGED_SCHEDULE, BUDGETED_LONGEST_CALL, CALM_BUDGETED_LONGEST_CALL, CALM_LONGEST_CALL,
    CANCELLED_BYTES, CHURN, CHURN_BYTES, EXPIRE, EXPIRE_JUMPING, FRESH_BYTES, FRESH_SCHEDULE,
    Figure, LONGEST_CALL, RANDOM_CANCEL, REFRESH,
};
use crate::ledger::Ledger;

const WHEEL: &str = "wheel";
const SET_WITH_SLAB: &str = "btree+slab";
const SET: &str = "btree";
const SLAB: &str = "slab";
const DELAY_QUEUE: &str = "delayqueue";
const TEXTBOOK: &str = "textbook";

const MANY: usize = 1_000_000;
const FEW: usize = 10_000;

/// How the wheel is to stand to a rival: their medians, or of single calls the least samples.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// The rival's median is at least so many times the wheel's.
    Faster(f64),
    /// The wheel's median is at most so many times the rival's.
    Within(f64),
    /// The wheel's median is below the rival's.
    Below,
}

/// One thing that the wheel is to achieve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) n: usize,
    pub(crate) figure: Figure,
    pub(crate) rival: &'static str,
    /// Differs from the wheel's only where the rival has no such figure of its own.
    rival_figure: Figure,
    pub(crate) bound: Bound,
}

/// A goal whose subjects were measured.
pub(crate) struct Verdict {
    pub(crate) goal: Goal,
    /// The rival's median in units of the wheel's.
    pub(crate) ratio: f64,
}

impl Goal {
    const fn new(n: usize, figure: Figure, rival: &'static str, bound: Bound) -> Self {
        Self {
            n,
            figure,
            rival,
            rival_figure: figure,
            bound,
        }
    }

    fn judge(self, ledger: &Ledger) -> Option<Verdict> {
        let wheel = ledger.find(self.n, WHEEL, self.figure)?.value();
        let rival = ledger.find(self.n, self.rival, self.rival_figure)?.value();
        Some(Verdict {
            goal: self,
            ratio: rival / wheel,
        })
    }
}

impl Verdict {
    pub(crate) fn is_met(&self) -> bool {
        match self.goal.bound {
            Bound::Faster(least) => self.ratio >= least,
            Bound::Within(most) => 1.0 / self.ratio <= most,
            Bound::Below => self.ratio > 1.0,
        }
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
    use Bound::{Below, Faster, Within};

    let at_many = |figure, rival, bound| Goal::new(MANY, figure, rival, bound);
    let at_few = |figure, rival, bound| Goal::new(FEW, figure, rival, bound);
    let mut goals = vec![
        at_many(FRESH_SCHEDULE, SET_WITH_SLAB, Faster(20.0)),
        at_many(FRESH_SCHEDULE, SLAB, Within(2.0)),
        at_many(FRESH_SCHEDULE, DELAY_QUEUE, Faster(5.0)),
        at_many(RANDOM_CANCEL, SET_WITH_SLAB, Faster(8.0)),
        at_many(RANDOM_CANCEL, SLAB, Within(4.0)),
        at_many(RANDOM_CANCEL, DELAY_QUEUE, Faster(6.0)),
        at_many(AGED_SCHEDULE, SET_WITH_SLAB, Faster(9.0)),
        at_many(AGED_SCHEDULE, SLAB, Within(0.3)),
        at_many(CHURN, SET_WITH_SLAB, Faster(9.0)),
        at_many(CHURN, SLAB, Within(3.0)),
        at_many(CHURN, DELAY_QUEUE, Faster(6.0)),
        at_many(REFRESH, SET_WITH_SLAB, Faster(22.0)),
        at_many(REFRESH, SLAB, Within(2.0)),
        at_many(REFRESH, DELAY_QUEUE, Faster(14.0)),
        at_many(EXPIRE, SET_WITH_SLAB, Faster(3.0)),
        at_many(EXPIRE, SET, Within(1.0)),
        at_many(EXPIRE, DELAY_QUEUE, Faster(9.0)),
        at_many(FRESH_BYTES, SET_WITH_SLAB, Within(1.1)),
        at_many(CANCELLED_BYTES, SET_WITH_SLAB, Within(1.1)),
        at_many(CHURN_BYTES, SET_WITH_SLAB, Within(1.1)),
        at_many(LONGEST_CALL, SET_WITH_SLAB, Within(3.0)),
        at_many(CALM_LONGEST_CALL, SET_WITH_SLAB, Within(3.0)),
        Goal {
            rival_figure: LONGEST_CALL,
            ..at_many(BUDGETED_LONGEST_CALL, SET_WITH_SLAB, Below)
        },
        Goal {
            rival_figure: CALM_LONGEST_CALL,
            ..at_many(CALM_BUDGETED_LONGEST_CALL, SET_WITH_SLAB, Below)
        },
    ];
    for figure in [FRESH_SCHEDULE, RANDOM_CANCEL, CHURN, REFRESH] {
        goals.push(at_few(figure, SET_WITH_SLAB, Faster(6.0)));
        goals.push(at_few(figure, DELAY_QUEUE, Faster(5.0)));
    }
    goals.push(at_few(EXPIRE, SET_WITH_SLAB, Within(1.0)));
    goals.push(at_few(EXPIRE, DELAY_QUEUE, Faster(8.0)));
    let all_of_w1_to_w4 = [
        FRESH_SCHEDULE,
        RANDOM_CANCEL,
        AGED_SCHEDULE,
        EXPIRE,
        EXPIRE_JUMPING,
        CHURN,
        REFRESH,
    ];
    for figure in all_of_w1_to_w4 {
        goals.push(at_few(figure, TEXTBOOK, Within(1.0)));
    }
    for figure in all_of_w1_to_w4 {
        goals.push(at_many(figure, TEXTBOOK, Within(1.0)));
    }
    goals.push(at_many(EXPIRE, TEXTBOOK, Faster(4.0)));
    goals.push(at_many(REFRESH, TEXTBOOK, Faster(3.0)));
    goals.push(at_many(LONGEST_CALL, TEXTBOOK, Faster(10.0)));
    goals.push(at_many(CALM_LONGEST_CALL, TEXTBOOK, Faster(10.0)));
    goals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bound: Bound, ratio: f64) -> bool {
        let goal = Goal::new(MANY, CHURN, SLAB, bound);
        Verdict { goal, ratio }.is_met()
    }

    #[test]
    fn verdict_on_the_bound_is_met() {
        assert!(verdict(Bound::Faster(4.0), 4.0));
        assert!(!verdict(Bound::Faster(4.0), 3.9));
        assert!(verdict(Bound::Within(2.0), 0.5));
        assert!(!verdict(Bound::Within(2.0), 0.49));
        assert!(!verdict(Bound::Below, 1.0));
    }

    #[test]
    fn goal_without_its_subjects_is_left_out() {
        let mut ledger = Ledger::new();
        ledger.record(MANY, WHEEL, CHURN.sample(10.0));
        assert!(judge(&ledger).is_empty());
        ledger.record(MANY, SLAB, CHURN.sample(5.0));
        let verdicts = judge(&ledger);
        assert_eq!(verdicts.len(), 1);
        assert!(verdicts[0].is_met());
    }
}
