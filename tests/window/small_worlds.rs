//! Small worlds, explored entirely: every history up to a length, of a window for one row or two, with two ids and three
//! deadlines.
//!
//! Histories are extended by all that may come next, one operation at a time. Those that lead to the same state of store,
//! window and host are one from there on, and are counted: what comes next does not depend on how the state was reached.
//! Each state is checked, and each comes to a good end. A state is compared by all that it holds, where numbers of rows count
//! by their order alone. As a window cannot be copied, each state is reached by its history.
//!
//! At most two rows wait in the store, two pieces of news and two scans are under way, and one row has claimed work.

use std::collections::BTreeSet;
use std::collections::hash_map::{DefaultHasher, Entry, HashMap};
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::panic::catch_unwind;

use crate::rules::CASES;

use super::{End, Ids, News, Op, Row, Rule, World};

/// Deadlines, and what the clock shows.
const TIMES: [u64; 3] = [1, 2, 3];

/// How many histories there are at least, so that none of what may happen is lost.
const LEAST: u128 = 13_000_000;

const LEAST_LONG: u128 = 4_000_000_000;

/// What was there before: nothing that is known, or all of a store without rows.
const STARTS: [&[Op]; 2] = [&[], &[Op::Ask, Op::Answer { scan: 0, rows: 0, odd: 0, end: true }]];

/// Prints into a hash.
struct Print(DefaultHasher);

impl Write for Print {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl World {
    /// All that may happen next.
    fn choices(&self) -> Vec<Op> {
        let mut ops = vec![Op::Ask, Op::Poll, Op::Reset, Op::Crash { late: false }];
        let at = |deadline: u64| (deadline as i64 - self.now as i64) as i8;
        let has_room = self.store.len() + self.open.len() < 2 && self.news.len() < 2;
        for id in 0..2 {
            let is_live = |row: &Row| row.1 == self.id(id);
            let is_taken = self.store.keys().any(is_live) || self.open.iter().any(|open| is_live(&open.0));
            let is_next = self.ids != Ids::Once || (id == 0 && self.inserts < 3);
            if has_room && !is_taken && is_next {
                ops.extend(TIMES.map(|time| Op::Insert { id, at: at(time), open: false }));
                ops.push(Op::Insert { id, at: at(TIMES[0]), open: true });
            }
        }
        if !self.open.is_empty() {
            ops.push(Op::Commit(0));
        }
        for n in 0..self.store.len() as u8 {
            ops.push(Op::Remove(n));
            if has_room {
                ops.extend(TIMES.map(|time| Op::Move { row: n, at: at(time) }));
            }
        }
        for (n, news) in (0..).zip(&self.news) {
            ops.push(Op::Tell(n));
            if matches!(news, News::Inserted(..)) {
                ops.push(Op::Lose(n));
            }
        }
        for (n, scan) in (0..).zip(&self.scans) {
            ops.push(Op::Fail(n));
            if scan.seen.is_none() {
                ops.push(Op::See(n));
            }
            for odd in if scan.seen.is_some() { 0..4 } else { 0..2 } {
                ops.extend((0..scan.load.limit as u8).map(|rows| Op::Answer { scan: n, rows, odd, end: true }));
            }
        }
        if !self.scans.is_empty() {
            ops.extend([Op::Drop(0), Op::Crash { late: true }]);
        }
        if !self.work.is_empty() {
            let ends = [End::Gone, End::Later(at(TIMES[2])), End::Stays { told_first: false }];
            ops.extend(ends.map(|end| Op::Finish { work: 0, end }));
        }
        if self.now < TIMES[2] {
            ops.push(Op::Pass(1));
        }
        if self.now > TIMES[0] {
            ops.push(Op::Back(1));
        }
        let has_news = self.news.iter().any(|news| matches!(news, News::Inserted(..) | News::Removed(_)));
        for all in [false, true].into_iter().filter(|all| *all || self.floor.is_some()) {
            ops.extend([false, true].into_iter().filter(|cut| !cut || has_news).map(|cut| Op::Recheck { all, cut }));
        }
        ops.push(Op::Floor);
        ops.retain(|op| self.is_small(op));
        ops
    }

    /// Whether not too much is under way.
    fn is_small(&self, op: &Op) -> bool {
        match op {
            Op::Ask | Op::Floor => self.scans.len() < 2,
            Op::Poll => self.pending.len() < 2,
            Op::Finish { .. } | Op::Remove(_) => self.news.len() < 3,
            _ => true,
        }
    }

