//! What is the user's may use the timer whenever it is called, as it is never called under a lock.

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use timer_wheel::timer::Inline;
use timer_wheel::{Clock, Job, KeyedTimer, ManualClock, Shutdown, Timer};

use crate::log::{MS, SECOND};

/// Takes both locks of the timer that it was given.
#[derive(Clone, Default)]
struct Nosy(Arc<Mutex<Option<KeyedTimer<u32>>>>);

impl Nosy {
    fn look(&self) {
        // A copy, so that no lock of its own is held meanwhile.
        let keyed = self.0.lock().unwrap().clone();
        if let Some(keyed) = keyed {
            _ = (keyed.len(), keyed.timer().len());
        }
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        self.look();
    }
}

struct NosyClock(ManualClock, Nosy);

impl Clock for NosyClock {
    fn origin(&self) -> Instant {
        self.1.look();
        self.0.origin()
    }

    fn now(&self) -> u64 {
        self.1.look();
        self.0.now()
    }

    fn park_until(&self, time: u64) {
        self.1.look();
        self.0.park_until(time);
    }
}

#[test]
fn clock_hook_and_payload_that_use_the_timer_do_not_hang() {
    for has_executor in [false, true] {
        let (clock, nosy) = (ManualClock::new(), Nosy::default());
        let hook = nosy.clone();
        let mut builder = Timer::builder()
            .clock(NosyClock(clock.clone(), nosy.clone()))
            .on_panic(move |_: &(dyn Any + Send)| hook.look());
        if has_executor {
            builder = builder.executor(Inline);
        }
        let timer = builder.start().unwrap();
        let keyed = KeyedTimer::new(timer.clone());
        *nosy.0.lock().unwrap() = Some(keyed.clone());
        let handle = timer.schedule_after(SECOND, || ()).unwrap();
        let soon = clock.origin() + SECOND;
        assert!(handle.reschedule_after(2 * SECOND) && handle.reschedule_at(soon));
        assert_eq!(handle.deadline(), Some(soon));
        let beat = timer.every(SECOND, || ()).unwrap();
        let payload = nosy.clone();
        let panics = move || resume_unwind(Box::new(payload));
        timer.schedule_at(soon, panics).unwrap();
        keyed.set_after(1, MS, || ()).unwrap();
        keyed.set_at(2, soon, || ()).unwrap();
        assert!(keyed.reschedule_after(&1, SECOND) && keyed.reschedule_at(&1, soon));
        assert_eq!(keyed.deadline(&1), Some(soon));
        clock.advance(SECOND);
        timer.settle().unwrap();
        assert_eq!((timer.len(), timer.stats().panicked), (1, 1));
        assert!(timer.next_wake() <= Some(SECOND));
        assert!(beat.is_live());
        timer.schedule_after(Duration::MAX, || ()).unwrap();
        let unrun = timer.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(unrun[0].deadline(), Some(soon + SECOND));
        unrun.into_iter().for_each(Job::run);
        // Else it would hold the timer whose clock it is, for ever.
        let given = nosy.0.lock().unwrap().take();
        drop(given);
    }
}
