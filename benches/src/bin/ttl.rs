//! `ttl`: measures the TTL layer beside the design it replaces, two ordered sets and a map.
//!
//! All take turns within one process, round by round, on the same inputs, and must propose the
//! same entries in the same order at the same times: a subject that answers otherwise is an error,
//! not a figure. Times are those of the processor. What counts is the ratio of the medians; for a longest
//! call that of the least of all rounds.
//!
//! By handle, the store is an array with a handle for each key; for an update it has found its record before.
//! Where a figure says "in batches" the queue
//! is told the keys of each batch beforehand ([`TtlQueue::prefetch`]), as a state machine can that
//! applies its log in batches.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cpu_time::ThreadTime;
use timer_wheel::ttl::{Context, Role, TtlConfig, TtlKey, TtlQueue, TtlSet};
use timer_wheel_bench::results::{self, Counts, Sheet};
use timer_wheel_bench::workload::{MILLISECOND, SECOND, STEP, XorShift64Star};
use timer_wheel_bench::{Spread, TwoSets};

/// Measures the TTL layer beside two ordered sets
#[derive(Debug, Parser)]
#[command(name = "ttl", max_term_width = 100)]
struct Options {
    /// How many keys
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(2_000..=100_000_000))]
    n: u32,

    /// How many times each subject is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Figure {
    name: &'static str,
    unit: Unit,
}

/// What the time of a figure is divided by, and which of the rounds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Key,
    Late,
    Longest,
}

const fn per_key(name: &'static str) -> Figure {
    Figure {
        name,
        unit: Unit::Key,
    }
}

const fn longest(name: &'static str) -> Figure {
    Figure {
        name,
        unit: Unit::Longest,
    }
}

/// In the order in which a round takes them.
const FIGURES: [Figure; 14] = [
    per_key("init"),
    per_key("look-up alone"),
    per_key("update to another TTL"),
    per_key("the same in batches of 32"),
    per_key("update to 10 min from now"),
    per_key("poll in steps of 2^20 ns, an expiry"),
    per_key("the same, and apply"),
    per_key("the same, but first fail and retry"),
    longest("longest init, with room"),
    longest("longest init, without"),
    longest("longest update"),
    longest("longest poll"),
    longest("longest role change, 4,096 in flight"),
    Figure {
        name: "late entry among removed ones",
        unit: Unit::Late,
    },
];

/// Keys told beforehand.
const BATCH: usize = 32;

/// Late entries.
const LATE: u64 = 1_000;

/// What all do. The low half of a key counts the keys.
trait Subject {
    /// What names a key that has a TTL.
    type Name: Copy;

    /// Empty, with a store for so many keys.
    fn new(config: &TtlConfig, keys: usize) -> Self;
    /// Makes room for so many entries.
    fn reserve(&mut self, keys: usize);
    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context);
    /// Names these keys, which have a TTL, as the store's records do.
    fn names(&self, keys: &[u64]) -> Vec<Self::Name>;
    fn update(&mut self, index: u64, name: Self::Name, ttl_ms: u64, ctx: Context);
    /// Gets ready for calls about these keys.
    fn prefetch<'a>(&self, _: impl Iterator<Item = &'a u64>) {}
    /// The index of the entry of a key that has one.
    fn index_of(&self, key: u64) -> u64;
    /// Polls once, hands key and index of each expiry on, and tells the wait.
    fn poll(&mut self, now: u64, propose: impl FnMut(u64, u64, u128)) -> Option<u64>;
    fn applied(&mut self, key: u64, index: u64);
    fn failed(&mut self, key: u64, index: u64, now: u64);
    fn remove(&mut self, key: u64);
    fn lead(&mut self, now: u64);
}

/// A set, and a store that keeps a handle for each key.
struct ByHandle {
    set: TtlSet<u64>,
    handles: Vec<Option<TtlKey>>,
}

impl ByHandle {
    fn handle(&self, key: u64) -> TtlKey {
        self.handles[nth(key)].expect("the key has a TTL")
    }
}

fn nth(key: u64) -> usize {
    key as u32 as usize
}

