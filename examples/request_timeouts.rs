//! Timeouts of requests, nearly all of which are answered in time: a timeout that is cancelled costs
//! next to nothing.
//!
//! Answer and timeout may come at the same moment, on two threads. The map of pending requests decides:
//! the thread that takes the request out of it has won, and the other finds nothing to do.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features timer`

use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use timer_wheel::{ManualClock, Timer, TimerHandle};

const TIMEOUT: Duration = Duration::from_secs(30);

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Answered,
    TimedOut,
}

/// Requests on their way, by number, each with its timeout.
type Pending = Arc<Mutex<HashMap<u64, TimerHandle>>>;

struct Client {
    timer: Timer,
    pending: Pending,
    outcomes: Sender<(u64, Outcome)>,
}

impl Client {
    fn new(timer: Timer) -> (Self, Receiver<(u64, Outcome)>) {
        let (outcomes, receiver) = mpsc::channel();
        let pending = Pending::default();
        let client = Self { timer, pending, outcomes };
        (client, receiver)
    }

    fn send(&self, request: u64) {
        let pending = Arc::clone(&self.pending);
        let outcomes = self.outcomes.clone();
        let on_timeout = move || {
            // Nothing stays behind of a request that has timed out.
            let timed_out = pending.lock().unwrap().remove(&request);
            if timed_out.is_some() {
                let _ = outcomes.send((request, Outcome::TimedOut));
            }
        };
        // Locked until the request is in the map: its timeout, however short, comes after that.
        let mut pending = self.pending.lock().unwrap();
        let timeout = self.timer.schedule_after(TIMEOUT, on_timeout);
        pending.insert(request, timeout.expect("the timer runs"));
    }

    /// Takes an answer in, and says whether it came in time.
    fn answer(&self, request: u64) -> bool {
        let Some(timeout) = self.pending.lock().unwrap().remove(&request) else {
            return false;
        };
        // `false` says that the timeout has begun to run. It finds nothing.
        timeout.cancel();
        let _ = self.outcomes.send((request, Outcome::Answered));
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // By hand here, so that the example need not wait. `Timer::new()` goes by the system's clock.
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).start()?;
    let (client, outcomes) = Client::new(timer.clone());

    let mut answered = 0;
    for request in 0..100_000 {
        client.send(request);
        // One request in a thousand is never answered.
        if request % 1_000 != 999 {
            answered += u32::from(client.answer(request));
        }
    }
    assert_eq!(answered, 99_900);
    clock.advance(TIMEOUT);
    timer.settle()?;
    assert!(!client.answer(999), "too late: the timeout has run");

    let ended: Vec<(u64, Outcome)> = outcomes.try_iter().collect();
    let timed_out = ended.iter().filter(|(_, outcome)| *outcome == Outcome::TimedOut).map(|(request, _)| request);
    assert!(timed_out.clone().is_sorted(), "in the order they were sent");
    assert_eq!((ended.len(), timed_out.clone().count()), (100_000, 100));
    assert!(client.pending.lock().unwrap().is_empty());
    let statistics = timer.stats();
    assert_eq!((statistics.cancelled, statistics.fired), (99_900, 100));
    println!(
        "{answered} answered, {} timed out, and the timer thread woke up {} times",
        timed_out.count(),
        statistics.wake_ups
    );
    Ok(())
}
