//! Workers that share a store, without a lock and without owners: a worker claims a row by moving it.

use std::collections::{BTreeMap, BTreeSet};

use timer_wheel::window::{Position, Window};

use crate::arbitrary::{Drawn, check};
use crate::bytes::{Decoder, Draw, decode};
use crate::rng::Rng;

type Row = Position<u32>;

/// How long a claim lasts.
const LEASE: u64 = 8;

/// One operation, most of them of one of three workers.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// The others learn of the row by a load, if at all.
    Insert { worker: u8, ahead: u8 },
    /// The worker loads what comes next.
    Load { worker: u8 },
    /// The worker claims a row that is due.
    Claim { worker: u8 },
    /// The worker ends the work on a row that it has claimed.
    Finish { worker: u8 },
    /// The worker starts again, without what it has claimed.
    Kill { worker: u8 },
    /// The worker has lost news.
    Reset { worker: u8 },
    /// Time passes.
    Pass(u8),
    /// The clock of all workers is set back.
    Back(u8),
}

#[derive(Debug, Default)]
struct Script(Vec<Op>);

impl Draw for Script {
    type Script = Self;

    fn extend(script: &mut Self, decoder: &mut Decoder<'_>) {
        let (kind, worker) = (decoder.below(40), decoder.below(3));
        script.0.push(match kind {
            0..10 => Op::Insert { worker, ahead: decoder.below(60) },
            10..14 => Op::Load { worker },
            14..22 => Op::Claim { worker },
            22..26 => Op::Finish { worker },
            30 => Op::Kill { worker },
            31 => Op::Reset { worker },
            32 => Op::Back(decoder.below(30)),
            _ => Op::Pass(decoder.below(5)),
        });
    }
}

struct Worker {
    window: Window<u32>,
    /// What the worker has claimed, at the positions to which it has moved it.
    claimed: BTreeSet<Row>,
}

impl Worker {
    fn new() -> Self {
        Self { window: Window::new(4), claimed: BTreeSet::new() }
    }

    /// Each load is answered at once: `random` is about the races of loads.
    fn load(&mut self, store: &BTreeSet<Row>) {
        for _ in 0..10 {
            let Some(load) = self.window.load() else { return };
            let rows: Vec<Row> =
                store.iter().filter(|row| Some(**row) > load.after).take(load.limit).copied().collect();
            let is_end = rows.last() == store.last() || rows.is_empty();
            self.window.loaded(load, rows, is_end);
        }
        panic!("loads without end");
    }
}

#[derive(Default)]
struct Jobs {
    store: BTreeSet<Row>,
    /// When the last claim of each job ends.
    claims: BTreeMap<u32, u64>,
    finished: BTreeSet<u32>,
    inserted: u32,
    now: u64,
    /// How many claims were made of a job that a worker had claimed and not finished.
    taken_over: u64,
    /// How many workers found their claim gone.
    too_slow: u64,
}

impl Jobs {
    fn apply(&mut self, workers: &mut [Worker; 3], op: Op) {
        match op {
            Op::Insert { worker, ahead } => {
                let row = (self.now + u64::from(ahead), self.inserted);
                self.inserted += 1;
                self.store.insert(row);
                workers[usize::from(worker)].window.inserted(row);
            }
            Op::Load { worker } => workers[usize::from(worker)].load(&self.store),
            Op::Claim { worker } => _ = self.claim(&mut workers[usize::from(worker)]),
            Op::Finish { worker } => self.finish(&mut workers[usize::from(worker)]),
            Op::Kill { worker } => workers[usize::from(worker)] = Worker::new(),
            Op::Reset { worker } => workers[usize::from(worker)].window.reset(None),
            Op::Pass(span) => self.now += u64::from(span),
            Op::Back(span) => self.now = self.now.saturating_sub(span.into()),
        }
    }

    /// `UPDATE job SET deadline = now + lease WHERE id = .. AND deadline = ..`
    fn claim(&mut self, worker: &mut Worker) -> bool {
        let Some(row) = worker.window.poll(self.now) else { return false };
        assert!(row.0 <= self.now, "{row:?} is early");
        if self.store.remove(&row) {
            assert!(!self.finished.contains(&row.1), "{row:?} was finished");
            let claim = (self.now + LEASE, row.1);
            let former = self.claims.insert(row.1, claim.0);
            assert!(former.is_none_or(|end| end <= self.now), "{row:?} is run by two workers");
            self.taken_over += u64::from(former.is_some());
            self.store.insert(claim);
            worker.window.inserted(claim);
            worker.claimed.insert(claim);
        }
        worker.window.done(&row);
        true
    }

    /// `DELETE FROM job WHERE id = .. AND deadline = ..`: another worker may have claimed the row since.
    fn finish(&mut self, worker: &mut Worker) {
        let Some(claim) = worker.claimed.pop_first() else { return };
        if self.store.remove(&claim) {
            assert!(self.finished.insert(claim.1), "{claim:?} is finished twice");
            worker.window.removed(&claim);
        } else {
            self.too_slow += 1;
        }
    }
}

fn run(script: &Script) -> [u64; 2] {
    let mut workers = [Worker::new(), Worker::new(), Worker::new()];
    let mut jobs = Jobs::default();
    script.0.iter().for_each(|op| jobs.apply(&mut workers, *op));
    // All workers die, and what is left is for another.
    let mut last = Worker::new();
    for _ in 0..10 * jobs.inserted {
        if jobs.store.is_empty() {
            break;
        }
        last.load(&jobs.store);
        jobs.now = jobs.now.max(last.window.wake_at().expect("the worker knows the first row"));
        let most = 2 * jobs.inserted;
        assert!((0..=most).any(|_| !jobs.claim(&mut last)), "the worker is handed more rows than there are");
        while !last.claimed.is_empty() {
            jobs.finish(&mut last);
        }
    }
    assert!((0..jobs.inserted).eq(jobs.finished), "every job is finished");
    [jobs.taken_over, jobs.too_slow]
}

#[test]
fn job_is_run_by_one_worker_at_a_time_and_by_another_if_that_dies() {
    check(1_000, 1_000, |script: Drawn<Script>| _ = run(&script.script()));
}

/// From a fixed seed: the histories take claims over, and workers find their claims gone.
#[test]
fn random_histories_have_claims_that_run_out() {
    let mut numbers = Rng(0x9e37_79b9_7f4a_7c15);
    let counts = (0..200).map(|_| run(&decode::<Script>(&numbers.bytes(2_000), usize::MAX)));
    let [taken_over, too_slow] = counts.fold([0, 0], |all, of| [all[0] + of[0], all[1] + of[1]]);
    assert!(taken_over > 100 && too_slow > 100, "{taken_over} claims were taken over, {too_slow} were gone");
}
