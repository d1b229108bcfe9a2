//! Makes sure that a node still leads, once for all who ask.

use std::fmt::Display;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// The checks that a node leads. Each asks every other node, so those who wait for one to begin share it.
///
/// Invariant: a check answers those who asked before it began, and nobody else.
#[derive(Debug)]
pub(crate) struct Confirmations {
    begun: AtomicU64,
    /// The number of the last check that has ended, and what came of it.
    last: Mutex<(u64, Result<(), String>)>,
}

impl Confirmations {
    pub(crate) fn new() -> Self {
        Self { begun: AtomicU64::new(0), last: Mutex::new((0, Ok(()))) }
    }

    /// The outcome of a check that begins after this was called: that of another caller, or else of `check`.
    pub(crate) async fn confirm<T, E: Display>(&self, check: impl Future<Output = Result<T, E>>) -> Result<(), String> {
        let asked = self.begun.load(Ordering::Relaxed);
        let mut last = self.last.lock().await;
        if last.0 <= asked {
            // If the caller gives up meanwhile, the next one begins another check.
            let nth = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            *last = (nth, check.await.map(drop).map_err(|error| error.to_string()));
        }
        last.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use std::future::pending;
    use tokio::sync::Semaphore;
    use tokio::task::yield_now;

    #[tokio::test]
    async fn check_answers_all_who_asked_before_it_began_and_nobody_else() {
        let (confirmations, gate, checks) = (&Confirmations::new(), &Semaphore::new(0), &Cell::new(0));
        let confirm = |outcome: Result<(), &'static str>| {
            confirmations.confirm(async move {
                checks.set(checks.get() + 1);
                gate.acquire().await.unwrap().forget();
                outcome
            })
        };
        let first = confirm(Ok(()));
        // They come while the first check is under way, so they need another one, and that fails.
        let others = async {
            yield_now().await;
            join_all((0..100).map(|_| confirm(Err("cut off")))).await
        };
        let open = async {
            for expected in 1..=2 {
                while checks.get() < expected {
                    yield_now().await;
                }
                // Whoever asks has asked by now.
                yield_now().await;
                assert_eq!(checks.get(), expected);
                gate.add_permits(1);
            }
        };
        let (first, others, ()) = tokio::join!(first, others, open);
        assert_eq!(first, Ok(()));
        assert!(others.iter().all(|outcome| *outcome == Err("cut off".to_owned())));
        assert_eq!(checks.get(), 2);
    }

    #[tokio::test]
    async fn check_that_is_given_up_answers_nobody() {
        let confirmations = Confirmations::new();
        tokio::select! {
            biased;
            _ = confirmations.confirm(pending::<Result<(), String>>()) => unreachable!("it never ends"),
            () = yield_now() => {}
        }
        assert_eq!(confirmations.confirm(async { Err::<(), _>("cut off") }).await, Err("cut off".to_owned()));
    }
}
