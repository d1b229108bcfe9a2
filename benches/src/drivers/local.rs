//! W18-local: what sleeps and timeouts cost on one thread, while others wait.
//!
//! All subjects are polled by hand with the same waker, inside tokio's current-thread runtime, so that what is measured is
//! the timer and not an executor. Expiring tells time on: a `TurnClock` and a `ManualClock` are set, the others wait for it
//! outside of what is timed.

mod btree;

use std::future::{Future, poll_fn};
use std::hint::{black_box, spin_loop};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use timer_wheel::clock::after;
use timer_wheel::local::{LocalSleep, LocalTimer, TurnClock};
use timer_wheel::timer::Sleep;
use timer_wheel::{Budget, ManualClock, SystemClock, Timer};
use tokio::runtime::Builder;

use super::Workload;
use crate::figure::time;
use crate::workload::XorShift64Star;

/// The size is the number of sleeps that wait meanwhile.
pub(super) static W18_LOCAL: Workload = Workload {
    name: "W18-local",
    sizes: &[100, 4_096, 100_000],
    figures: &[
        time("W18-local never pending", &[]),
        time("W18-local pending once", &[]),
        time("W18-local reset", &[]),
        time("W18-local expire", &[]),
    ],
    subjects: &[
        ("LocalTimer on a TurnClock", |live, calls| measure::<LocalTimer<TurnClock>>(live, calls)),
        ("LocalTimer on a SystemClock", |live, calls| measure::<LocalTimer<SystemClock>>(live, calls)),
        ("Timer", |live, calls| measure::<(Timer, ManualClock)>(live, calls)),
        ("tokio on one thread", |live, calls| measure::<Tokio>(live, calls)),
        ("BTreeMap of wakers", |live, calls| measure::<btree::BTreeTimer>(live, calls)),
    ],
};

/// Within which all sleeps of a round expire. tokio counts milliseconds.
const ROUND: Duration = Duration::from_millis(10);
const DELAY: Duration = Duration::from_secs(10);
/// Each takes a round of real time.
const MOST_ROUNDS: u64 = 50;

trait Timers: Sized + 'static {
    type Sleep: Future + 'static;

    fn start() -> Self;

    fn sleep(&self, delay: Duration) -> Self::Sleep;

    /// Moves a sleep to so much later than now.
    fn reset(&self, sleep: Pin<&mut Self::Sleep>, delay: Duration);

    fn timeout<F: Future<Output = u32>>(&self, future: F) -> impl Future<Output = Result<u32, impl Sized>>;

    /// Lets so much time pass.
    fn pass(&self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() <= time {
            spin_loop();
        }
    }

    /// A turn of the loop, in which what is due is woken.
    fn turn(&self) -> impl Future<Output = ()>;
}

fn measure<T: Timers>(live: u64, calls: u64) -> Result<Vec<f64>, String> {
    let runtime = Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let timers = T::start();
        let waiting = Waiting::new(&timers, live, |nth| DELAY + Duration::from_millis(nth % 50_000));
        let waiting = waiting.ok_or("one is due already")?;
        let figures = [never_pending(&timers, calls).await, pending_once(&timers, calls).await, reset(&timers, calls)];
        drop(waiting);
        Ok([&figures[..], &[expire(&timers, live, calls.div_ceil(live)).await?]].concat())
    })
}

/// Sleeps that have been polled, and how many of them were woken.
struct Waiting<S> {
    sleeps: Vec<Pin<Box<S>>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicU64);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S: Future> Waiting<S> {
    /// `None` if one was due when it was polled, as the machine did something else meanwhile.
    fn new<T: Timers<Sleep = S>>(timers: &T, live: u64, delay: impl Fn(u64) -> Duration) -> Option<Self> {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let mut random = XorShift64Star::with_seed(live);
        let mut sleeps: Vec<_> = (0..live).map(|_| Box::pin(timers.sleep(delay(random.next_u64())))).collect();
        let is_pending = |sleep: &mut Pin<Box<S>>| sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
        sleeps.iter_mut().all(is_pending).then_some(Self { sleeps, woken })
    }
}

