//! What all clones of a timer share, and what ends with the last of them.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::hub::Hub;
use super::job::Job;
use super::shutdown::Shutdown;
use super::statistics::Statistics;
use super::stripe::{Stripe, Tally};
use crate::sync::{JoinHandle, Mutex, lock};

/// Among so many lists the calling threads are spread.
#[cfg(not(all(loom, test)))]
pub(super) const STRIPES: usize = 8;
#[cfg(all(loom, test))]
pub(super) const STRIPES: usize = 1;

/// The owner of a timer thread. Dropping it ends the thread.
pub(super) struct Owner {
    hub: Arc<Hub>,
    stripes: Vec<Arc<Stripe>>,
    thread: Mutex<Option<JoinHandle<Vec<Job>>>>,
}

impl Owner {
    pub(super) fn new(
        hub: Arc<Hub>,
        stripes: Vec<Arc<Stripe>>,
        thread: JoinHandle<Vec<Job>>,
    ) -> Self {
        Self {
            hub,
            stripes,
            thread: Mutex::new(Some(thread)),
        }
    }

    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The stripe that the calling thread schedules through.
    pub(super) fn stripe_of_this_thread(&self) -> &Arc<Stripe> {
        &self.stripes[lane() % self.stripes.len()]
    }

    /// Ends the thread from outside of it, and returns what was not run.
    pub(super) fn shut_down(&self, how: Shutdown) -> Vec<Job> {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            self.hub.wait_for_end();
            return Vec::new();
        };
        self.tell_to_end(how);
        match thread.join() {
            Ok(unrun) => unrun,
            // Not one of a job or of the clock: the thread catches those.
            Err(payload) => resume_unwind(payload),
        }
    }

    fn tell_to_end(&self, how: Shutdown) {
        self.hub.end(how);
        for stripe in &self.stripes {
            stripe.close();
        }
        self.hub.unpark();
    }

    pub(super) fn live(&self) -> usize {
        // Ends first: whoever has ended was scheduled before.
        let ended = self.hub.counters().ended();
        let tally = self.tally();
        let live = tally.scheduled.saturating_sub(tally.cancelled + ended);
        usize::try_from(live).unwrap_or(usize::MAX)
    }

    pub(super) fn statistics(&self) -> Statistics {
        Statistics::new(self.live(), self.tally(), &self.hub)
    }

    fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        for stripe in &self.stripes {
            sum.add(stripe.tally());
        }
        sum
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else {
            return;
        };
        self.tell_to_end(Shutdown::Discard);
        if self.hub.is_inside_job() {
            // The job would wait for its own end. The thread ends by itself.
            return;
        }
        if let Ok(unrun) = thread.join() {
            drop(unrun);
        }
    }
}

/// The number of the calling thread, counted by first use.
fn lane() -> usize {
    const UNKNOWN: usize = usize::MAX;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LANE: Cell<usize> = const { Cell::new(UNKNOWN) };
    }
    LANE.with(|lane| {
        if lane.get() == UNKNOWN {
            lane.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        lane.get()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn threads_take_the_stripes_in_turn() {
        let hub = Hub::new(Box::new(crate::ManualClock::new()), None, Duration::MAX);
        let hub = Arc::new(hub);
        let stripes = (0..STRIPES).map(|_| Arc::new(Stripe::new(Arc::clone(&hub))));
        let owner = Owner::new(Arc::clone(&hub), stripes.collect(), thread::spawn(Vec::new));
        let lanes = 3 * STRIPES;
        let lane_of_a_thread = || {
            let stripe = &owner.stripes[lane() % STRIPES];
            assert!(Arc::ptr_eq(owner.stripe_of_this_thread(), stripe));
            lane()
        };
        let threads = (0..lanes).map(|_| thread::scope(|all| all.spawn(lane_of_a_thread).join()));
        let mut taken: Vec<usize> = threads.map(Result::unwrap).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), lanes, "each has its own");
    }
}
