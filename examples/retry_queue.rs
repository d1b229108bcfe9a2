//! Deliver this at t, and again with backoff until it is acknowledged: a retry queue for one machine.
//!
//! There is no log here. The index of a job is a counter of our own, and nobody but us leads. An
//! "expiry" is a delivery to make, `applied` its acknowledgement. A simulated network loses some
//! deliveries, refuses others and brings acknowledgements late or twice.

use std::collections::BTreeMap;
use std::time::Duration;

use timer_wheel::ttl::{Backoff, Context, Outcome, Role, TtlConfig, TtlError, TtlQueue};

const MS: u64 = 1_000_000; // in nanoseconds

/// What becomes of a delivery, by job and attempt.
fn network(job: &str, attempt: u32) -> Fate {
    match (job, attempt) {
        ("flaky", 1..=3) => Fate::Refused,
        ("lost", 1) => Fate::Lost,
        ("slow", _) => Fate::AcknowledgedAfter(300 * MS),
        _ => Fate::AcknowledgedAfter(5 * MS),
    }
}

enum Fate {
    AcknowledgedAfter(u64),
    Refused,
    Lost,
}

/// The queue, and a counter for what a log would number.
struct Jobs {
    queue: TtlQueue<&'static str>,
    last_index: u64,
}

impl Jobs {
    fn new() -> Result<Self, TtlError> {
        let config = TtlConfig::builder()
            .retry_delay(Duration::from_millis(100))
            .backoff(Backoff::Exponential {
                cap: Duration::from_secs(5),
            })
            .pending_timeout(Duration::from_secs(2))
            .build()?;
        let mut queue = TtlQueue::new(0, config);
        queue.role_change(Role::Leader, 0); // nobody else will deliver
        Ok(Self {
            queue,
            last_index: 0,
        })
    }

    /// Delivers the job `after_ms` from now. Asked again before that, only the new time counts; so
    /// an acknowledgement of the old delivery is stale.
    fn deliver(&mut self, job: &'static str, after_ms: u64, now: u64) -> Result<Outcome, TtlError> {
        self.last_index += 1;
        let ctx = Context {
            created_ns: now,
            ..Context::default()
        };
        self.queue.init(self.last_index, job, after_ms, ctx)
    }
}

fn main() -> Result<(), TtlError> {
    let mut jobs = Jobs::new()?;
    for (job, after_ms) in [("plain", 50), ("flaky", 20), ("lost", 30), ("slow", 40)] {
        assert_eq!(jobs.deliver(job, after_ms, 0)?, Outcome::Scheduled);
    }
    assert_eq!(jobs.deliver("plain", 80, 10 * MS)?, Outcome::Updated);

    // Acknowledgements on their way, by when they arrive.
    let mut acknowledgements: BTreeMap<u64, Vec<(&str, u64)>> = BTreeMap::new();
    let mut delivered = Vec::new();
    let mut now = 10 * MS;
    while !jobs.queue.is_empty() {
        // Sleep until there is something to deliver, or something arrives.
        let wake = jobs.queue.next_wake(now).map(|wait| now + wait);
        let arrival = acknowledgements.keys().next().copied();
        now = wake.into_iter().chain(arrival).min().unwrap_or(now);

        for (job, index) in acknowledgements.remove(&now).unwrap_or_default() {
            if jobs.queue.applied(job, index) == Outcome::Applied {
                println!("{:5} ms  {job} is acknowledged", now / MS);
            }
        }
        let due: Vec<_> = jobs.queue.poll(now).collect();
        for due in due {
            println!(
                "{:5} ms  {} is delivered, attempt {}",
                now / MS,
                due.key,
                due.attempt
            );
            delivered.push((due.key, due.attempt));
            match network(due.key, due.attempt) {
                Fate::AcknowledgedAfter(delay) => {
                    let arriving = acknowledgements.entry(now + delay).or_default();
                    arriving.extend([(due.key, due.index); 2]); // twice, as networks do
                }
                Fate::Refused => {
                    jobs.queue.failed(due.key, due.index, now);
                }
                Fate::Lost => {} // the pending timeout sees to it
            }
        }
    }

    let attempts = |job| delivered.iter().filter(|&&(name, _)| name == job).count();
    assert_eq!(
        ["plain", "flaky", "lost", "slow"].map(attempts),
        [1, 4, 2, 1]
    );
    let counters = jobs.queue.counters();
    assert_eq!((counters.failed, counters.timed_out), (3, 1));
    println!("{counters:#?}");
    Ok(())
}
