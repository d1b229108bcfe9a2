//! Small worlds, explored entirely: every sequence of operations up to a length, in geometries so
//! small that a handful of nanoseconds pass through all levels and beyond.
//!
//! A world is a place to start and an alphabet: the operations that may come next, one for each live
//! timer where a timer is meant. The tree of all sequences is walked depth first. Each node is a copy
//! of its parent with one operation more, compared in everything, as [`Pair`] does it; and at each leaf
//! all that is left fires. In these geometries two timers need no lists and five in a bucket are a crowd.

use timer_wheel::{Budget, Geometry};

use crate::geometries::{Tiny, TinyTick};
use crate::pair::Pair;
use crate::script::{Op, Pick, Rule, When, spans};

/// What is in a world and may happen there. All times are in nanoseconds from the clock of the moment.
struct Alphabet {
    /// What has happened before, given the nanoseconds in a tick.
    before: fn(tick: u64) -> Vec<Op>,
    /// Timers are scheduled and rescheduled to be due after these.
    deadlines: &'static [u64],
    /// Advances go this far and yield all that is due.
    steps: &'static [u64],
    /// Advances go this far with a budget: `(step, budget)`.
    budgeted: &'static [(u64, usize)],
    /// Whatever else there is to do.
    others: &'static [Op],
}

/// Timers at the end of time with which a wheel makes lists. Nothing is done to them one by one.
const BALLAST: u8 = 3;

/// A ballast, and so many timers from a tick on, so far apart.
fn with_lists(from_tick: u64, step: u64, count: u8) -> Vec<Op> {
    let ballast = Op::Storm(When::At(u64::MAX), 0, BALLAST);
    vec![ballast, Op::Storm(When::In(from_tick), step, count)]
}

/// Everything that can be done to a wheel, at moments on every level, in the past and beyond.
const BROAD: Alphabet = Alphabet {
    before: |_| with_lists(0, 0, 0),
    deadlines: &[0, 1, 2, 3, 5, 9, 17, 40],
    steps: &[0, 1, 2, 4, 8, 33],
    budgeted: &[(0, 1), (1, 1), (9, 1), (9, 2), (9, 3), (33, 1), (33, 2)],
    others: &[
        Op::Schedule(When::Ago(1)),
        Op::Schedule(When::At(u64::MAX)),
        Op::Advance(When::Ago(1)),
        Op::Advance(When::At(u64::MAX)),
        Op::AdvanceDropped(When::In(9), 0),
        Op::AdvanceDropped(When::In(9), 1),
        Op::AdvanceWith(When::In(9), Budget::of_work(4), Rule::Every(3)),
        Op::AdvanceWith(When::In(33), Budget::of_work(3), Rule::Mixed(1, 5)),
        Op::Pop(When::In(1)),
        Op::Pop(When::In(33)),
        Op::PopFirst,
        Op::PeekFirst,
        Op::Prepare(When::In(9), 2),
        Op::Prepare(When::In(33), usize::MAX),
        Op::Drain(1),
        Op::Clear,
        Op::Shrink,
        Op::AddLane,
        Op::Lane(None),
    ],
};

/// A crowd that is moved ahead, in instalments, while timers come and go around it: six timers in the next bucket of
/// level 3, which begins in three ticks.
const CROWD: Alphabet = Alphabet {
    before: |tick| with_lists(3 * tick, tick, 6),
    deadlines: &[0, 12],
    steps: &[1, 4],
    budgeted: &[(1, 1), (6, 2)],
    others: &[Op::PopFirst],
};

/// The same with the crowd in the third far bucket, and half of it in the second from there.
const FAR_CROWD: Alphabet = Alphabet {
    before: |tick| with_lists(43 * tick, 5 * tick, 13),
    deadlines: &[0, 60],
    steps: &[20, 27],
    budgeted: &[(20, 1), (33, 2)],
    ..CROWD
};

