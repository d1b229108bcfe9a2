//! An executor of one task, which polls when a test tells it to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
pub(crate) struct ManualExecutor(Arc<Wakes>);

impl ManualExecutor {
    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.0));
        Pin::new(future).poll(&mut Context::from_waker(&waker))
    }

    /// Polls each of the futures, which are not ready.
    #[track_caller]
    pub(crate) fn start<'a, F: Future + Unpin + 'a>(&self, futures: impl IntoIterator<Item = &'a mut F>) {
        futures.into_iter().for_each(|future| assert!(self.poll(future).is_pending()));
    }

    pub(crate) fn wakes(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    /// How many wakers there are.
    pub(crate) fn wakers(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}