impl Subject for ByHandle {
    type Name = TtlKey;

    fn new(config: &TtlConfig, keys: usize) -> Self {
        Self {
            set: TtlSet::new(0, config.clone()),
            handles: vec![None; keys],
        }
    }

    fn reserve(&mut self, keys: usize) {
        self.set.reserve(keys);
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context) {
        let handle = &mut self.handles[nth(key)];
        let set = match *handle {
            Some(handle) => self.set.update(index, handle, ttl_ms, ctx).map(|_| ()),
            None => self
                .set
                .init(index, key, ttl_ms, ctx)
                .map(|new| *handle = new),
        };
        set.expect("the TTL is not too long");
    }

    fn names(&self, keys: &[u64]) -> Vec<TtlKey> {
        keys.iter().map(|&key| self.handle(key)).collect()
    }

    fn update(&mut self, index: u64, name: TtlKey, ttl_ms: u64, ctx: Context) {
        let updated = self.set.update(index, name, ttl_ms, ctx);
        updated.expect("the TTL is not too long");
    }

    fn index_of(&self, key: u64) -> u64 {
        let info = self.set.get(self.handle(key));
        info.expect("the key has a TTL").entry.index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        let mut due = self.set.poll(now);
        for due in due.by_ref() {
            propose(due.key, due.index, due.owner);
        }
        due.next_wake()
    }

    fn applied(&mut self, key: u64, index: u64) {
        let handle = self.handles[nth(key)].take().expect("the key has a TTL");
        self.set.applied(handle, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.set.failed(self.handle(key), index, now);
    }

    fn remove(&mut self, key: u64) {
        let handle = self.handles[nth(key)].take().expect("the key has a TTL");
        self.set.remove(handle);
    }

    fn lead(&mut self, now: u64) {
        self.set.role_change(Role::Leader, now);
    }
}

impl Subject for TtlQueue<u64> {
    type Name = u64;

    fn new(config: &TtlConfig, _: usize) -> Self {
        Self::new(0, config.clone())
    }

    fn reserve(&mut self, keys: usize) {
        self.reserve(keys);
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context) {
        self.init(index, key, ttl_ms, ctx)
            .expect("the TTL is not too long");
    }

    fn names(&self, keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }

    fn update(&mut self, index: u64, name: u64, ttl_ms: u64, ctx: Context) {
        Subject::init(self, index, name, ttl_ms, ctx);
    }

    fn prefetch<'a>(&self, keys: impl Iterator<Item = &'a u64>) {
        self.prefetch(keys);
    }

    fn index_of(&self, key: u64) -> u64 {
        self.get(&key).expect("the key has a TTL").entry.index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        let mut due = self.poll(now);
        for due in due.by_ref() {
            propose(due.key, due.index, due.owner);
        }
        due.next_wake()
    }

    fn applied(&mut self, key: u64, index: u64) {
        self.applied(&key, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.failed(&key, index, now);
    }

    fn remove(&mut self, key: u64) {
        self.remove(&key);
    }

    fn lead(&mut self, now: u64) {
        self.role_change(Role::Leader, now);
    }
}

impl Subject for TwoSets<u64> {
    type Name = u64;

    fn new(config: &TtlConfig, _: usize) -> Self {
        Self::new(config)
    }

    fn reserve(&mut self, keys: usize) {
        self.reserve(keys);
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context) {
        self.init(index, key, ttl_ms, ctx);
    }

    fn names(&self, keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }

    fn update(&mut self, index: u64, name: u64, ttl_ms: u64, ctx: Context) {
        Subject::init(self, index, name, ttl_ms, ctx);
    }

    fn index_of(&self, key: u64) -> u64 {
        self.entry(&key).expect("the key has a TTL").index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64, u128)) -> Option<u64> {
        self.poll(now, |due| propose(due.key, due.index, due.owner))
    }

    fn applied(&mut self, key: u64, index: u64) {
        self.applied(key, index);
    }

    fn failed(&mut self, key: u64, index: u64, now: u64) {
        self.failed(key, index, now);
    }

    fn remove(&mut self, key: u64) {
        self.remove(key);
    }