impl Alphabet {
    /// What may come next when so many timers are live. Of many the first, the last and one in the middle are
    /// picked.
    fn ops(&self, live: usize) -> Vec<Op> {
        let moments = || self.deadlines.iter().map(|&delay| When::In(delay));
        let mut timers: Vec<usize> = (0..live).collect();
        if live > 4 {
            timers = vec![0, live / 2, live - 1];
        }
        let mut ops: Vec<Op> = moments().map(Op::Schedule).collect();
        for timer in timers {
            let timer = Pick::Live(timer as u8);
            ops.push(Op::Cancel(timer));
            ops.extend(moments().map(|to| Op::Reschedule(timer, to)));
        }
        ops.extend(self.steps.iter().map(|&step| Op::Advance(When::In(step))));
        ops.extend(
            self.budgeted.iter().map(|&(step, work)| Op::AdvanceBudgeted(When::In(step), Budget::of_work(work), 0)),
        );
        ops.extend_from_slice(self.others);
        ops
    }
}

/// The walk through one world.
struct Walk<'a> {
    alphabet: &'a Alphabet,
    start: u64,
    /// The operations that led here; told when a comparison fails.
    path: Vec<Op>,
    found: Found,
}

/// How many sequences there were of the full length, and what comparisons on the way found: timers of a crowd moved
/// ahead of their time, and timers in each of the first three far buckets.
#[derive(Debug, Default)]
struct Found {
    leaves: u64,
    moved_ahead: usize,
    far: [usize; 3],
}

impl Walk<'_> {
    fn explore<G: Geometry>(&mut self, pair: &Pair<G>, left: usize) {
        let live = pair.model.len();
        let ballast = pair.model.ascending().rev().take(BALLAST.into());
        let ballast = ballast.filter(|(_, timer)| timer.deadline == u64::MAX);
        for op in self.alphabet.ops(live - ballast.count()) {
            self.path.push(op);
            let mut next = pair.clone();
            next.apply(&self.path[self.path.len() - 1]);
            if left > 1 {
                self.explore(&next, left - 1);
            } else {
                next.finish();
                self.found.leaves += 1;
                self.found.moved_ahead += next.moved_ahead;
                self.found.far.iter_mut().zip(next.far).for_each(|(found, far)| *found += far);
            }
            self.path.pop();
        }
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("from {} on: {:?}", self.start, self.path);
        }
    }
}

/// Runs every sequence of so many operations from each start.
fn explore<G: Geometry>(alphabet: &Alphabet, starts: &[u64], length: usize) -> Found {
    let mut found = Found::default();
    for &start in starts {
        let mut pair = Pair::<G>::new(start);
        let before = (alphabet.before)(1 << G::TICK_BITS);
        before.iter().for_each(|op| pair.apply(op));
        let mut walk = Walk { alphabet, start, path: Vec::with_capacity(length), found };
        walk.explore(&pair, length);
        found = std::mem::take(&mut walk.found);
    }
    found
}

/// Clocks at which the levels stand differently: in the middle of their laps, all at the beginning,
/// one tick before the first far rotation, and so that time ends within reach.
fn starts<G: Geometry>() -> [u64; 4] {
    let [tick, .., rotation] = spans::<G>();
    [rotation + 5 * tick + tick / 2, 0, rotation - tick, u64::MAX - 6 * tick]
}

/// Every sequence of a length in one world from one clock, and by command every longer one from four. How far a budget goes
/// is not promised, so the number of sequences may change a little.
macro_rules! worlds {
    ($($name:ident, $long:ident: $alphabet:ident in $geometry:ident, $length:literal operations: $least:literal;)*) => {$(
        #[test]
        fn $name() {
            let found = explore::<$geometry>(&$alphabet, &starts::<$geometry>()[..1], $length);
            assert!(found.leaves >= $least, "too few sequences: {found:?}");
            let has_crowds = stringify!($alphabet).contains("CROWD");
            assert!(found.moved_ahead > 0 || !has_crowds, "no crowd was moved ahead");
            let is_far = stringify!($alphabet) == "FAR_CROWD";
            assert!(found.far.iter().all(|&found| found > 100) || !is_far, "a far bucket was not reached");
        }

        #[test]
        #[ignore = "minutes in release mode"]
        fn $long() {
            println!("{:?}", explore::<$geometry>(&$alphabet, &starts::<$geometry>(), $length + 1));
        }
    )*};
}

worlds! {
    broad_world_agrees_with_model, long_broad_world_agrees_with_model: BROAD in TinyTick, 3 operations: 48_000;
    crowd_agrees_with_model, long_crowd_agrees_with_model: CROWD in Tiny, 4 operations: 30_000;
    far_crowd_agrees_with_model, long_far_crowd_agrees_with_model: FAR_CROWD in Tiny, 4 operations: 30_000;
}