/// The time in ns of a call.
async fn timed(calls: u64, mut call: impl FnMut(&mut Context<'_>)) -> f64 {
    poll_fn(|context| {
        let start = Instant::now();
        (0..calls).for_each(|_| call(context));
        Poll::Ready(start.elapsed().as_nanos() as f64 / calls as f64)
    })
    .await
}

async fn never_pending(timers: &impl Timers, calls: u64) -> f64 {
    timed(calls, |context| {
        // The compiler is not to know that it is ready.
        let answer = poll_fn(|_| if black_box(true) { Poll::Ready(1) } else { Poll::Pending });
        let timeout = pin!(timers.timeout(answer));
        assert!(matches!(timeout.poll(context), Poll::Ready(Ok(1))));
    })
    .await
}

async fn pending_once(timers: &impl Timers, calls: u64) -> f64 {
    timed(calls, |context| {
        let mut is_ready = false;
        let answer = poll_fn(|_| if std::mem::replace(&mut is_ready, true) { Poll::Ready(1) } else { Poll::Pending });
        let mut timeout = pin!(timers.timeout(black_box(answer)));
        assert!(timeout.as_mut().poll(context).is_pending());
        assert!(matches!(timeout.poll(context), Poll::Ready(Ok(1))));
    })
    .await
}

fn reset<T: Timers>(timers: &T, calls: u64) -> f64 {
    let Waiting { mut sleeps, woken } = Waiting::new(timers, 1, |_| DELAY).expect("it is due in ten seconds");
    let start = Instant::now();
    for call in 0..calls {
        timers.reset(sleeps[0].as_mut(), black_box(DELAY + Duration::from_nanos(call)));
    }
    let time = start.elapsed().as_nanos() as f64 / calls as f64;
    assert_eq!(woken.0.load(Ordering::Relaxed), 0, "it is not due");
    time
}

/// The time in ns to wake a task, where all have become due since the last turn.
async fn expire<T: Timers>(timers: &T, live: u64, rounds: u64) -> Result<f64, String> {
    let (mut time, rounds, mut done) = (Duration::ZERO, rounds.min(MOST_ROUNDS), 0);
    while done < rounds {
        // So late that none is due while others are made.
        let least = 2 + live / 2_000;
        let delay = |nth| Duration::from_micros(1_000 * least + nth % 8_000);
        let Some(waiting) = Waiting::new(timers, live, delay) else { continue };
        timers.pass(ROUND + Duration::from_millis(least + 2));
        let start = Instant::now();
        for _ in 0..1_000 {
            if waiting.woken.0.load(Ordering::Relaxed) == live {
                break;
            }
            timers.turn().await;
        }
        time += start.elapsed();
        let woken = waiting.woken.0.load(Ordering::Relaxed);
        if woken != live {
            return Err(format!("{woken} of {live} tasks were woken"));
        }
        done += 1;
    }
    Ok(time.as_nanos() as f64 / (live * rounds) as f64)
}

impl Timers for LocalTimer<TurnClock> {
    type Sleep = LocalSleep<TurnClock>;

    fn start() -> Self {
        LocalTimer::new(TurnClock::new())
    }

    fn sleep(&self, delay: Duration) -> Self::Sleep {
        self.sleep(delay)
    }

    fn reset(&self, sleep: Pin<&mut Self::Sleep>, delay: Duration) {
        sleep.get_mut().reset(after(self.clock().now(), delay));
    }

    fn timeout<F: Future<Output = u32>>(&self, future: F) -> impl Future<Output = Result<u32, impl Sized>> {
        self.timeout(DELAY, future)
    }

    fn pass(&self, time: Duration) {
        let clock = self.clock();
        clock.set(clock.now() + time.as_nanos() as u64);
    }

    async fn turn(&self) {
        self.fire(self.clock().now(), &mut Budget::unlimited());
    }
}

impl Timers for LocalTimer<SystemClock> {
    type Sleep = LocalSleep<SystemClock>;

    fn start() -> Self {
        LocalTimer::new(SystemClock::new())
    }

    fn sleep(&self, delay: Duration) -> Self::Sleep {
        self.sleep(delay)
    }

    fn reset(&self, sleep: Pin<&mut Self::Sleep>, delay: Duration) {
        sleep.get_mut().reset(Instant::now() + delay);
    }

    fn timeout<F: Future<Output = u32>>(&self, future: F) -> impl Future<Output = Result<u32, impl Sized>> {
        self.timeout(DELAY, future)
    }

    async fn turn(&self) {
        self.fire(self.clock().now(), &mut Budget::unlimited());
    }
}

impl Timers for (Timer, ManualClock) {
    type Sleep = Sleep;

    fn start() -> Self {
        let clock = ManualClock::new();
        (Timer::builder().clock(clock.clone()).start().expect("a thread can be started"), clock)
    }

    fn sleep(&self, delay: Duration) -> Self::Sleep {
        self.0.sleep(delay)
    }

    fn reset(&self, sleep: Pin<&mut Self::Sleep>, delay: Duration) {
        sleep.get_mut().reset(Instant::now() + delay);
    }

    fn timeout<F: Future<Output = u32>>(&self, future: F) -> impl Future<Output = Result<u32, impl Sized>> {
        self.0.timeout(DELAY, future)
    }

    /// The thread would wake them at once.
    fn pass(&self, _: Duration) {}

    async fn turn(&self) {
        self.1.advance(2 * ROUND);
        self.0.settle().expect("the timer runs");
    }
}

struct Tokio;

impl Timers for Tokio {
    type Sleep = tokio::time::Sleep;

    fn start() -> Self {
        Self
    }

    fn sleep(&self, delay: Duration) -> Self::Sleep {
        tokio::time::sleep(delay)
    }

    fn reset(&self, sleep: Pin<&mut Self::Sleep>, delay: Duration) {
        sleep.reset(tokio::time::Instant::now() + delay);
    }

    fn timeout<F: Future<Output = u32>>(&self, future: F) -> impl Future<Output = Result<u32, impl Sized>> {
        tokio::time::timeout(DELAY, future)
    }

    /// The runtime looks at its timers between two polls of a task that has yielded.
    async fn turn(&self) {
        tokio::task::yield_now().await;
    }
}
