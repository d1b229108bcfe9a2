//! A thread that sleeps until the next timer: the wheel reads no clock, so the loop brings one.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::thread;
use std::time::Duration;

use timer_wheel::Wheel;
use timer_wheel::clock::{Clock, SystemClock, nanoseconds};

/// Milliseconds in the unit of the wheel.
const fn milliseconds(count: u64) -> u64 {
    nanoseconds(Duration::from_millis(count))
}

fn main() {
    let clock = SystemClock::new(); // nanoseconds since now
    let mut wheel = Wheel::<&str>::new(0);
    wheel.schedule(milliseconds(60), "third");
    wheel.schedule(milliseconds(20), "first");
    let postponed = wheel.schedule(milliseconds(5), "last");
    let cancelled = wheel.schedule(milliseconds(30), "never");
    wheel.schedule(milliseconds(20) + 1, "second"); // one nanosecond decides the order
    wheel.reschedule(postponed, milliseconds(90));
    wheel.cancel(cancelled);

    let mut fired = Vec::new();
    let mut wake_ups = 0;
    // There is a wake-up as long as a timer is live.
    while let Some(wake) = wheel.wake_at() {
        thread::sleep(clock.until(wake));
        wake_ups += 1;

        let now = clock.now();
        for timer in wheel.advance(now) {
            assert!(timer.deadline <= now, "nothing fires early");
            let late = Duration::from_nanos(now - timer.deadline);
            println!("{:6} fired, {late:?} after its deadline", timer.value);
            fired.push(timer.value);
        }
    }
    assert_eq!(fired, ["first", "second", "third", "last"]);

    // Some wake-ups fire nothing: to open a bucket, or for the old time of a postponed timer.
    // They are few: for each timer one a level and one to fire, and one for the postponement.
    println!("{wake_ups} wake-ups for {} timers", fired.len());
    assert!(wake_ups <= 4 * 6 + 1);
}
