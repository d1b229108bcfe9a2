//! `ttl`: measures the TTL layer beside the design it replaces, two ordered sets and a map.
//!
//! Both take turns within one process, round by round, on the same inputs, and must propose the
//! same keys in the same order with the same waits in between: a subject that answers otherwise is
//! an error, not a figure. What counts is the ratio of the medians.

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
const FIGURES: [Figure; 10] = [
    per_key("init, ns a key"),
    per_key("look-up alone, ns a key"),
    per_key("update to another TTL, ns a key"),
    per_key("update to 10 min from now, ns a key"),
    per_key("poll in steps of 2^20 ns, ns an expiry"),
    in_all("role change with all pending, ns"),
    in_all("the poll after it, ns"),
    per_key("poll all that was put back, ns an expiry"),
    per_key("poll to the wait, apply, ns an expiry"),
    per_key("failed, retried and applied, ns an expiry"),
];

/// What both queues do.
trait Subject {
    fn new(config: &TtlConfig) -> Self;
    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, created: u64);
    /// The index of the entry of a key that has one.
    fn index_of(&self, key: u64) -> u64;
    /// Polls once, hands key and index of each expiry on, and tells the wait.
    fn poll(&mut self, now: u64, propose: impl FnMut(u64, u64)) -> Option<u64>;
    fn applied(&mut self, key: u64, index: u64);
    fn failed(&mut self, key: u64, index: u64, now: u64);
    fn lead(&mut self, now: u64);
}

impl Subject for TtlQueue<u64> {
    fn new(config: &TtlConfig) -> Self {
        Self::new(0, config.clone())
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, created: u64) {
        let ctx = Context {
            created_ns: created,
            ..Context::default()
        };
        self.init(index, key, ttl_ms, ctx)
            .expect("the TTL is not too long");
    }

    fn index_of(&self, key: u64) -> u64 {
        self.get(&key).expect("the key has a TTL").entry.index
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64)) -> Option<u64> {
        let mut due = self.poll(now);
        for due in due.by_ref() {
            propose(due.key, due.index);
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

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64, created: u64) {
        self.init(index, key, ttl_ms, created);
    }

    fn index_of(&self, key: u64) -> u64 {
        self.index_of(&key).expect("the key has a TTL")
    }

    fn poll(&mut self, now: u64, mut propose: impl FnMut(u64, u64)) -> Option<u64> {
        self.poll(now, |(key, index, _)| propose(key, index))
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

    fn poll(&mut self, subject: &mut impl Subject, now: u64) -> Option<u64> {
        let wait = subject.poll(now, |key, index| {
            self.proposals += 1;
            (key, index).hash(&mut self.answers);
        });
        wait.hash(&mut self.answers);
        wait
    }

    fn set(&mut self, subject: &mut impl Subject, input: &Input) {
        subject.lead(0);
        self.time(|_| {
            for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[0]) {
                subject.init(1, key, ttl_ms, 0);
            }
        });
        self.time(|round| {
            let indices = input.shuffled.iter().map(|&key| subject.index_of(key));
            round.answers.write_u64(indices.sum());
        });
        self.time(|_| {
            for (&key, &ttl_ms) in input.shuffled.iter().zip(&input.ttls_ms[1]) {
                subject.init(2, key, ttl_ms, 0);
            }
        });
        self.time(|round| {
            for (step, &key) in input.shuffled.iter().enumerate() {
                let now = step as u64;
                subject.init(3, key, 600_000, now);
                if step % 1_000 == 0 {
                    round.poll(subject, now);
                }
            }
        });
    }

    fn expire(&mut self, subject: &mut impl Subject, input: &Input) {
        subject.lead(0);
        for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[2]) {
            subject.init(1, key, ttl_ms, 0);
        }
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

    fn answer(&mut self, subject: &mut impl Subject, input: &Input) {
        for (is_refused, start) in [(false, 0), (true, 100 * SECOND)] {
            subject.lead(start);
            for (&key, &ttl_ms) in input.keys.iter().zip(&input.ttls_ms[2]) {
                subject.init(1, key, ttl_ms, start);
            }
            let mut due = Vec::new();
            self.time(|round| {
                let mut now = start;
                let mut refused = 0;
                // As a driver does, but for waiting a little longer, so that batches form.
                while let Some(wait) = round.poll_into(subject, now, &mut due) {
                    for (key, index) in due.drain(..) {
                        if is_refused && refused < input.keys.len() {
                            refused += 1;
                            subject.failed(key, index, now);
                        } else {
                            subject.applied(key, index);
                        }
                    }
                    now += if wait == 0 { 0 } else { wait.max(MILLISECOND) };
                }
            });
        }
    }

    fn poll_into(
        &mut self,
        subject: &mut impl Subject,
        now: u64,
        due: &mut Vec<(u64, u64)>,
    ) -> Option<u64> {
        let wait = subject.poll(now, |key, index| due.push((key, index)));
        self.proposals += due.len() as u64;
        due.hash(&mut self.answers);
        wait.hash(&mut self.answers);
        wait
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
        let answers = |round: &Round| (round.proposals, round.answers.finish());
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
