//! The drivers: `Timer`, and two others.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use timer_wheel::{Timer, TimerHandle};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Something that runs jobs when they are due, with a client for each thread that uses it.
pub(super) trait Driver: Sized + 'static {
    const NAME: &'static str;
    type Client: Client;

    fn start() -> Self;
    fn client(&self) -> Self::Client;
}

pub(super) trait Client: Send + 'static {
    type Handle;

    fn schedule(&mut self, delay: Duration, job: impl FnOnce() + Send + 'static) -> Self::Handle;

    /// Whether the job does not run, of those drivers that say so.
    fn cancel(&mut self, handle: Self::Handle) -> Option<bool>;
}

/// The one that is measured.
impl Driver for Timer {
    const NAME: &'static str = "Timer";
    type Client = Timer;

    fn start() -> Self {
        Self::new().expect("a thread can be started")
    }

    fn client(&self) -> Self {
        self.clone()
    }
}

impl Client for Timer {
    type Handle = TimerHandle;

    fn schedule(&mut self, delay: Duration, job: impl FnOnce() + Send + 'static) -> TimerHandle {
        self.schedule_after(delay, job).expect("the timer runs")
    }

    fn cancel(&mut self, handle: TimerHandle) -> Option<bool> {
        Some(handle.cancel())
    }
}

/// One for each client.
pub(super) struct Each<D>(PhantomData<D>);

impl<D: Driver> Driver for Each<D> {
    const NAME: &'static str = D::NAME;
    type Client = D::Client;

    fn start() -> Self {
        Self(PhantomData)
    }

    /// The client keeps what it needs.
    fn client(&self) -> D::Client {
        D::start().client()
    }
}

/// A task that sleeps for each job, on a runtime with one thread.
impl Driver for Arc<Runtime> {
    const NAME: &'static str = "tokio::time::sleep";
    type Client = Self;

    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
        Self::new(runtime.expect("a thread can be started"))
    }

    fn client(&self) -> Self {
        Self::clone(self)
    }
}

impl Client for Arc<Runtime> {
    type Handle = JoinHandle<()>;

    fn schedule(&mut self, delay: Duration, job: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        let deadline = Instant::now() + delay;
        self.spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            job();
        })
    }

    fn cancel(&mut self, handle: JoinHandle<()>) -> Option<bool> {
        handle.abort();
        None
    }
}
