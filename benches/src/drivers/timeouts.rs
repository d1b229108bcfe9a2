//! W18: timeouts that never fire, around a future that is ready, or is once it was pending.

use std::future::{Future, ready};
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use timer_wheel::Timer;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;

use super::Workload;
use crate::figure::Figure;
use crate::results::Counts;

/// A task on each of so many threads makes so many calls, each of the expression: the time of a call in ns.
macro_rules! calls {
    ($timer:ident => $call:expr) => {
        |threads: u64, calls: u64| {
            let timer = Timer::new().expect("a thread can be started");
            time(threads, calls, move |calls| {
                let timer = timer.clone();
                async move {
                    let $timer = &timer;
                    let mut answers = 0;
                    for _ in 0..calls {
                        answers += $call.await.expect("it is in time");
                    }
                    assert_eq!(answers, calls);
                }
            })
        }
    };
}

/// The size is the number of threads, each a worker of the runtime.
pub(super) static W18: Workload = Workload {
    name: "W18",
    sizes: &[1, 2],
    figures: &[
        Figure::new("W18 timeout, never pending", "ns", Counts::Median),
        Figure::new("W18 timeout, pending once", "ns", Counts::Median),
    ],
    subjects: &[
        ("Timer", |threads, calls| {
            Ok(vec![
                calls!(timer => timer.timeout(DELAY, black_box(ready(1))))(threads, calls),
                calls!(timer => timer.timeout(DELAY, pending_once()))(threads, calls),
            ])
        }),
        ("tokio::time::timeout", |threads, calls| {
            Ok(vec![
                calls!(_timer => tokio::time::timeout(DELAY, black_box(ready(1))))(threads, calls),
                calls!(_timer => tokio::time::timeout(DELAY, pending_once()))(threads, calls),
            ])
        }),
    ],
};

const DELAY: Duration = Duration::from_secs(10);

/// Pending at its first poll, and ready at the next, for which it asks.
struct PendingOnce {
    was_polled: bool,
}

impl Future for PendingOnce {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        if self.was_polled {
            return Poll::Ready(1);
        }
        self.was_polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

fn pending_once() -> PendingOnce {
    black_box(PendingOnce { was_polled: false })
}

fn runtime(threads: u64) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(threads as usize).enable_time();
    runtime.build().expect("threads can be started")
}

fn time<F: Future<Output = ()> + Send + 'static>(threads: u64, calls: u64, task: impl Fn(u64) -> F) -> f64 {
    let start = Arc::new(Barrier::new(threads as usize));
    let spawn_one = |runtime: &Runtime| {
        let (task, start) = (task(calls), Arc::clone(&start));
        runtime.spawn(async move {
            start.wait().await;
            let clock = Instant::now();
            task.await;
            clock.elapsed()
        })
    };
    let runtime = runtime(threads);
    let tasks: Vec<_> = (0..threads).map(|_| spawn_one(&runtime)).collect();
    let ends = tasks.into_iter().map(|task| runtime.block_on(task));
    let longest = ends.map(|end| end.expect("all calls are answered")).max();
    longest.unwrap_or_default().as_nanos() as f64 / calls as f64
}
