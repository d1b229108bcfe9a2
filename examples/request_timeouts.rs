//! Timeouts of requests, nearly all of which are answered in time: a timeout that is cancelled
//! costs next to nothing, and the cancel tells whether the answer or the timeout came first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use timer_wheel::{ManualClock, Timer, TimerHandle};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Requests on their way, by number.
struct Client {
    timer: Timer,
    pending: HashMap<u64, TimerHandle>,
    timed_out: Arc<Mutex<Vec<u64>>>,
}

impl Client {
    fn send(&mut self, request: u64) {
        let timed_out = Arc::clone(&self.timed_out);
        let on_timeout = move || timed_out.lock().unwrap().push(request);
        let handle = self.timer.schedule_after(TIMEOUT, on_timeout);
        self.pending
            .insert(request, handle.expect("the timer runs"));
    }

    /// Whether the answer still matters: exactly one of answer and timeout wins.
    fn answer(&mut self, request: u64) -> bool {
        let timeout = self.pending.remove(&request);
        timeout.is_some_and(|timeout| timeout.cancel())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // By hand here, so that the example need not wait. `Timer::new()` goes by the system's clock.
    let clock = ManualClock::new();
    let mut client = Client {
        timer: Timer::builder().clock(clock.clone()).start()?,
        pending: HashMap::new(),
        timed_out: Arc::default(),
    };

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
    client.timer.settle()?;
    assert!(!client.answer(999), "too late: the timeout has run");

    let timed_out = client.timed_out.lock().unwrap();
    assert_eq!(timed_out.len(), 100);
    assert!(timed_out.is_sorted(), "in the order they were sent");
    let statistics = client.timer.statistics();
    assert_eq!((statistics.cancelled, statistics.fired), (99_900, 100));
    assert!(statistics.wake_ups < 10, "it slept through all of it");
    println!(
        "{answered} answered, {} timed out, and the timer thread woke up {} times",
        timed_out.len(),
        statistics.wake_ups
    );
    Ok(())
}
