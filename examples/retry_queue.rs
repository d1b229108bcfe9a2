//! Deliver this at t, and again with backoff until it is acknowledged: a retry queue for one machine.
//!
//! There is no log here. The index of a job is a counter of our own, and nobody but us leads. An
//! "expiry" is a delivery to make, `applied` its acknowledgement. A delivery carries the handle of its job,
//! and so does its acknowledgement: nothing is looked up. A simulated network loses some deliveries, refuses
//! others and brings acknowledgements late or twice.

use std::collections::BTreeMap;
use std::time::Duration;

use timer_wheel::ttl::{Backoff, Context, Outcome, Role, TtlConfig, TtlError, TtlKey, TtlSet};

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

/// The jobs, and a counter for what a log would number.
struct Jobs {
    set: TtlSet<&'static str>,
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
        let mut set = TtlSet::new(0, config);
        set.role_change(Role::Leader, 0); // nobody else will deliver
        Ok(Self { set, last_index: 0 })
    }

    /// Delivers the job `after_ms` from now; without a delay there is nothing to wait for, and no handle.
    fn deliver(
        &mut self,
        job: &'static str,
        after_ms: u64,
        now: u64,
    ) -> Result<Option<TtlKey>, TtlError> {
        self.last_index += 1;
        self.set.init(self.last_index, job, after_ms, from(now))
    }

    /// Only the new time counts from now on; so an acknowledgement of an older delivery is stale.
    fn put_off(&mut self, job: TtlKey, after_ms: u64, now: u64) -> Result<Outcome, TtlError> {
        self.last_index += 1;
        self.set.update(self.last_index, job, after_ms, from(now))
    }
}

fn from(now: u64) -> Context {
    Context {
        created_ns: now,
        ..Context::default()
    }
}

fn main() -> Result<(), TtlError> {
    let mut jobs = Jobs::new()?;
    let plain = jobs.deliver("plain", 50, 0)?;
    for (job, after_ms) in [("flaky", 20), ("lost", 30), ("slow", 40)] {
        jobs.deliver(job, after_ms, 0)?;
    }
    if let Some(plain) = plain {
        assert_eq!(jobs.put_off(plain, 80, 10 * MS)?, Outcome::Updated);
    }

    // Acknowledgements on their way, by when they arrive.
    let mut acknowledgements: BTreeMap<u64, Vec<(&str, TtlKey, u64)>> = BTreeMap::new();
    let mut delivered = Vec::new();
    let mut now = 10 * MS;
    while !jobs.set.is_empty() {
        // Sleep until there is something to deliver, or something arrives.
        let wake = jobs.set.next_wake(now).map(|wait| now + wait);
        let arrival = acknowledgements.keys().next().copied();
        now = wake.into_iter().chain(arrival).min().unwrap_or(now);

        for (job, handle, index) in acknowledgements.remove(&now).unwrap_or_default() {
            if jobs.set.applied(handle, index) == Outcome::Applied {
                println!("{:5} ms  {job} is acknowledged", now / MS);
            }
        }
        let due: Vec<_> = jobs.set.poll(now).collect();
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
                    arriving.extend([(due.key, due.handle, due.index); 2]); // twice, as networks do
                }
                Fate::Refused => {
                    jobs.set.failed(due.handle, due.index, now);
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
    let counters = jobs.set.counters();
    assert_eq!((counters.failed, counters.timed_out), (3, 1));
    println!("{counters:#?}");
    Ok(())
}