    /// All that the world holds, but for what nothing depends on.
    fn fingerprint(&self) -> u128 {
        let mut numbers: Vec<u64> = self.store.values().chain(self.work.values()).copied().collect();
        numbers.extend(self.open.iter().map(|open| open.1));
        numbers.extend(self.news.iter().filter_map(|news| match news {
            News::Inserted(_, number) => Some(number),
            _ => None,
        }));
        numbers.sort_unstable();
        numbers.dedup();
        let rank = |number: &u64| numbers.binary_search(number).ok();
        let ranks = |set: &BTreeSet<u64>| set.iter().filter_map(rank).collect::<Vec<_>>();
        let by_rank = |(row, number): (&Row, &u64)| (*row, rank(number));
        let mut print = Print(DefaultHasher::new());
        let known = [&self.told, &self.owed, &self.silent, &self.finished].map(ranks);
        let host = (self.now, self.floor, self.is_rechecking, self.is_deaf, &self.pending, known);
        let rows: Vec<_> = self.store.iter().map(by_rank).collect();
        let work: Vec<_> = self.work.iter().map(by_rank).collect();
        let open: Vec<_> = self.open.iter().map(|(row, number)| by_rank((row, number))).collect();
        (host, rows, work, open, self.news.len(), self.scans.len()).hash(&mut print.0);
        for news in &self.news {
            match news {
                News::Inserted(row, number) => (0, row, rank(number)).hash(&mut print.0),
                News::Removed(row) => (1, row, None::<usize>).hash(&mut print.0),
                News::Done(row) => (2, row, None::<usize>).hash(&mut print.0),
                News::Stays { row, told_first } => (3, row, Some(usize::from(*told_first))).hash(&mut print.0),
            }
        }
        for scan in &self.scans {
            // If the window waits for a scan, it is the last that it asked for.
            let is_last = scan.number == self.asked;
            (scan.load.after, scan.load.limit, &scan.seen, scan.is_known, is_last).hash(&mut print.0);
        }
        if self.ids == Ids::Once {
            (self.inserts, &self.used).hash(&mut print.0);
        }
        if self.broken == Some(Rule::ScanThePrimary) {
            self.replica.hash(&mut print.0);
        }
        write!(print, "{:?}", self.window).expect("hashing does not fail");
        let first = print.0.finish();
        print.0.write_u8(0);
        u128::from(first) << 64 | u128::from(print.0.finish())
    }
}

/// How many histories there were, and how many states they led to.
struct Found {
    histories: u128,
    states: usize,
}

/// The world after a history, of which all but the last operation were checked before.
fn reached(mut world: World, history: &[Op]) -> World {
    history.iter().for_each(|op| _ = world.apply(*op));
    world.check();
    world
}

/// A history that led to a state first, and what may come next there.
struct State {
    history: Vec<Op>,
    choices: Vec<Op>,
    next: Vec<usize>,
}

/// Runs every history of up to so many operations.
fn explore(capacity: usize, ids: Ids, broken: Option<Rule>, start: &[Op], length: usize) -> Found {
    let begin = || reached(World::new(capacity, ids, TIMES[0], broken), start);
    let mut places = HashMap::from([(begin().fingerprint(), 0)]);
    let mut states = vec![State { history: Vec::new(), choices: begin().choices(), next: Vec::new() }];
    for n in 0.. {
        if n == states.len() || states[n].history.len() == length {
            break;
        }
        for choice in std::mem::take(&mut states[n].choices) {
            let history = [&states[n].history[..], &[choice]].concat();
            let mut world = reached(begin(), &history);
            let place = match places.entry(world.fingerprint()) {
                Entry::Occupied(place) => *place.get(),
                Entry::Vacant(place) => {
                    states.push(State { history, choices: world.choices(), next: Vec::new() });
                    world.drain();
                    *place.insert(states.len() - 1)
                }
            };
            states[n].next.push(place);
        }
    }
    // How many histories of the length of the moment lead to each state.
    let mut counts = vec![0; states.len()];
    counts[0] = 1;
    let mut histories = 1;
    for _ in 0..length {
        let mut next = vec![0; states.len()];
        for (state, count) in states.iter().zip(counts) {
            state.next.iter().for_each(|place| next[*place] += count);
        }
        histories += next.iter().sum::<u128>();
        counts = next;
    }
    Found { histories, states: states.len() }
}

/// Runs every history of a host that keeps the rules.
fn explore_all(length: usize) -> u128 {
    let mut total = 0;
    for ids in [Ids::Once, Ids::Again, Ids::InOrder] {
        for capacity in [1, 2] {
            for start in STARTS {
                let Found { histories, states } = explore(capacity, ids, None, start, length);
                println!("{ids:?}, capacity {capacity}, {start:?}: {histories} histories, {states} states");
                total += histories;
            }
        }
    }
    println!("{total} histories");
    total
}

#[test]
fn no_history_loses_a_row() {
    assert!(explore_all(5) > LEAST);
}

#[test]
#[ignore = "a minute in release mode"]
fn no_long_history_loses_a_row() {
    assert!(explore_all(7) > LEAST_LONG);
}

#[test]
fn every_host_that_breaks_a_rule_is_found_out_by_a_short_history() {
    for (rule, ids, ..) in CASES {
        let is_found = |start| catch_unwind(|| explore(2, ids, Some(rule), start, 6)).is_err();
        assert!(STARTS.iter().any(|start| is_found(*start)), "{rule:?}");
    }
}
