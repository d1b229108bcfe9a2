//! Hosts that break a rule: the shortest history that finds each out, which does no harm to a host that keeps the rule.

use std::panic::catch_unwind;

use crate::bytes::decode;
use crate::rng::Rng;
use crate::script::End::Gone;
use crate::script::Op::{
    Answer, Ask, Crash, Finish, Floor, Insert, Lose, Move, Pass, Poll, Recheck, Remove, See, Tell,
};
use crate::script::{Ids, Op, Script};
use crate::world::{Rule, run};

const ANSWER: Op = Answer { scan: 0, rows: 0, odd: 0, end: true };

/// Of a scan that skips the first row.
const GAP: Op = Answer { scan: 0, rows: 0, odd: 1, end: true };

/// Of a scan that ends after one row.
const SHORT: Op = Answer { scan: 0, rows: 1, odd: 0, end: true };

const CRASH: Op = Crash { late: false };

const LOST: Op = Recheck { all: true, cut: true };

const RECHECK: Op = Recheck { all: false, cut: false };

const FINISH: Op = Finish { work: 0, end: Gone };

const fn insert(at: i8) -> Op {
    Insert { id: 0, at, open: false }
}

/// A rule, whether positions are used again, a history that needs the rule, and how it finds out a host that breaks it.
pub(crate) type Case = (Rule, Ids, &'static [Op], &'static str);

pub(crate) const CASES: [Case; 14] = [
    // An insert that is not announced during a scan that missed it is lost.
    (Rule::TellDuringScans, Ids::Once, &[Ask, See(0), insert(0), Tell(0), ANSWER], "1 rows are told"),
    // So is an insert that is announced before its commit.
    (Rule::TellAfterTheCommit, Ids::Once, &[Ask, ANSWER, Insert { id: 0, at: 0, open: true }, Poll], "1 rows are told"),
    // An insert whose news are lost waits for a recheck.
    (Rule::RecheckAfterLostNews, Ids::Once, &[Ask, ANSWER, insert(0), LOST], "1 rows are told"),
    // If it is asked for before news arrive again, it misses what comes in between.
    (Rule::SubscribeFirst, Ids::Once, &[Ask, ANSWER, LOST, Ask, See(0), insert(0), ANSWER], "1 rows are told"),
    // A row that is inserted up to the floor, without news, is found by a recheck of all rows alone.
    (Rule::RecheckAll, Ids::Once, &[Ask, ANSWER, Floor, insert(-5), Lose(0), RECHECK, Ask, ANSWER], "left over"),
    // A new owner of the partition does not find a row that was pending.
    (Rule::FloorBelowPending, Ids::Once, &[insert(0), CRASH, Ask, ANSWER, Poll, Pass(9), Floor], "is up to the floor"),
    // Nor a row that was late for a load.
    (Rule::FloorAtRest, Ids::Once, &[insert(0), CRASH, Pass(9), Ask, Floor], "is up to the floor"),
    // A removal that is announced after the insert at the same position loses that.
    (
        Rule::TellRemovalsInOrder,
        Ids::Again,
        &[Ask, ANSWER, insert(0), Remove(0), insert(0), Tell(2), Tell(1)],
        "1 rows are told",
    ),
    // A scan of a replica that lags loses a row.
    (Rule::ScanThePrimary, Ids::Once, &[insert(0), Tell(0), Ask, ANSWER], "1 rows are told"),
    // So does a scan that skips a locked row.
    (Rule::LeaveNoGap, Ids::Once, &[insert(1), insert(2), CRASH, Ask, GAP], "is late for"),
    // A scan that ends early loses the rest.
    (Rule::EndAtTheEnd, Ids::Once, &[insert(0), insert(0), CRASH, Ask, SHORT, Poll], "1 rows"),
    // A row that was removed runs if nobody looks.
    (Rule::LookAtTheRow, Ids::Again, &[insert(0), Ask, ANSWER, Remove(0), Poll], "was removed, and runs"),
    // A row that was moved is early if it is looked for by its id.
    (Rule::LookAtThePosition, Ids::Again, &[insert(0), Ask, ANSWER, Move { row: 0, at: 9 }, Poll], "is early"),
    // A row that is done before a commit that fails is lost.
    (Rule::DoneAfterTheCommit, Ids::Once, &[insert(0), Ask, ANSWER, Poll, FINISH, Tell(1)], "1 rows are told"),
];

/// The panic of a host that breaks the rule.
fn complaint(history: &Script, rule: Rule) -> Option<String> {
    let panic = catch_unwind(|| run(history, Some(rule))).err()?;
    panic.downcast_ref::<String>().cloned()
}

#[test]
fn host_that_breaks_a_rule_is_found_out_by_a_history_that_does_no_harm_to_another() {
    for (rule, ids, ops, expected) in CASES {
        let history = |ids| Script { capacity: 4, ids, start: 100, ops: ops.to_vec() };
        run(&history(ids), None);
        let complaint = complaint(&history(ids), rule).unwrap_or_else(|| panic!("{rule:?} is not found out"));
        assert!(complaint.contains(expected), "{rule:?}: {complaint}");
        if rule == Rule::TellRemovalsInOrder {
            // The host that keeps the rule may announce them: in the order of the commits.
            run(&history(Ids::InOrder), None);
        }
    }
}

/// The random histories are sharp enough: they find out every host.
#[test]
fn random_histories_find_out_every_host_that_breaks_a_rule() {
    for (rule, ..) in CASES {
        let mut numbers = Rng(0x9e37_79b9_7f4a_7c15);
        let mut histories = (0..1_000).map(|_| decode::<Script>(&numbers.bytes(600), usize::MAX));
        assert!(histories.any(|history| complaint(&history, rule).is_some()), "{rule:?}");
    }
}
