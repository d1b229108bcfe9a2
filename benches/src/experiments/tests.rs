//! Right answers agree, and wrong ones do not.

use super::Kind::*;
use super::*;
use crate::answer::agree;
use crate::btree::{BTreeQueue, LeanBTreeQueue, SplitMap};
use crate::queue::{Applied, Order, OutOfLine, TwoSets};
use crate::rivals::Handwritten;
use crate::subject::{self, Same, Subject};
use crate::textbook::TextbookWheel;
use timer_wheel::ttl::{TtlQueue, TtlSet};

const N: usize = 500;

/// How a queue goes wrong.
const LATE: u8 = 0;
const EARLY: u8 = 1;
const FORGETFUL: u8 = 2;
const UNFAIR: u8 = 3;
const HOURS_LATE: u8 = 4;
const NONE: u8 = 5;

/// An exact queue with a fault put in.
struct Faulty<const FAULT: u8>(BTreeQueue<u32>);

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
        self.0.pop_expired(match FAULT {
            LATE => now.saturating_sub(3 << 30),
            EARLY => now + (3 << 30),
            HOURS_LATE => now.saturating_sub(10 << 40),
            _ => now,
        })
    }
}

/// Whether a queue is caught in an experiment, by itself or beside one that is right.
fn is_caught<const FAULT: u8>(kind: Kind) -> bool {
    let mut known = Parts::default();
    [Subject::of::<Same<BTreeQueue<u32>>>(), Subject::of::<Same<Faulty<FAULT>>>()].iter().any(|subject| {
        (subject.measure)(kind, N).and_then(|told| agree(&mut known, &told.unwrap_or_default().0)).is_err()
    })
}

#[test]
fn queue_with_a_fault_is_caught() {
    type IsCaught = fn(Kind) -> bool;
    let faults: [(&str, IsCaught, &[Kind]); 5] = [
        ("late", is_caught::<LATE>, &[Expire, Budgeted, AtOnce, Pause, Small, Far, Slots, Burst, Idle]),
        ("early", is_caught::<EARLY>, &[Expire, Slots, Idle]),
        ("hours late", is_caught::<HOURS_LATE>, &[Caffeine]),
        ("forgetful", is_caught::<FORGETFUL>, &[Fill, Churn, Refresh, Peak, Pause, Small, Slots, Burst]),
        ("unfair", is_caught::<UNFAIR>, &[AtOnce, Churn, Hold, Evict, Burst]),
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
    for kind in [Fill, Expire, AtOnce, Pause, Evict, Small, Burst, Idle] {
        let mut known = Parts::default();
        for subject in [
            Subject::of::<Same<Faulty<NONE>>>(),
            Subject::of::<Same<LeanBTreeQueue<u32>>>(),
            Subject::of::<Same<SplitMap>>(),
            Subject::of::<Same<Handwritten<{ crate::rivals::FINE }>>>(),
            Subject::of::<Same<OutOfLine<TextbookWheel<u32>>>>(),
            Subject::of::<Same<Applied<TtlSet<u32>>>>(),
            Subject::of::<Same<Applied<TtlQueue<u32>>>>(),
            Subject::of::<Same<Applied<TwoSets>>>(),
        ] {
            // Of the textbook's wheel and of TTLs the earliest cannot be evicted.
            let Some((parts, samples)) = (subject.measure)(kind, N).unwrap() else { continue };
            agree(&mut known, &parts).unwrap();
            let has = |figure: &&Figure| !figure.is_beyond(subject.lacks);
            assert_eq!(samples.len(), kind.figures().iter().filter(has).count(), "{} in {kind:?}", subject.name);
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
