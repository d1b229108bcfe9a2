//! What the tests stand on: a runtime whose clock is paused, and a task that counts how often it
//! is woken.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::unconstrained;
use tokio::time::sleep;

/// Runs a test on a runtime whose clock stands still until all tasks sleep. Polling by hand takes
/// nothing from a budget there.
pub(crate) fn paused<T>(test: impl Future<Output = T>) -> T {
    // Without its type: the runtime would be compiled anew for each test.
    let test: Pin<&mut dyn Future<Output = T>> = pin!(test);
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing from the system")
        .block_on(unconstrained(test))
}

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Lets time pass, and the timers of tokio that ring by then ring.
pub(crate) async fn pass(duration: Duration) {
    sleep(duration).await;
}

/// A task that does nothing but count how often it is woken.
pub(crate) struct Task {
    wakes: Arc<Wakes>,
    waker: Waker,
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Task {
    pub(crate) fn new() -> Self {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        Self { wakes, waker }
    }

    /// Polls something on behalf of the task, which counts its wakes from zero again.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.wakes.0.store(0, Ordering::Relaxed);
        poll(&mut Context::from_waker(&self.waker))
    }

    /// How often it was woken since it last polled.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::Relaxed)
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.wakes() > 0
    }
}
