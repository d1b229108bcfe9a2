//! Sessions that end after ten minutes without a request: one job per session, postponed by each request.
//!
//! A request may come just when its session ends: the job is under way already and cannot be postponed.
//! Then the request begins another session, and the job must leave that one alone. So each session has
//! a number, and a job ends only the session that it was made for.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features timer`

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use timer_wheel::{KeyedTimer, ManualClock, Timer};

const MINUTE: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(600);

#[derive(Default)]
struct Open {
    /// The number of each user's session.
    sessions: BTreeMap<&'static str, u64>,
    begun: u64,
}

struct Sessions {
    open: Arc<Mutex<Open>>,
    expiry: KeyedTimer<&'static str>,
}

impl Sessions {
    fn new(timer: Timer) -> Self {
        Self { open: Arc::default(), expiry: KeyedTimer::new(timer) }
    }

    /// Postpones the end of a session, or begins one.
    fn request(&self, user: &'static str) {
        // Locked throughout, so that a user's session and job have the same number.
        let mut open = self.open.lock().unwrap();
        if self.expiry.reschedule_after(user, IDLE) {
            return;
        }
        open.begun += 1;
        let number = open.begun;
        open.sessions.insert(user, number);
        let all = Arc::clone(&self.open);
        let end = move || {
            let mut open = all.lock().unwrap();
            if open.sessions.get(user) == Some(&number) {
                open.sessions.remove(user);
            }
        };
        self.expiry.set_after(user, IDLE, end).expect("the timer runs");
    }

    fn log_out(&self, user: &'static str) {
        let mut open = self.open.lock().unwrap();
        open.sessions.remove(user);
        // `false` would mean that the session is just ending. Its job then finds nothing to end.
        self.expiry.remove(user);
    }

    fn open(&self) -> Vec<&'static str> {
        self.open.lock().unwrap().sessions.keys().copied().collect()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).start()?;
    let sessions = Sessions::new(timer.clone());
    for user in ["ann", "bob", "eve"] {
        sessions.request(user);
    }
    sessions.log_out("eve");

    // Ann comes back every nine minutes, Bob does not.
    for _ in 0..5 {
        clock.advance(9 * MINUTE);
        timer.settle()?;
        sessions.request("ann");
    }
    assert_eq!(sessions.open(), ["ann"]);
    assert_eq!(sessions.expiry.len(), 1, "one job a session");

    clock.advance(9 * MINUTE);
    timer.settle()?;
    assert_eq!(sessions.open(), ["ann"]);
    clock.advance(MINUTE);
    timer.settle()?;
    assert!(sessions.open().is_empty() && sessions.expiry.is_empty());

    let statistics = timer.stats();
    assert_eq!((statistics.scheduled, statistics.rescheduled), (3, 5));
    assert_eq!((statistics.cancelled, statistics.fired), (1, 2));
    println!("eve logged out, bob expired after 10 minutes, ann after 55");

    // A request while the job of the end is under way: whichever comes first, the user is logged in.
    for _ in 0..1_000 {
        sessions.request("tim");
        clock.advance(IDLE);
        while sessions.expiry.contains("tim") {
            thread::yield_now();
        }
        sessions.request("tim");
        timer.settle()?;
        assert_eq!(sessions.open(), ["tim"]);
        sessions.log_out("tim");
    }
    assert!(sessions.open().is_empty() && sessions.expiry.is_empty());
    println!("a request while the session ended, a thousand times: nobody was thrown out");
    Ok(())
}
