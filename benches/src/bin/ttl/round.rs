//! One round: what every subject is asked, in the order of the figures, and how long it took.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use cpu_time::ThreadTime;
use timer_wheel::ttl::{Context, TtlConfig};
use timer_wheel_bench::workload::{MILLISECOND, SECOND, STEP, XorShift64Star};

use crate::subject::{Subject, nth};

/// Late entries.
const LATE: usize = 1_000;

/// What all get: made before any clock starts.
pub(crate) struct Input {
    keys: Vec<u64>,
    /// The same in the order in which they are updated.
    shuffled: Vec<u64>,
    /// For init, for the first update, for polling.
    ttls_ms: [Vec<u64>; 3],
}

impl Input {
    pub(crate) fn new(n: u32) -> Self {
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
            subject.init(key, 1, ttl_ms, created(key, 0));
        }
    }
}

/// What one subject took in one round, figure by figure, and a digest of all that it answered.
pub(crate) struct Round {
    /// Of an operation, or of a single call.
    pub(crate) times_ns: Vec<f64>,
    answers: DefaultHasher,
    /// The same of what was proposed to be answered, in any order.
    answered: u64,
    proposals: u64,
}

impl Round {
    /// What was answered: equal for all subjects.
    pub(crate) fn answers(&self) -> (u64, u64, u64) {
        (self.proposals, self.answers.finish(), self.answered)
    }

    pub(crate) fn run<S: Subject>(input: &Input) -> Self {
        // Nothing times out while the others are measured.
        let config = TtlConfig::builder().pending_timeout(Duration::from_secs(1_000_000));
        let bounded = config.clone().build().expect("it makes sense");
        let all = config.max_pending(usize::MAX).build();
        let all = all.expect("it makes sense");
        let mut round = Self { times_ns: Vec::new(), answers: DefaultHasher::new(), answered: 0, proposals: 0 };
        round.set(input.subject::<S>(&bounded), input);
        round.expire(input.subject::<S>(&all), input);
        round.answer(input.subject::<S>(&bounded), input, |subject, key, index, _| {
            subject.applied(key, index);
        });
        round.answer(input.subject::<S>(&all), input, |subject, key, index, now| {
            subject.failed(key, index, now);
        });
        round.longest(|| input.subject::<S>(&bounded), input);
        round.late(input.subject::<S>(&all), input);
        round
    }

    fn time(&mut self, operations: usize, what: impl FnOnce(&mut Self)) {
        let start = ThreadTime::now();
        what(self);
        self.times_ns.push(start.elapsed().as_nanos() as f64 / operations as f64);
    }

    fn push(&mut self, call: Duration) {
        self.times_ns.push(call.as_nanos() as f64);
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
        self.time(input.keys.len(), |_| input.init(&mut subject, 0));
        self.time(input.keys.len(), |round| {
            let indices = input.shuffled.iter().map(|&key| subject.index_of(key));
            round.answers.write_u64(indices.sum());
        });
        let names = subject.names(&input.shuffled);
        self.time(input.keys.len(), |_| {
            for ((&name, &key), &ttl_ms) in names.iter().zip(&input.shuffled).zip(&input.ttls_ms[1]) {
                subject.update(2, name, ttl_ms, created(key, 0));
            }
        });
        subject.lead(0);
        let mut now = 0;
        self.time(input.keys.len(), |round| {
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
        self.time(input.keys.len(), |round| {
            while now < 60 * SECOND {
                now += STEP;
                while round.poll(&mut subject, now) == Some(0) {}
            }
        });
    }

    /// Polls until all has expired; as many answers as there are keys are `first`, and then all is applied.
    fn answer<S: Subject>(&mut self, mut subject: S, input: &Input, first: impl Fn(&mut S, u64, u64, u64)) {
        input.init(&mut subject, 2);
        let mut due = Vec::new();
        self.time(input.keys.len(), |round| {
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

    fn poll_into(&mut self, subject: &mut impl Subject, now: u64, due: &mut Vec<(u64, u64, u128)>) -> Option<u64> {
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
                subject.init(key, index, ttl_ms, created(key, 0));
                start.elapsed()
            });
            calls.max().unwrap_or_default()
        };
        let mut subject = new();
        subject.reserve(input.keys.len());
        let with_room = set(&mut subject, 1, &input.keys, &input.ttls_ms[0]);
        let without = set(&mut new(), 1, &input.keys, &input.ttls_ms[0]);
        let update = set(&mut subject, 2, &input.shuffled, &input.ttls_ms[2]);
        [with_room, without, update].into_iter().for_each(|call| self.push(call));

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
        self.push(longest);

        longest = Duration::ZERO;
        input.init(&mut subject, 2);
        now += 60 * SECOND;
        for _ in 0..10 {
            while self.poll(&mut subject, now) == Some(0) {}
            let start = ThreadTime::now();
            subject.lead(now);
            longest = longest.max(start.elapsed());
        }
        self.push(longest);
    }

    /// All that is in flight is removed but for what a fair coin leaves that everybody knows; then some
    /// more come.
    fn late(&mut self, mut subject: impl Subject, input: &Input) {
        let (mut now, last) = (MILLISECOND, input.keys.len() - LATE);
        subject.lead(0);
        for &key in &input.keys[..last] {
            subject.init(key, 1, 1, created(key, 0));
        }
        while self.poll(&mut subject, now) == Some(0) {}
        for &key in input.keys[..last].iter().filter(|&&key| nth(key) % 4 != 0) {
            subject.remove(key);
        }
        self.time(LATE, |round| {
            for &key in &input.keys[last..] {
                now += 1;
                subject.init(key, 2, 1, created(key, 0));
                round.poll(&mut subject, now);
            }
        });
    }
}

/// A log entry that was created at that time.
fn created(key: u64, created_ns: u64) -> Context {
    Context::new(created_ns).with_owner(u128::from(key) << 64).with_leader_start_ms(created_ns / MILLISECOND)
}
