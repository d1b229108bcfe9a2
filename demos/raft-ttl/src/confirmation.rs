//! Makes sure that a node still leads, once for all who ask.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// The checks that a node leads. Each asks every other node, so those who wait for one to begin share it.
///
/// Invariant: a check answers those who asked before it began, and nobody else.
#[derive(Debug)]
pub(crate) struct Confirmations {
    begun: AtomicU64,
    /// The number of the last check that has ended, and whether the node still led.
    last: Mutex<(u64, bool)>,
}

impl Confirmations {
    pub(crate) fn new() -> Self {
        Self { begun: AtomicU64::new(0), last: Mutex::new((0, true)) }
    }

    /// The outcome of a check that begins after this was called: that of another caller, or else of `check`.
    pub(crate) async fn confirm(&self, check: impl Future<Output = bool>) -> bool {
        let asked = self.begun.load(Ordering::Relaxed);
        let mut last = self.last.lock().await;
        if last.0 <= asked {
            // If the caller gives up meanwhile, the next one begins another check.
            let nth = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            *last = (nth, check.await);
        }
        last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use std::future::pending;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn check_answers_all_who_asked_before_it_began_and_nobody_else() {
        let (confirmations, checks) = (&Confirmations::new(), &Cell::new(0));
        let confirm = |outcome| {
            confirmations.confirm(async move {
                checks.set(checks.get() + 1);
                yield_now().await;
                outcome
            })
        };
        // The others come while the first check is under way, so they need another one, and that fails.
        let others = join_all((0..100).map(|_| confirm(false)));
        let (first, others) = tokio::join!(biased; confirm(true), others);
        assert!(first && !others.contains(&true));
        assert_eq!(checks.get(), 2);
    }

    #[tokio::test]
    async fn check_that_is_given_up_answers_nobody() {
        let confirmations = Confirmations::new();
        tokio::select! {
            biased;
            _ = confirmations.confirm(pending()) => unreachable!("it never ends"),
            () = yield_now() => {}
        }
        assert!(!confirmations.confirm(async { false }).await);
    }
}
