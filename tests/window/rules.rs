//! Hosts that break a rule: the shortest history that finds each out, which does no harm to a host that keeps the rule.

use std::panic::catch_unwind;

use crate::bytes::decode;
use crate::rng::Rng;
use crate::script::End::Gone;
use crate::script::Op::{Answer, Ask, Crash, Finish, Insert, Move, Poll, Remove, Reset, See, Tell};
use crate::script::{Ids, Op, Script};
use crate::world::{Rule, run};

const ANSWER: Op = Answer { scan: 0, rows: 0, odd: 0, end: true };

fn insert(at: i8) -> Op {
    Insert { id: 0, at, open: false }
}

/// The panic of a host that breaks the rule.
fn complaint(history: &Script, rule: Rule) -> Option<String> {
    let panic = catch_unwind(|| run(history, Some(rule))).err()?;
    panic.downcast_ref::<String>().cloned()
}

#[track_caller]
fn is_needed(rule: Rule, ids: Ids, ops: &[Op], expected: &str) {
    let history = Script { capacity: 4, ids, start: 100, ops: ops.to_vec() };
    run(&history, None);
    let complaint = complaint(&history, rule).expect("the host is found out");
    assert!(complaint.contains(expected), "{complaint}");
}

#[test]
fn insert_not_told_during_a_scan_that_missed_it_is_lost() {
    is_needed(Rule::TellDuringScans, Ids::Once, &[Ask, See(0), insert(0), Tell(0), ANSWER], "1 rows are told");
}

#[test]
fn insert_told_before_the_commit_is_lost() {
    let open = Insert { id: 0, at: 0, open: true };
    is_needed(Rule::TellAfterTheCommit, Ids::Once, &[Ask, ANSWER, open, Poll], "1 rows are told");
}

#[test]
fn insert_whose_news_are_lost_waits_for_a_reset() {
    is_needed(Rule::ResetAfterLostNews, Ids::Once, &[Ask, ANSWER, insert(0), Reset], "1 rows are told");
}

#[test]
fn removal_told_after_the_insert_at_the_same_position_loses_that() {
    let ops = [Ask, ANSWER, insert(0), Remove(0), insert(0), Tell(2), Tell(1)];
    is_needed(Rule::TellRemovalsInOrder, Ids::Again, &ops, "1 rows are told");
    // The host that keeps the rule may tell them: in the order of the commits.
    run(&Script { capacity: 4, ids: Ids::InOrder, start: 100, ops: ops.to_vec() }, None);
}

#[test]
fn scan_of_a_replica_that_lags_loses_a_row() {
    is_needed(Rule::ScanThePrimary, Ids::Once, &[insert(0), Tell(0), Ask, ANSWER], "1 rows are told");
}

#[test]
fn scan_that_skips_a_locked_row_loses_it() {
    let answer = Answer { scan: 0, rows: 0, odd: 1, end: true };
    is_needed(Rule::LeaveNoGap, Ids::Once, &[insert(1), insert(2), Crash { late: false }, Ask, answer], "is late for");
}

#[test]
fn scan_that_ends_early_loses_the_rest() {
    let short = Answer { scan: 0, rows: 1, odd: 0, end: true };
    is_needed(Rule::EndAtTheEnd, Ids::Once, &[insert(0), insert(0), Crash { late: false }, Ask, short, Poll], "1 rows");
}

#[test]
fn row_that_was_removed_runs_if_nobody_looks() {
    is_needed(Rule::LookAtTheRow, Ids::Again, &[insert(0), Ask, ANSWER, Remove(0), Poll], "was removed, and runs");
}

#[test]
fn row_that_was_moved_is_early_if_it_is_looked_for_by_its_id() {
    let ops = [insert(0), Ask, ANSWER, Move { row: 0, at: 9 }, Poll];
    is_needed(Rule::LookAtThePosition, Ids::Again, &ops, "is early");
}

#[test]
fn row_that_is_done_before_a_commit_that_fails_is_lost() {
    let ops = [insert(0), Ask, ANSWER, Poll, Finish { work: 0, end: Gone }, Tell(1)];
    is_needed(Rule::DoneAfterTheCommit, Ids::Once, &ops, "1 rows are told");
}

/// The random histories are sharp enough: they find out every host.
#[test]
fn random_histories_find_out_every_host_that_breaks_a_rule() {
    for rule in Rule::ALL {
        let mut numbers = Rng(0x9e37_79b9_7f4a_7c15);
        let mut histories = (0..1_000).map(|_| decode::<Script>(&numbers.bytes(600), usize::MAX));
        assert!(histories.any(|history| complaint(&history, rule).is_some()), "{rule:?}");
    }
}
