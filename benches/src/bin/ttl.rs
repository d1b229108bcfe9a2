//! `ttl`: measures the TTL layer beside the design it replaces, two ordered sets and a map.
//!
//! Both take turns within one process, round by round, on the same inputs, and must propose the
//! same entries in the same order at the same times: a subject that answers otherwise is an error,
//! not a figure. What counts is the ratio of the medians.
//!
//! Where a figure says "in batches" the queue is told the keys of each batch beforehand
//! ([`TtlQueue::prefetch`]), as a state machine can that applies its log in batches. The sets have
//! nothing like it: a key does not say where in a tree its place is.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
use timer_wheel_bench::TwoSets;
use timer_wheel_bench::workload::{MILLISECOND, SECOND, STEP, XorShift64Star};

/// Measures the TTL layer beside two ordered sets
#[derive(Debug, Parser)]
#[command(name = "ttl", max_term_width = 100)]
struct Options {
    /// How many keys
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    n: u32,

    /// How many times each subject is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
struct Figure {
    name: &'static str,
    /// Whether the time is divided by the number of keys.
    is_per_key: bool,
}

const fn per_key(name: &'static str) -> Figure {
    Figure {
        name,
        is_per_key: true,
    }
}

const fn in_all(name: &'static str) -> Figure {
    Figure {
        name,
        is_per_key: false,
    }
}

/// In the order in which a round takes them.
const FIGURES: [Figure; 14] = [
    per_key("init, ns a key"),
    per_key("look-up alone, ns a key"),
    per_key("update to another TTL, ns a key"),
    per_key("the same in batches of 32"),
    per_key("update to 10 min from now, ns a key"),
    per_key("the same in batches of 32"),
    in_all("the longest init of them all, ns"),
    per_key("poll in steps of 2^20 ns, ns an expiry"),
    in_all("role change with all pending, ns"),
    in_all("the poll after it, ns"),
    per_key("poll all that was put back, ns an expiry"),
    per_key("poll in such steps and apply, ns an expiry"),
    per_key("the same in batches as polled"),
    per_key("fail, retry, apply in batches, ns an expiry"),
];

/// Keys told beforehand.
const BATCH: usize = 32;

/// What both queues do.
trait Subject {
    fn new(config: &TtlConfig) -> Self;
    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context);
    /// Gets ready for calls about these keys.
    fn prefetch<'a>(&self, keys: impl Iterator<Item = &'a u64>);
    /// The index of the entry of a key that has one.
    fn index_of(&self, key: u64) -> u64;
    /// Polls once, hands key and index of each expiry on, and tells the wait.
    fn poll(&mut self, now: u64, propose: impl FnMut(u64, u64, u128)) -> Option<u64>;
    fn applied(&mut self, key: u64, index: u64);
    fn failed(&mut self, key: u64, index: u64, now: u64);
    fn lead(&mut self, now: u64);
}

impl Subject for TtlQueue<u64> {
    fn new(config: &TtlConfig) -> Self {
        Self::new(0, config.clone())
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context) {
        self.init(index, key, ttl_ms, ctx)
            .expect("the TTL is not too long");
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

    fn lead(&mut self, now: u64) {
        self.role_change(Role::Leader, now);
    }
}

impl Subject for TwoSets<u64> {
    fn new(config: &TtlConfig) -> Self {
        Self::new(config)
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, ctx: Context) {
        self.init(index, key, ttl_ms, ctx);
    }

    fn prefetch<'a>(&self, _: impl Iterator<Item = &'a u64>) {}

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

    fn lead(&mut self, now: u64) {
        self.role_change(true, now);
    }
}