    fn lead(&mut self, now: u64) {
        self.role_change(true, now);
    }
}

/// What all get: made before any clock starts.
struct Input {
    keys: Vec<u64>,
    /// The same in the order in which they are updated.
    shuffled: Vec<u64>,
    /// For init, for the first update, for polling.
    ttls_ms: [Vec<u64>; 3],
}

impl Input {
    fn new(n: u32) -> Self {
        let count = n as usize;
        let mut random = XorShift64Star::new();
        let hour = 3_600_000;
        let mut key = |nth| random.next_u64() << 32 | u64::from(nth);
        let keys: Vec<u64> = (0..n).map(&mut key).collect();
        let order = random.permutation(n);
        Self {
            shuffled: order.iter().map(|&nth| keys[nth as usize]).collect(),
            keys,
            ttls_ms: [
                random.uniform(count, 1_000, hour),
                random.uniform(count, 1_000, hour),
                random.uniform(count, 1, 60_000),
            ],
        }
    }
}

impl Input {
    /// A leader.
    fn subject<S: Subject>(&self, config: &TtlConfig) -> S {
        let mut subject = S::new(config, self.keys.len());
        subject.lead(0);
        subject
    }

    fn init(&self, subject: &mut impl Subject, ttls: usize) {
        for (&key, &ttl_ms) in self.keys.iter().zip(&self.ttls_ms[ttls]) {
            subject.init(1, key, ttl_ms, created(key, 0));
        }
    }
}

/// What one subject took in one round, figure by figure, and a digest of all that it answered.
struct Round {
    times: Vec<Duration>,
    answers: DefaultHasher,
    /// The same of what was proposed to be answered, in any order.
    answered: u64,
    proposals: u64,
}

impl Round {
    fn run<S: Subject>(input: &Input) -> Self {
        // Nothing times out while the others are measured.
        let config = TtlConfig::builder().pending_timeout(Duration::from_secs(1_000_000));
        let bounded = config.clone().build().expect("it makes sense");
        let all = config.max_pending(usize::MAX).build();
        let all = all.expect("it makes sense");
        let mut round = Self {
            times: Vec::new(),
            answers: DefaultHasher::new(),
            answered: 0,
            proposals: 0,
        };
        round.set(input.subject::<S>(&bounded), input);
        round.expire(input.subject::<S>(&all), input);
        round.answer(
            input.subject::<S>(&bounded),
            input,
            |subject, key, index, _| {
                subject.applied(key, index);
            },
        );
        round.answer(
            input.subject::<S>(&all),
            input,
            |subject, key, index, now| {
                subject.failed(key, index, now);
            },
        );
        round.longest(|| input.subject::<S>(&bounded), input);
        round.late(input.subject::<S>(&all), input);
        round
    }

    fn time(&mut self, what: impl FnOnce(&mut Self)) {
        let start = ThreadTime::now();
        what(self);
        self.times.push(start.elapsed());
    }

    /// How long to wait, and how many polls it takes to have all that is due, need not be the same for
    /// all: the layer may lead to the bucket in which the next entry lies, and has a budget.
    fn poll(&mut self, subject: &mut impl Subject, now: u64) -> Option<u64> {
        subject.poll(now, |key, index, owner| {
            self.proposals += 1;
            (now, key, index, owner).hash(&mut self.answers);
        })
    }

    fn set(&mut self, mut subject: impl Subject, input: &Input) {
        self.time(|_| input.init(&mut subject, 0));
        self.time(|round| {
            let indices = input.shuffled.iter().map(|&key| subject.index_of(key));
            round.answers.write_u64(indices.sum());
        });
        let names = subject.names(&input.shuffled);
        self.time(|_| {
            for ((&name, &key), &ttl_ms) in names.iter().zip(&input.shuffled).zip(&input.ttls_ms[1])
            {
                subject.update(2, name, ttl_ms, created(key, 0));
            }
        });
        self.time(|_| {
            let ttls_ms = input.ttls_ms[2].chunks(BATCH);
            for (keys, ttls_ms) in input.shuffled.chunks(BATCH).zip(ttls_ms) {
                subject.prefetch(keys.iter());
                for (&key, &ttl_ms) in keys.iter().zip(ttls_ms) {
                    subject.init(3, key, ttl_ms, created(key, 0));
                }
            }
        });
        subject.lead(0);
        let mut now = 0;
        self.time(|round| {
            for (step, (&name, &key)) in names.iter().zip(&input.shuffled).enumerate() {
                now += 1;
                subject.update(4, name, 600_000, created(key, now));
                if step % 1_024 == 0 {
                    round.poll(&mut subject, now);
                }
            }
        });
    }

