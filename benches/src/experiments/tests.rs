//! Right answers agree, and wrong ones do not.

use super::*;
use crate::answer::{Parts, agree};
use crate::btree::{BTreeQueue, LeanBTreeQueue, SplitMap};
use crate::queue::{Applied, Order, OutOfLine, TwoSets};
use crate::subject::{self, Same, Subject};
use crate::textbook::TextbookWheel;
use timer_wheel::ttl::{TtlQueue, TtlSet};

const N: usize = 500;

/// How a queue goes wrong.
const LATE: u8 = 0;
const EARLY: u8 = 1;
const FORGETFUL: u8 = 2;
const UNFAIR: u8 = 3;
const TENACIOUS: u8 = 4;
const HOURS_LATE: u8 = 5;
const NONE: u8 = 6;

/// An exact queue with a fault put in.
struct Faulty<const FAULT: u8>(BTreeQueue<u32>);

impl<const FAULT: u8> Faulty<FAULT> {
    fn distort(now: u64) -> u64 {
        match FAULT {
            LATE => now.saturating_sub(3 << 30),
            EARLY => now + (3 << 30),
            HOURS_LATE => now + (10 << 40),
            _ => now,
        }
    }
}

impl<const FAULT: u8> Queue for Faulty<FAULT> {
    const NAME: &'static str = "faulty";
    const ORDER: Order = Order::FirstComeFirstServed;
    type Key = (u64, u64);

    fn new(now: u64) -> Self {
        Self(BTreeQueue::new(now))
    }

    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key {
        let is_moved = FAULT == UNFAIR && value % 2 == 1 && deadline > 0;
        let value = if FAULT == FORGETFUL { value & !1 } else { value };
        self.0.schedule(deadline - u64::from(is_moved), value)
    }

    fn cancel(&mut self, key: Self::Key) -> Option<u32> {
        self.0.cancel(key)
    }

    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool {
        self.0.reschedule(key, deadline)
    }

    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.0.pop_first()
    }

    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        self.0.pop_expired(Self::distort(now))
    }

    fn clear(&mut self) {
        if FAULT != TENACIOUS {
            self.0.clear();
        }
    }
}

/// Whether a queue is caught, by itself or beside one that is right.
fn is_caught<F: Family>(kind: Kind) -> bool {
    let right = Subject::of::<Same<BTreeQueue<u32>>>();
    let mut known = Parts::default();
    for measure in [right.measure, Subject::of::<F>().measure] {
        let parts = measure(kind, N, &mut Samples::new());
        let agreed = parts.and_then(|parts| agree(&mut known, &parts.unwrap_or_default()));
        if agreed.is_err() {
            return true;
        }
    }
    false
}

/// Whether a queue with a fault is caught in an experiment.
type IsCaught = fn(Kind) -> bool;

#[test]
fn queue_with_a_fault_is_caught() {
    use Kind::*;
    let faults: [(&str, IsCaught, &[Kind]); 6] = [
        (
            "late",
            is_caught::<Same<Faulty<LATE>>>,
            &[Expire, Budgeted, Burst, Pause, Small, Far, Server, Together, IdleAdvance],
        ),
        ("early", is_caught::<Same<Faulty<EARLY>>>, &[Expire, Server, IdleAdvance]),
        ("hours late", is_caught::<Same<Faulty<HOURS_LATE>>>, &[Caffeine, Evict]),
        (
            "forgetful",
            is_caught::<Same<Faulty<FORGETFUL>>>,
            &[Fill, Churn, Refresh, Peak, Pause, Small, Server, Together],
        ),
        ("tenacious", is_caught::<Same<Faulty<TENACIOUS>>>, &[Peak]),
        ("unfair", is_caught::<Same<Faulty<UNFAIR>>>, &[Burst, Churn, Hold, Evict, Together]),
    ];
    for (fault, is_caught, kinds) in faults {
        for &kind in kinds {
            assert!(is_caught(kind), "{fault} in {kind:?}");
        }
    }
}

#[test]
fn right_answers_agree_and_have_figures() {
    // The others take long without optimization; CI runs all of them.
    use Kind::*;
    for kind in [Fill, Expire, Burst, Pause, Evict, Small, Server, Together, IdleAdvance] {
        let mut known = Parts::default();
        for subject in [
            Subject::of::<Same<Faulty<NONE>>>(),
            Subject::of::<Same<LeanBTreeQueue<u32>>>(),
            Subject::of::<Same<SplitMap>>(),
            Subject::of::<Same<OutOfLine<TextbookWheel<u32>>>>(),
            Subject::of::<Same<Applied<TtlSet<u32>>>>(),
            Subject::of::<Same<Applied<TtlQueue<u32>>>>(),
            Subject::of::<Same<Applied<TwoSets>>>(),
        ] {
            let mut samples = Samples::new();
            // Of the textbook's wheel and of TTLs the earliest cannot be evicted.
            let Some(parts) = (subject.measure)(kind, N, &mut samples).unwrap() else { continue };
            agree(&mut known, &parts).unwrap();
            assert!(!samples.is_empty());
            assert!(samples.iter().all(|(name, _)| kind.figures().iter().any(|figure| figure.name == *name)));
        }
    }
}

#[test]
fn names_of_subjects_are_distinct() {
    let names = subject::ALL.iter().map(|subject| subject.name);
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}
