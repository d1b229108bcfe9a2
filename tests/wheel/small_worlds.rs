//! Small worlds, explored entirely: every sequence of operations up to a length, in geometries so
//! small that a handful of nanoseconds pass through all levels and beyond.
//!
//! A world is a place to start and an alphabet: the operations that may come next, one for each live
//! timer where a timer is meant. The tree of all sequences is walked depth first, each node a copy
//! of its parent with one operation more, run on the wheel and on its model and compared in
//! everything, as [`Pair`] does it; and at each leaf all that is left fires. No sequence is left out
//! on the ground that it looks like another.
//!
//! In these geometries two timers need no lists and five in a bucket are a crowd. Some worlds have so many from the
//! beginning.

use std::mem;

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

/// One way through every level: few operations, so that long sequences can be had. There is a
/// deadline for the finest levels, one for the coarse ones and one beyond.
const DEEP: Alphabet = Alphabet {
    before: |_| with_lists(0, 0, 0),
    deadlines: &[1, 6, 35],
    steps: &[2, 35],
    budgeted: &[(7, 1)],
    others: &[],
};

/// Everything that can be done to a wheel, at moments on every level, in the past and beyond.
const BROAD: Alphabet = Alphabet {
    before: |_| Vec::new(),
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
    ],
};

/// As [`BROAD`], where every timer makes a list.
const BROAD_LISTS: Alphabet = Alphabet { before: |_| with_lists(0, 0, 0), ..BROAD };

/// A crowd that is moved ahead, in instalments, while timers come and go around it: six timers in the next bucket of
/// level 3, which begins in three ticks.
const CROWD: Alphabet = Alphabet {
    before: |tick| with_lists(3 * tick, tick, 6),
    deadlines: &[0, 5, 12],
    steps: &[1, 4],
    budgeted: &[(1, 1), (6, 2)],
    others: &[Op::PopFirst],
};

/// The same with the crowd in the third far bucket, and half of it in the second from there.
const FAR_CROWD: Alphabet = Alphabet {
    before: |tick| with_lists(43 * tick, 5 * tick, 13),
    deadlines: &[0, 30, 60],
    steps: &[20, 27],
    budgeted: &[(20, 1), (33, 2)],
    ..CROWD
};

/// The same with the crowd in one tick.
const CROWDED_TICK: Alphabet = Alphabet { before: |tick| with_lists(2 * tick, 0, 6), deadlines: &[0, 2, 4], ..CROWD };

/// Four timers, which are few: their bucket, whose span they are due in from its third tick on, is sorted whole.
const CHAIN: Alphabet =
    Alphabet { before: |tick| with_lists(5 * tick, tick, 4), deadlines: &[0, 6, 12], steps: &[1, 3], ..CROWD };

/// Two lanes, one of which the wheel has from the beginning, and no lane, in turn. The second timer of the lane that is
/// there is its last.
const LANES: Alphabet = Alphabet {
    before: |_| {
        let mut before = with_lists(0, 0, 0);
        before.extend([Op::AddLane, Op::Storm(When::In(5), 7, 2)]);
        before
    },
    deadlines: &[0, 6, 12],
    steps: &[5, 12],
    budgeted: &[(12, 1)],
    others: &[
        Op::AddLane,
        Op::Lane(None),
        Op::Lane(Some(0)),
        Op::PopFirst,
        Op::AdvanceWith(When::In(12), Budget::of_work(2), Rule::Every(12)),
        Op::Clear,
    ],
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
    ballast: usize,
    /// The operations that led here; told when a comparison fails.
    path: Vec<Op>,
    found: Found,
}

/// How many sequences there were of the full length, and what comparisons on the way found.
#[derive(Debug, Default)]
struct Found {
    leaves: u64,
    /// Timers of a crowd moved ahead of their time.
    moved_ahead: usize,
    /// Timers in each of the first three far buckets.
    far: [usize; 3],
}

impl Walk<'_> {
    fn explore<G: Geometry>(&mut self, pair: &Pair<G>, left: usize) {
        let live = pair.model.len();
        let ballast = pair.model.ascending().rev().take(self.ballast);
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
        let ballast = pair.model.ascending().rev();
        let ballast = ballast.take_while(|(_, timer)| timer.deadline == u64::MAX);
        let mut walk = Walk { alphabet, start, ballast: ballast.count(), path: Vec::with_capacity(length), found };
        walk.explore(&pair, length);
        found = mem::take(&mut walk.found);
    }
    found
}