    /// Polls until all is pending, and nothing is answered.
    fn expire(&mut self, mut subject: impl Subject, input: &Input) {
        input.init(&mut subject, 2);
        let mut now = 0;
        self.time(|round| {
            while now < 60 * SECOND {
                now += STEP;
                while round.poll(&mut subject, now) == Some(0) {}
            }
        });
    }

    /// Polls until all has expired; as many answers as there are keys are `first`, and then all is applied.
    fn answer<S: Subject>(
        &mut self,
        mut subject: S,
        input: &Input,
        first: impl Fn(&mut S, u64, u64, u64),
    ) {
        input.init(&mut subject, 2);
        let mut due = Vec::new();
        self.time(|round| {
            let mut now = 0;
            let mut answered = 0;
            while let Some(wait) = round.poll_into(&mut subject, now, &mut due) {
                for (key, index, _) in due.drain(..) {
                    match answered < input.keys.len() {
                        true => first(&mut subject, key, index, now),
                        false => subject.applied(key, index),
                    }
                    answered += 1;
                }
                now += if wait == 0 { 0 } else { STEP };
            }
        });
    }

    fn poll_into(
        &mut self,
        subject: &mut impl Subject,
        now: u64,
        due: &mut Vec<(u64, u64, u128)>,
    ) -> Option<u64> {
        let wait = subject.poll(now, |key, index, owner| due.push((key, index, owner)));
        self.proposals += due.len() as u64;
        // In no order: with another number of polls retries and expiries alternate differently.
        let digests = due.iter().map(|proposal| {
            let mut digest = DefaultHasher::new();
            proposal.hash(&mut digest);
            digest.finish()
        });
        self.answered = digests.fold(self.answered, u64::wrapping_add);
        wait
    }

    fn longest<S: Subject>(&mut self, new: impl Fn() -> S, input: &Input) {
        let set = |subject: &mut S, index, keys: &[u64], ttls_ms: &[u64]| {
            let calls = keys.iter().zip(ttls_ms).map(|(&key, &ttl_ms)| {
                let start = ThreadTime::now();
                subject.init(index, key, ttl_ms, created(key, 0));
                start.elapsed()
            });
            calls.max().unwrap_or_default()
        };
        let mut subject = new();
        subject.reserve(input.keys.len());
        let with_room = set(&mut subject, 1, &input.keys, &input.ttls_ms[0]);
        let without = set(&mut new(), 1, &input.keys, &input.ttls_ms[0]);
        let update = set(&mut subject, 2, &input.shuffled, &input.ttls_ms[2]);
        self.times.extend([with_room, without, update]);

        let mut due = Vec::new();
        let mut longest = Duration::ZERO;
        let mut now = 0;
        loop {
            let start = ThreadTime::now();
            let wait = subject.poll(now, |key, index, owner| due.push((key, index, owner)));
            longest = longest.max(start.elapsed());
            for (key, index, _) in due.drain(..) {
                subject.applied(key, index);
            }
            match wait {
                None => break,
                Some(0) => {}
                Some(_) => now += STEP,
            }
        }
        self.times.push(longest);

        longest = Duration::ZERO;
        input.init(&mut subject, 2);
        now += 60 * SECOND;
        for _ in 0..10 {
            while self.poll(&mut subject, now) == Some(0) {}
            let start = ThreadTime::now();
            subject.lead(now);
            longest = longest.max(start.elapsed());
        }
        self.times.push(longest);
    }

