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
use std::thread;
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

    /// Whether a request is on its way and its timeout has not begun to run.
    fn waits(&self, request: u64) -> bool {
        let pending = self.pending.lock().unwrap();
        pending.get(&request).is_some_and(TimerHandle::is_live)
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
    let timed_out: Vec<u64> = of(Outcome::TimedOut, &ended).collect();
    assert_eq!((ended.len(), timed_out.len()), (100_000, 100));
    assert!(timed_out.is_sorted(), "in the order they were sent");
    assert!(client.pending.lock().unwrap().is_empty());
    let statistics = timer.stats();
    assert_eq!((statistics.cancelled, statistics.fired), (99_900, 100));
    println!(
        "{answered} answered, {} timed out, and the timer thread woke up {} times",
        timed_out.len(),
        statistics.wake_ups
    );

    // An answer while the timeout is under way: each request ends once, and none stays.
    for request in 0..1_000 {
        client.send(request);
        clock.advance(TIMEOUT);
        while client.waits(request) {
            thread::yield_now();
        }
        client.answer(request);
    }
    timer.settle()?;
    let ended: Vec<(u64, Outcome)> = outcomes.try_iter().collect();
    let mut requests: Vec<u64> = ended.iter().map(|(request, _)| *request).collect();
    requests.sort();
    assert!(requests.into_iter().eq(0..1_000), "each ended, and once");
    assert!(client.pending.lock().unwrap().is_empty());
    println!(
        "while the timeout ran: {} answered, {} timed out",
        of(Outcome::Answered, &ended).count(),
        of(Outcome::TimedOut, &ended).count()
    );
    Ok(())
}

/// The requests that ended so, in the order they did.
fn of(outcome: Outcome, ended: &[(u64, Outcome)]) -> impl Iterator<Item = u64> + '_ {
    let is_it = move |(request, how): &(u64, Outcome)| (*how == outcome).then_some(*request);
    ended.iter().filter_map(is_it)
}