/// Clocks at which the levels stand differently: in the middle of their laps, all at the beginning,
/// one tick before the first far rotation, and so that time ends within reach.
fn starts<G: Geometry>() -> [u64; 4] {
    let [tick, .., rotation] = spans::<G>();
    [rotation + 5 * tick + tick / 2, 0, rotation - tick, u64::MAX - 6 * tick]
}

/// Every sequence of a length in one world, and about how many that are, so that none of the alphabet
/// is lost. How far a budget goes is not promised, so that the number may change a little.
macro_rules! worlds {
    ($($(#[$attribute:meta])* $name:ident: $alphabet:ident in $geometry:ident
        from $starts:literal clocks, $length:literal operations: $least:literal;)*) => {$(
        #[test]
        $(#[$attribute])*
        fn $name() {
            let starts = &starts::<$geometry>()[..$starts];
            let found = explore::<$geometry>(&$alphabet, starts, $length);
            println!("{found:?}");
            assert!(found.leaves >= $least, "too few sequences");
            let has_crowds = stringify!($alphabet).contains("CROWD");
            assert!(found.moved_ahead > 0 || !has_crowds, "no crowd was moved ahead");
            let is_far = ["DEEP", "FAR_CROWD"].contains(&stringify!($alphabet));
            assert!(found.far.iter().all(|&found| found > 100) || !is_far, "a far bucket was not reached");
        }
    )*};
}

worlds! {
    deep_world_agrees_with_model_in_every_sequence:
        DEEP in Tiny from 1 clocks, 5 operations: 54_000;
    deep_world_of_coarse_ticks_agrees_with_model_in_every_sequence:
        DEEP in TinyTick from 1 clocks, 5 operations: 54_000;
    broad_world_agrees_with_model_in_every_sequence:
        BROAD in Tiny from 1 clocks, 3 operations: 48_000;
    broad_world_of_coarse_ticks_agrees_with_model_in_every_sequence:
        BROAD in TinyTick from 1 clocks, 3 operations: 48_000;
    broad_world_of_lists_agrees_with_model_in_every_sequence:
        BROAD_LISTS in TinyTick from 1 clocks, 3 operations: 48_000;
    crowd_agrees_with_model_in_every_sequence:
        CROWD in Tiny from 1 clocks, 4 operations: 100_000;
    far_crowd_agrees_with_model_in_every_sequence:
        FAR_CROWD in Tiny from 1 clocks, 4 operations: 100_000;
    crowded_tick_agrees_with_model_in_every_sequence:
        CROWDED_TICK in TinyTick from 1 clocks, 4 operations: 100_000;
    chain_agrees_with_model_in_every_sequence:
        CHAIN in Tiny from 1 clocks, 4 operations: 100_000;
    lanes_agree_with_model_in_every_sequence:
        LANES in Tiny from 1 clocks, 4 operations: 100_000;
    lanes_of_coarse_ticks_agree_with_model_in_every_sequence:
        LANES in TinyTick from 1 clocks, 4 operations: 100_000;

    #[ignore = "a minute in release mode"]
    deep_world_agrees_with_model_in_every_long_sequence:
        DEEP in Tiny from 1 clocks, 7 operations: 10_000_000;
    #[ignore = "a minute in release mode"]
    broad_world_agrees_with_model_in_every_long_sequence:
        BROAD in Tiny from 4 clocks, 4 operations: 7_800_000;
    #[ignore = "a minute in release mode"]
    broad_world_of_lists_agrees_with_model_in_every_long_sequence:
        BROAD_LISTS in TinyTick from 4 clocks, 4 operations: 7_800_000;
    #[ignore = "minutes in release mode"]
    crowds_agree_with_model_in_every_long_sequence:
        CROWD in Tiny from 4 clocks, 5 operations: 7_800_000;
    #[ignore = "minutes in release mode"]
    far_crowd_agrees_with_model_in_every_long_sequence:
        FAR_CROWD in Tiny from 4 clocks, 5 operations: 7_800_000;
}
