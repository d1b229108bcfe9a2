//! Small worlds, explored entirely: every sequence of operations up to a length, in geometries so
//! small that a handful of nanoseconds pass through all levels and beyond.
//!
//! A world is a place to start and an alphabet: the operations that may come next, one for each live
//! timer where a timer is meant. The tree of all sequences is walked depth first, each node a copy
//! of its parent with one operation more, run on the wheel and on its model and compared in
//! everything, as [`Pair`] does it; and at each leaf all that is left fires. No sequence is left out
//! on the ground that it looks like another.
//!
//! What a world cannot show for want of timers: lists of more than one block. The random scripts do.

use timer_wheel::Geometry;

use crate::geometries::{Tiny, TinyTick};
use crate::pair::Pair;
use crate::script::{Op, Pick, Rule, When, spans};

/// What may happen in a world. All times are in nanoseconds from the clock of the moment.
struct Alphabet {
    /// Timers are scheduled and rescheduled to be due after these.
    deadlines: &'static [u64],
    /// Advances go this far and yield all that is due.
    steps: &'static [u64],
    /// Advances go this far with a budget: `(step, budget)`.
    budgeted: &'static [(u64, usize)],
    /// Whatever else there is to do.
    others: &'static [Op],
}

/// One way through every level: few operations, so that long sequences can be had. There is a
/// deadline for the finest levels, one for the coarse ones and one beyond.
const DEEP: Alphabet = Alphabet {
    deadlines: &[1, 6, 35],
    steps: &[2, 35],
    budgeted: &[(7, 1)],
    others: &[],
};

/// Everything that can be done to a wheel, at moments on every level, in the past and beyond.
const BROAD: Alphabet = Alphabet {
    deadlines: &[0, 1, 2, 3, 5, 9, 17, 40],
    steps: &[0, 1, 2, 4, 8, 33],
    budgeted: &[(0, 1), (1, 1), (9, 1), (9, 2), (9, 3), (33, 1), (33, 2)],
    others: &[
        Op::Schedule(When::Ago(1)),
        Op::Schedule(When::At(u64::MAX)),
        Op::Advance(When::Ago(1)),
        Op::Advance(When::At(u64::MAX)),
        Op::AdvanceDropped {
            to: When::In(9),
            taken: 0,
        },
        Op::AdvanceDropped {
            to: When::In(9),
            taken: 1,
        },
        Op::AdvanceWith {
            to: When::In(9),
            budget: 4,
            rule: Rule::Every(3),
        },
        Op::AdvanceWith {
            to: When::In(33),
            budget: 3,
            rule: Rule::Mixed { seed: 1, delay: 5 },
        },
        Op::Pop(When::In(1)),
        Op::Pop(When::In(33)),
        Op::PopFirst,
        Op::PeekFirst,
        Op::Drain { taken: 1 },
        Op::Clear,
        Op::Shrink,
    ],
};

/// Timers that come and go around one bucket while it is emptied in instalments.
const BACKLOG: Alphabet = Alphabet {
    deadlines: &[0, 4, 5],
    steps: &[4],
    budgeted: &[(0, 1), (5, 2)],
    others: &[],
};

