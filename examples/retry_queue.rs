//! Webhooks that are delivered until they are acknowledged, at most five times, by a program that dies in between.
//!
//! The program stores its queue in a file after each turn. It dies while deliveries are pending, stays down for a
//! minute, and goes on. A simulated receiver refuses some deliveries, loses others and answers late. Time is simulated,
//! too: the loop moves it to whatever comes first, an answer or the queue's wake-up.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features retry,serde && cargo add serde_json@1`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use timer_wheel::retry::{RetryConfig, RetryEvent, RetryQueue};
use timer_wheel::{Backoff, Budget};

const MS: u64 = 1_000_000; // in nanoseconds

/// Nanoseconds since the Unix epoch, which is an origin that outlives the process.
const START: u64 = 1_700_000_000_000 * MS;

const HOOKS: [&str; 5] = ["plain", "refused three times", "lost once", "slow", "never answered"];

/// The receiver's answer, and after how long it comes. `None` if it never comes.
fn deliver(hook: &str, attempt: u32) -> Option<(u64, bool)> {
    match (hook, attempt) {
        ("refused three times", 1..=3) => Some((5 * MS, false)),
        ("lost once", 1) => None,
        ("slow", _) => Some((2_500 * MS, true)), // after the timeout
        ("never answered", _) => None,
        _ => Some((5 * MS, true)),
    }
}

/// The outcomes of the hooks, and how often each was delivered.
#[derive(Debug, Default)]
struct Outcomes {
    delivered: BTreeMap<String, u32>,
    acknowledged: Vec<String>,
    given_up: Vec<String>,
}

/// The queue that is stored in the file, or a new one if there is no file.
fn open(file: &Path) -> Result<RetryQueue<String>, Box<dyn Error>> {
    let mut queue = if file.exists() {
        serde_json::from_slice(&fs::read(file)?)?
    } else {
        let mut queue = RetryQueue::new(START);
        HOOKS.iter().for_each(|hook| _ = queue.push(hook.to_string(), START + 20 * MS));
        queue
    };
    let mut config = RetryConfig::default(); // it is not in the file
    config.retry_delay = Duration::from_millis(500);
    config.backoff = Backoff::Exponential { cap: Duration::from_secs(30) };
    config.pending_timeout = Duration::from_secs(2);
    config.attempts = 5;
    queue.set_config(config)?;
    Ok(queue)
}

/// Replaces the file as a whole: a program that dies in here leaves the old one.
fn store(queue: &RetryQueue<String>, file: &Path) -> Result<(), Box<dyn Error>> {
    let new = file.with_extension("new");
    fs::write(&new, serde_json::to_vec(queue)?)?;
    Ok(fs::rename(new, file)?)
}

/// The program, from its start until nothing is left to do, or until it dies.
fn run(file: &Path, start: u64, death: u64, outcomes: &mut Outcomes) -> Result<(), Box<dyn Error>> {
    let mut queue = open(file)?;
    let mut answers: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    let mut now = start;
    while let Some(wake) = queue.wake_at() {
        now = answers.keys().next().map_or(wake, |answer| wake.min(*answer)).max(now);
        if now >= death {
            return Ok(()); // and no answer will be heard
        }
        for (key, is_fine) in answers.remove(&now).unwrap_or_default() {
            if is_fine {
                outcomes.acknowledged.extend(queue.done(key));
            } else {
                queue.failed(key, now);
            }
        }
        // Whatever is left is due at once, in the next turn.
        let mut budget = Budget::of_work(1_000);
        while let Some(event) = queue.poll(now, &mut budget) {
            match event {
                RetryEvent::Deliver { key, attempt, value } => {
                    println!("{:6} ms  attempt {attempt}: {value}", (now - START) / MS);
                    outcomes.delivered.insert(value.clone(), attempt);
                    if let Some((delay, is_fine)) = deliver(value, attempt) {
                        answers.entry(now + delay).or_default().push((key, is_fine));
                    }
                }
                RetryEvent::GaveUp { value, .. } => outcomes.given_up.push(value),
            }
        }
        store(&queue, file)?;
    }
    assert!(answers.is_empty());
    Ok(())
}

/// A file that is removed when it is dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = Temporary(env::temp_dir().join(format!("retry_queue-{}.json", process::id())));
    let mut outcomes = Outcomes::default();

    let death = START + 1_000 * MS;
    run(&file.0, START, death, &mut outcomes)?;
    let left: Vec<_> = open(&file.0)?.iter().map(|(_, hook, attempts, _)| (hook.clone(), attempts)).collect();
    println!("   died with {left:?}");
    assert_eq!((left.len(), &outcomes.acknowledged[..]), (4, &["plain".to_owned()][..]));

    let again = death + 60_000 * MS;
    run(&file.0, again, u64::MAX, &mut outcomes)?;
    println!("{outcomes:#?}");

    assert!(open(&file.0)?.is_empty());
    assert_eq!(outcomes.acknowledged.len(), 4, "each once");
    assert_eq!(outcomes.given_up, ["never answered"]);
    // Attempts from before the restart count.
    let attempts = HOOKS.map(|hook| outcomes.delivered[hook]);
    assert_eq!(attempts, [1, 4, 2, 2, 5]);
    Ok(())
}
