//! W18: timeouts that never fire, around a future that is ready, or is once it was pending.

use std::future::{Future, ready};
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use timer_wheel::Timer;
use timer_wheel_bench::Spread;
use timer_wheel_bench::results::{Counts, Sheet};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;

use crate::cli::Options;
use crate::goals::{Goals, ratio};

const DELAY: Duration = Duration::from_secs(10);

/// From so many threads, each a worker of the runtime.
const THREADS: [u64; 2] = [1, 2];

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

/// What is measured: a name, how much of tokio's time is allowed from one thread and from two, and how to
/// measure `Timer` and tokio.
struct Case {
    figure: &'static str,
    wanted: [f64; 2],
    subjects: [fn(u64, u64) -> f64; 2],
}

/// A task on each of so many threads makes so many calls, each of the expression: the time of a call in ns.
macro_rules! calls {
    ($timer:ident => $call:expr) => {
        |threads, calls| {
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

const CASES: [Case; 2] = [
    Case {
        figure: "W18 timeout, never pending",
        wanted: [0.1, 0.1],
        subjects: [
            calls!(timer => timer.timeout(DELAY, black_box(ready(1)))),
            calls!(_timer => tokio::time::timeout(DELAY, black_box(ready(1)))),
        ],
    },
    Case {
        figure: "W18 timeout, pending once",
        wanted: [1.0, 0.7],
        subjects: [
            calls!(timer => timer.timeout(DELAY, pending_once())),
            calls!(_timer => tokio::time::timeout(DELAY, pending_once())),
        ],
    },
];

const NAMES: [&str; 2] = ["Timer", "tokio::time::timeout"];

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

pub(crate) fn measure(options: &Options, sheet: &mut Sheet, goals: &mut Goals) {
    for case in CASES {
        println!("\n{}, ns a call", case.figure);
        for (threads, wanted) in THREADS.into_iter().zip(case.wanted) {
            let mut rounds = NAMES.map(|_| Vec::new());
            for _ in 0..options.rounds {
                for (row, (name, run)) in rounds.iter_mut().zip(NAMES.into_iter().zip(case.subjects)) {
                    if options.wants(name) {
                        row.push(run(threads, options.pairs));
                    }
                }
            }
            println!("  {threads} threads");
            for (row, name) in rounds.iter().zip(NAMES) {
                if !row.is_empty() {
                    let time = Spread::of(row.iter().copied());
                    sheet.push(case.figure, threads, name, ("ns", Counts::Median), time);
                    println!("    {name:<26}{:>10.1}", time.median);
                }
            }
            if let Some(ratio) = ratio(&rounds[0], &rounds[1]) {
                println!("    {ratio:.2} x the time of tokio's");
                let text = format!("{} at {wanted} x tokio's from {threads} threads", case.figure);
                goals.hold(ratio <= wanted, text);
            }
        }
    }
}