    /// All that is in flight is removed but for what a fair coin leaves that everybody knows; then some
    /// more come.
    fn late(&mut self, mut subject: impl Subject, input: &Input) {
        let (mut now, last) = (MILLISECOND, input.keys.len() - LATE as usize);
        subject.lead(0);
        for &key in &input.keys[..last] {
            subject.init(1, key, 1, created(key, 0));
        }
        while self.poll(&mut subject, now) == Some(0) {}
        for &key in input.keys[..last].iter().filter(|&&key| nth(key) % 4 != 0) {
            subject.remove(key);
        }
        self.time(|round| {
            for &key in &input.keys[last..] {
                now += 1;
                subject.init(2, key, 1, created(key, 0));
                round.poll(&mut subject, now);
            }
        });
    }
}

/// A log entry that was created at that time.
fn created(key: u64, created_ns: u64) -> Context {
    Context {
        owner: u128::from(key) << 64,
        leader_start_ms: created_ns / MILLISECOND,
        created_ns,
    }
}

fn report(options: &Options, rounds: &[[Round; 3]], sheet: &mut Sheet) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (n, count) = (options.n, options.rounds);
    writeln!(
        out,
        "{n} keys, {count} rounds: ns, median (min-max), and how much faster than two sets\n"
    )?;
    let names = ["TtlSet", "TtlQueue", "two sets"];
    writeln!(
        out,
        "{:<50}{:>28}{:>8}{:>28}{:>8}{:>30}",
        "", names[0], "", names[1], "", names[2]
    )?;
    for (nth, figure) in FIGURES.iter().enumerate() {
        let divisor = match figure.unit {
            Unit::Key => f64::from(n),
            Unit::Late => LATE as f64,
            Unit::Longest => 1.0,
        };
        let spreads = [0, 1, 2].map(|subject: usize| {
            let rounds = rounds.iter().map(|round| &round[subject].times[nth]);
            Spread::of(rounds.map(|time| time.as_nanos() as f64 / divisor))
        });
        let counts = match figure.unit {
            Unit::Longest => Counts::Min,
            Unit::Key | Unit::Late => Counts::Median,
        };
        for (subject, spread) in names.into_iter().zip(spreads) {
            sheet.push(figure.name, n, subject, ("ns", counts), spread);
        }
        let cell = |Spread { min, median, max }: Spread| format!("{median:.0} ({min:.0}-{max:.0})");
        write!(out, "{:<50}", figure.name)?;
        for ours in &spreads[..2] {
            let ratio = counts.of(spreads[2]) / counts.of(*ours);
            write!(out, "{:>28}{ratio:>6.1} x", cell(*ours))?;
        }
        writeln!(out, "{:>30}", cell(spreads[2]))?;
    }
    out.flush()
}

fn main() -> ExitCode {
    results::exit(run(&Options::parse()))
}

fn run(options: &Options) -> Result<(), String> {
    let mut sheet = Sheet::open(options.json.as_deref(), options.rounds)?;
    let input = Input::new(options.n);
    let run = [
        Round::run::<ByHandle>,
        Round::run::<TtlQueue<u64>>,
        Round::run::<TwoSets<u64>>,
    ];
    let mut rounds: Vec<[Round; 3]> = Vec::new();
    for first in 0..options.rounds as usize {
        // None always goes first.
        let mut round = [const { None }; 3];
        for nth in 0..3 {
            let subject = (first + nth) % 3;
            round[subject] = Some(run[subject](&input));
        }
        let round = round.map(|round| round.expect("each had its turn"));
        let answers = round.each_ref().map(|round: &Round| {
            let ordered = round.answers.finish();
            (round.proposals, ordered, round.answered)
        });
        if answers.iter().any(|it| it != &answers[2]) {
            return Err("the subjects answer differently".to_owned());
        }
        rounds.push(round);
    }
    let cannot_write = |error: io::Error| match error.kind() {
        // Whoever was reading has read enough.
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(format!("cannot write the results: {error}")),
    };
    report(options, &rounds, &mut sheet).or_else(cannot_write)?;
    sheet.write("").or_else(cannot_write)
}