impl Alphabet {
    /// What may come next when so many timers are live.
    fn ops(&self, live: usize) -> Vec<Op> {
        let moments = || self.deadlines.iter().map(|&delay| When::In(delay));
        let timers = (0..live).map(|nth| Pick::Live(nth as u8));
        let mut ops: Vec<Op> = moments().map(Op::Schedule).collect();
        for timer in timers {
            ops.push(Op::Cancel(timer));
            ops.extend(moments().map(|to| Op::Reschedule(timer, to)));
        }
        ops.extend(self.steps.iter().map(|&step| Op::Advance(When::In(step))));
        ops.extend(
            self.budgeted
                .iter()
                .map(|&(step, budget)| Op::AdvanceBudgeted {
                    to: When::In(step),
                    budget,
                    calls: 0,
                }),
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
    /// Operations run and compared.
    nodes: u64,
    /// Sequences of the full length.
    leaves: u64,
}

impl Walk<'_> {
    fn explore<G: Geometry>(&mut self, pair: &Pair<G>, left: usize) {
        for op in self.alphabet.ops(pair.model.len()) {
            self.path.push(op);
            let mut next = pair.clone();
            next.apply(&self.path[self.path.len() - 1]);
            self.nodes += 1;
            if left > 1 {
                self.explore(&next, left - 1);
            } else {
                next.finish();
                self.leaves += 1;
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

/// Runs every sequence of so many operations from each start, and says how many there were.
fn explore<G: Geometry>(what: &str, alphabet: &Alphabet, starts: &[u64], length: usize) -> u64 {
    let (mut nodes, mut leaves) = (0, 0);
    for &start in starts {
        let mut walk = Walk {
            alphabet,
            start,
            path: Vec::with_capacity(length),
            nodes: 0,
            leaves: 0,
        };
        walk.explore(&Pair::<G>::new(start), length);
        nodes += walk.nodes;
        leaves += walk.leaves;
    }
    println!("{what}: {leaves} sequences of {length}, {nodes} operations compared");
    leaves
}

/// Clocks at which the levels stand differently: in the middle of their laps, all at the beginning,
/// one tick before the first far rotation, and so that time ends within reach.
fn starts<G: Geometry>() -> [u64; 4] {
    let [tick, .., rotation] = spans::<G>();
    [
        rotation + 5 * tick + tick / 2,
        0,
        rotation - tick,
        u64::MAX - 6 * tick,
    ]
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
            let run = explore::<$geometry>(stringify!($name), &$alphabet, starts, $length);
            assert!(run >= $least, "only {run} sequences");
        }
    )*};
}

worlds! {
    deep_world_agrees_with_model_in_every_sequence:
        DEEP in Tiny from 1 clocks, 5 operations: 54_000;
    deep_world_of_coarse_ticks_agrees_with_model_in_every_sequence:
        DEEP in TinyTick from 1 clocks, 5 operations: 54_000;
    backlog_world_agrees_with_model_in_every_sequence:
        BACKLOG in Tiny from 1 clocks, 5 operations: 54_000;
    backlog_world_of_coarse_ticks_agrees_with_model_in_every_sequence:
        BACKLOG in TinyTick from 1 clocks, 5 operations: 54_000;
    broad_world_agrees_with_model_in_every_sequence:
        BROAD in Tiny from 1 clocks, 3 operations: 48_000;
    broad_world_of_coarse_ticks_agrees_with_model_in_every_sequence:
        BROAD in TinyTick from 1 clocks, 3 operations: 48_000;

    #[ignore = "a minute in release mode"]
    deep_world_agrees_with_model_in_every_long_sequence:
        DEEP in Tiny from 1 clocks, 7 operations: 10_800_000;
    #[ignore = "a minute in release mode"]
    deep_world_of_coarse_ticks_agrees_with_model_in_every_long_sequence:
        DEEP in TinyTick from 1 clocks, 7 operations: 10_000_000;
    #[ignore = "a minute in release mode"]
    backlog_world_agrees_with_model_in_every_long_sequence:
        BACKLOG in Tiny from 1 clocks, 7 operations: 10_000_000;
    #[ignore = "a minute in release mode"]
    backlog_world_of_coarse_ticks_agrees_with_model_in_every_long_sequence:
        BACKLOG in TinyTick from 1 clocks, 7 operations: 10_000_000;
    #[ignore = "a minute in release mode"]
    broad_world_agrees_with_model_in_every_long_sequence:
        BROAD in Tiny from 4 clocks, 4 operations: 7_800_000;
    #[ignore = "a minute in release mode"]
    broad_world_of_coarse_ticks_agrees_with_model_in_every_long_sequence:
        BROAD in TinyTick from 4 clocks, 4 operations: 7_800_000;
}