/// What both get: made before any clock starts.
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
        let keys: Vec<u64> = (0..n).map(|_| random.next_u64()).collect();
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
        let config = TtlConfig::builder()
            .pending_timeout(Duration::from_secs(1_000_000))
            .build()
            .expect("it makes sense");
        let mut round = Self {
            times: Vec::new(),
            answers: DefaultHasher::new(),
            answered: 0,
            proposals: 0,
        };
        round.set(&mut S::new(&config), input);
        round.expire(&mut S::new(&config), input);
        round.answer(&mut S::new(&config), input);
        round
    }

    fn time(&mut self, what: impl FnOnce(&mut Self)) {
        let start = Instant::now();
        what(self);
        self.times.push(start.elapsed());
    }

    /// How long to wait, and how many polls it takes to have all that is due, need not be the same for
    /// both: the queue may lead to the bucket in which the next entry lies, and has a budget.
    fn poll(&mut self, subject: &mut impl Subject, now: u64) -> Option<u64> {
        subject.poll(now, |key, index, owner| {
            self.proposals += 1;
            (now, key, index, owner).hash(&mut self.answers);
        })
    }

    fn set(&mut self, subject: &mut impl Subject, input: &Input) {
        subject.lead(0);
        self.time(|_| {
            for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[0]) {
                subject.init(1, key, ttl_ms, created(key, 0));
            }
        });
        self.time(|round| {
            let indices = input.shuffled.iter().map(|&key| subject.index_of(key));
            round.answers.write_u64(indices.sum());
        });
        self.time(|_| {
            for (&key, &ttl_ms) in input.shuffled.iter().zip(&input.ttls_ms[1]) {
                subject.init(2, key, ttl_ms, created(key, 0));
            }
        });
        self.time(|_| {
            let ttls_ms = input.ttls_ms[0].chunks(BATCH);
            for (keys, ttls_ms) in input.shuffled.chunks(BATCH).zip(ttls_ms) {
                subject.prefetch(keys.iter());
                for (&key, &ttl_ms) in keys.iter().zip(ttls_ms) {
                    subject.init(3, key, ttl_ms, created(key, 0));
                }
            }
        });
        for (index, batch) in [(4, 1), (5, BATCH)] {
            let mut now = index * MILLISECOND;
            self.time(|round| {
                for (step, keys) in input.shuffled.chunks(batch).enumerate() {
                    if batch > 1 {
                        subject.prefetch(keys.iter());
                    }
                    for &key in keys {
                        now += 1;
                        subject.init(index, key, 600_000, created(key, now));
                    }
                    if step % (1_024 / batch) == 0 {
                        round.poll(subject, now);
                    }
                }
            });
        }
    }

    fn expire(&mut self, subject: &mut impl Subject, input: &Input) {
        subject.lead(0);
        let mut longest = Duration::ZERO;
        for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[2]) {
            let start = Instant::now();
            subject.init(1, key, ttl_ms, created(key, 0));
            longest = longest.max(start.elapsed());
        }
        self.times.push(longest);
        let mut now = 0;
        self.time(|round| {
            while now < 60 * SECOND {
                now += STEP;
                while round.poll(subject, now) == Some(0) {}
            }
        });
        self.time(|_| subject.lead(now));
        self.time(|round| {
            round.poll(subject, now);
        });
        self.time(|round| while round.poll(subject, now) == Some(0) {});
    }

    /// Polls until all has expired, and answers each batch of proposals.
    fn answer<S: Subject>(&mut self, subject: &mut S, input: &Input) {
        let apply: fn(&mut S, u64, u64, u64) = |subject, key, index, _| subject.applied(key, index);
        let refuse: fn(&mut S, u64, u64, u64) =
            |subject, key, index, now| subject.failed(key, index, now);
        let cases = [(apply, false), (apply, true), (refuse, true)];
        for ((first, in_batches), start) in cases.into_iter().zip([0, 100, 200]) {
            let start = start * SECOND;
            subject.lead(start);
            for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[2]) {
                subject.init(1, key, ttl_ms, created(key, start));
            }
            let mut due = Vec::new();
            self.time(|round| {
                let mut now = start;
                let mut answered = 0;
                while let Some(wait) = round.poll_into(subject, now, &mut due) {
                    if in_batches {
                        subject.prefetch(due.iter().map(|(key, ..)| key));
                    }
                    for (key, index, _) in due.drain(..) {
                        let is_first = answered < input.keys.len();
                        answered += 1;
                        let answer = if is_first { first } else { apply };
                        answer(subject, key, index, now);
                    }
                    now += if wait == 0 { 0 } else { STEP };
                }
            });
        }
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
            (now, proposal).hash(&mut digest);
            digest.finish()
        });
        self.answered = digests.fold(self.answered, u64::wrapping_add);
        wait
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

/// The smallest, the middle and the largest of some samples.
fn spread(samples: &mut [f64]) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    let last = samples.len() - 1;
    let middle = f64::midpoint(samples[last / 2], samples[last.div_ceil(2)]);
    [samples[0], middle, samples[last]]
}

fn print(options: &Options, rounds: &[[Round; 2]]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let (n, count) = (options.n, options.rounds);
    writeln!(out, "{n} keys, {count} rounds: median (min-max)\n")?;
    let (queue, sets) = ("TtlQueue", "two sets");
    writeln!(out, "{:<44}{queue:>32}{sets:>32}{:>9}", "", "ratio")?;
    for (nth, figure) in FIGURES.iter().enumerate() {
        let divisor = if figure.is_per_key { f64::from(n) } else { 1.0 };
        let [ours, theirs] = [0, 1].map(|subject: usize| {
            let rounds = rounds.iter().map(|round| &round[subject].times[nth]);
            let mut samples: Vec<f64> = rounds
                .map(|time| time.as_nanos() as f64 / divisor)
                .collect();
            spread(&mut samples)
        });
        let cell = |[min, median, max]: [f64; 3]| format!("{median:.1} ({min:.1}-{max:.1})");
        let ratio = theirs[1] / ours[1];
        let (ours, theirs) = (cell(ours), cell(theirs));
        writeln!(
            out,
            "{:<44}{ours:>32}{theirs:>32}{ratio:>7.1} x",
            figure.name
        )?;
    }
    out.flush()
}

fn main() -> ExitCode {
    let options = Options::parse();
    let input = Input::new(options.n);
    let mut rounds = Vec::new();
    for nth in 0..options.rounds {
        // Neither always goes first.
        let round = if nth % 2 == 0 {
            let ours = Round::run::<TtlQueue<u64>>(&input);
            [ours, Round::run::<TwoSets<u64>>(&input)]
        } else {
            let theirs = Round::run::<TwoSets<u64>>(&input);
            [Round::run::<TtlQueue<u64>>(&input), theirs]
        };
        let [ours, theirs] = &round;
        let answers = |round: &Round| {
            let ordered = round.answers.finish();
            (round.proposals, ordered, round.answered)
        };
        if answers(ours) != answers(theirs) {
            let _ = writeln!(io::stderr(), "error: the two queues answer differently");
            return ExitCode::FAILURE;
        }
        rounds.push(round);
    }
    match print(&options, &rounds) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: cannot write the results: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
