//! Sessions that end after ten minutes without a request: a job a session, put off by each request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use timer_wheel::{KeyedTimer, ManualClock, Timer};

const MINUTE: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(600);

struct Sessions {
    open: Arc<Mutex<BTreeSet<&'static str>>>,
    expiry: KeyedTimer<&'static str>,
}

impl Sessions {
    /// Puts the end of a session off, or begins one.
    fn request(&self, user: &'static str) {
        if self.expiry.reschedule_after(user, IDLE) {
            return;
        }
        self.open.lock().unwrap().insert(user);
        let open = Arc::clone(&self.open);
        let end = move || _ = open.lock().unwrap().remove(user);
        self.expiry
            .set_after(user, IDLE, end)
            .expect("the timer runs");
    }

    fn log_out(&self, user: &'static str) {
        // `false` would say that the session has just expired.
        if self.expiry.remove(user) {
            self.open.lock().unwrap().remove(user);
        }
    }

    fn open(&self) -> Vec<&'static str> {
        self.open.lock().unwrap().iter().copied().collect()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).start()?;
    let sessions = Sessions {
        open: Arc::default(),
        expiry: KeyedTimer::new(timer.clone()),
    };
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

    let statistics = timer.statistics();
    assert_eq!((statistics.scheduled, statistics.rescheduled), (3, 5));
    assert_eq!((statistics.cancelled, statistics.fired), (1, 2));
    println!("eve logged out, bob expired after 10 minutes, ann after 55");
    Ok(())
}
