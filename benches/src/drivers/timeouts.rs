//! W18: timeouts that never fire, around a future that is ready or is pending once, and sleeps that each message
//! postpones.
//!
//! With `RUSTFLAGS='--cfg tokio_unstable'` tokio's alternative timer is a subject too.

use std::future::{Future, poll_fn, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use timer_wheel::Timer;
use tokio::runtime::Builder;
use tokio::sync::Barrier;

use super::Workload;
use crate::figure::time;

/// The time in ns of a call that is answered with `Ok(1)`, from a task on each thread. The task has a clone of the
/// timer.
///
/// It is a macro because the call may borrow the timer, and the task has to be `Send`: no function can ask for both.
macro_rules! calls {
    ($run:expr $(, $timer:ident)? => $call:expr) => {
        $run.time(|calls| {
            $(let $timer = $timer.clone();)?
            async move {
                let mut answers = 0;
                for _ in 0..calls {
                    answers += $call.await.expect("it is in time");
                }
                assert_eq!(answers, calls);
            }
        })
    };
}

/// The size is the number of threads, each a worker of the runtime.
pub(super) static W18: Workload = Workload {
    name: "W18",
    sizes: &[1, 2],
    figures: &[
        time("W18 timeout, never pending", &[]),
        time("W18 timeout, pending once", &[]),
        time("W18 reset to later", &[]),
    ],
    subjects: &[
        ("Timer", |threads, calls| {
            let timer = Timer::new().expect("a thread can be started");
            let run = Run { threads, calls, configure: Builder::enable_time };
            Ok(vec![
                calls!(run, timer => timer.timeout(DELAY, black_box(ready(1)))),
                calls!(run, timer => timer.timeout(DELAY, pending_once())),
                run.resets(|| timer.sleep(DELAY), |sleep, instant| sleep.get_mut().reset(instant)),
            ])
        }),
        ("tokio::time::timeout", |threads, calls| of_tokio(threads, calls, Builder::enable_time)),
        #[cfg(tokio_unstable)]
        ("tokio's alternative timer", |threads, calls| of_tokio(threads, calls, Builder::enable_alt_timer)),
        // It has no reset.
        ("pingora-timeout", |threads, calls| {
            let run = Run { threads, calls, configure: Builder::enable_time };
            Ok(vec![
                calls!(run => pingora_timeout::timeout(DELAY, black_box(ready(1)))),
                calls!(run => pingora_timeout::timeout(DELAY, pending_once())),
            ])
        }),
    ],
};

const DELAY: Duration = Duration::from_secs(10);

fn of_tokio(threads: u64, calls: u64, configure: Configure) -> Result<Vec<f64>, String> {
    let run = Run { threads, calls, configure };
    Ok(vec![
        calls!(run => tokio::time::timeout(DELAY, black_box(ready(1)))),
        calls!(run => tokio::time::timeout(DELAY, pending_once())),
        run.resets(|| tokio::time::sleep(DELAY), |sleep, instant| sleep.reset(instant.into())),
    ])
}

/// Pending at its first poll, and ready at the next, for which it asks.
fn pending_once() -> impl Future<Output = u64> + Send {
    let mut was_polled = false;
    black_box(poll_fn(move |context| {
        if was_polled {
            return Poll::Ready(1);
        }
        was_polled = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }))
}

/// Enables the timers of a runtime.
type Configure = fn(&mut Builder) -> &mut Builder;

/// A runtime with a task on each of its threads, each of which makes so many calls.
struct Run {
    threads: u64,
    calls: u64,
    configure: Configure,
}

impl Run {
    /// The time in ns of a reset that postpones a sleep by a nanosecond.
    fn resets<S: Future + Send + 'static>(&self, sleep: impl Fn() -> S, reset: fn(Pin<&mut S>, Instant)) -> f64 {
        self.time(|calls| {
            let sleep = sleep();
            async move {
                let mut sleep = pin!(sleep);
                assert!(is_pending(sleep.as_mut()).await, "it is not due");
                let deadline = Instant::now() + DELAY;
                for call in 0..calls {
                    reset(sleep.as_mut(), black_box(deadline + Duration::from_nanos(call)));
                }
                assert!(is_pending(sleep).await, "it is not due");
            }
        })
    }

    fn time<F: Future<Output = ()> + Send + 'static>(&self, task: impl Fn(u64) -> F) -> f64 {
        let mut builder = Builder::new_multi_thread();
        (self.configure)(builder.worker_threads(self.threads as usize));
        let runtime = builder.build().expect("threads can be started");
        let _context = runtime.enter(); // of tokio's sleeps
        let start = Arc::new(Barrier::new(self.threads as usize));
        let spawn_one = |_| {
            let (task, start) = (task(self.calls), Arc::clone(&start));
            runtime.spawn(async move {
                start.wait().await;
                let clock = Instant::now();
                task.await;
                clock.elapsed()
            })
        };
        let tasks: Vec<_> = (0..self.threads).map(spawn_one).collect();
        let ends = tasks.into_iter().map(|task| runtime.block_on(task));
        let longest = ends.map(|end| end.expect("all calls are answered")).max();
        longest.unwrap_or_default().as_nanos() as f64 / self.calls as f64
    }
}

async fn is_pending<S: Future>(mut sleep: Pin<&mut S>) -> bool {
    poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context).is_pending())).await
}
