//! W18-local: what sleeps and timeouts cost on one thread, while others wait.
//!
//! All subjects are polled by hand with the same waker, inside tokio's current-thread runtime, so that what is measured
//! is the timer and not an executor. Expiring tells time on: a `TurnClock` and a `ManualClock` are set, the others wait
//! for it outside of what is timed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::hint::{black_box, spin_loop};
use std::pin::{Pin, pin};
use std::rc::Rc;
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
        ("LocalTimer on a TurnClock", measure::<LocalTimer<TurnClock>>),
        ("LocalTimer on a SystemClock", measure::<LocalTimer<SystemClock>>),
        ("Timer", measure::<(Timer, ManualClock)>),
        ("tokio on one thread", measure::<Tokio>),
        ("BTreeMap of wakers", measure::<BTreeTimer>),
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
    fn pass(&self, time: Duration);
    /// A turn of the loop, in which what is due is woken.
    fn turn(&self) -> impl Future<Output = ()>;
}

/// Of each its type and that of a sleep, and what it does instead of the trait's calls, in their order.
macro_rules! timers {
    ($($timers:ty, $sleep:ty: $start:expr, |$this:ident, $delay:ident| $new:expr, |$sleeping:ident| $reset:expr,
       |$future:ident| $timeout:expr, |$time:ident| $pass:expr, $turn:expr;)+) => {
        $(#[allow(unused_variables, reason = "not each needs all")]
        impl Timers for $timers {
            type Sleep = $sleep;

            fn start() -> Self {
                $start
            }

            fn sleep(&self, $delay: Duration) -> $sleep {
                let $this = self;
                $new
            }

            fn reset(&self, $sleeping: Pin<&mut $sleep>, $delay: Duration) {
                let $this = self;
                $reset
            }

            fn timeout<F: Future<Output = u32>>(&self, $future: F) -> impl Future<Output = Result<u32, impl Sized>> {
                let $this = self;
                $timeout
            }

            fn pass(&self, $time: Duration) {
                let $this = self;
                $pass
            }

            async fn turn(&self) {
                let $this = self;
                $turn
            }
        })+
    };
}

timers! {
    LocalTimer<TurnClock>, LocalSleep<TurnClock>: Self::new(TurnClock::new()),
        |this, delay| this.sleep(delay),
        |sleep| sleep.get_mut().reset(after(this.clock().now(), delay)),
        |future| this.timeout(DELAY, future),
        |time| this.clock().set(this.clock().now() + time.as_nanos() as u64),
        fire(this);
    LocalTimer<SystemClock>, LocalSleep<SystemClock>: Self::new(SystemClock::new()),
        |this, delay| this.sleep(delay),
        |sleep| sleep.get_mut().reset(Instant::now() + delay),
        |future| this.timeout(DELAY, future),
        |time| wait(time),
        fire(this);
    // Its thread would wake them at once: time goes on with the turn.
    (Timer, ManualClock), Sleep: {
            let clock = ManualClock::new();
            (Timer::builder().clock(clock.clone()).start().expect("a thread can be started"), clock)
        },
        |this, delay| this.0.sleep(delay),
        |sleep| sleep.get_mut().reset(Instant::now() + delay),
        |future| this.0.timeout(DELAY, future),
        |time| (),
        {
            this.1.advance(2 * ROUND);
            this.0.settle().expect("the timer runs");
        };
    // The runtime looks at its timers between two polls of a task that has yielded.
    Tokio, tokio::time::Sleep: Self,
        |this, delay| tokio::time::sleep(delay),
        |sleep| sleep.reset(tokio::time::Instant::now() + delay),
        |future| tokio::time::timeout(DELAY, future),
        |time| wait(time),
        tokio::task::yield_now().await;
    BTreeTimer, BTreeSleep: Self::default(),
        |this, delay| BTreeSleep { timer: this.clone(), deadline: Instant::now() + delay, place: None },
        |sleep| sleep.get_mut().reset(delay),
        |future| this.timeout(future),
        |time| wait(time),
        this.fire();
}

struct Tokio;

fn fire<C: timer_wheel::TimeSource>(timer: &LocalTimer<C>) {
    timer.fire(timer.clock().now(), &mut Budget::unlimited());
}

fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() <= time {
        spin_loop();
    }
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

    fn woken(&self) -> u64 {
        self.woken.0.load(Ordering::Relaxed)
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
    let mut waiting = Waiting::new(timers, 1, |_| DELAY).expect("it is due in ten seconds");
    let start = Instant::now();
    for call in 0..calls {
        timers.reset(waiting.sleeps[0].as_mut(), black_box(DELAY + Duration::from_nanos(call)));
    }
    let time = start.elapsed().as_nanos() as f64 / calls as f64;
    assert_eq!(waiting.woken(), 0, "it is not due");
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
            if waiting.woken() == live {
                break;
            }
            timers.turn().await;
        }
        time += start.elapsed();
        let woken = waiting.woken();
        if woken != live {
            return Err(format!("{woken} of {live} tasks were woken"));
        }
        done += 1;
    }
    Ok(time.as_nanos() as f64 / (live * rounds) as f64)
}

/// What single-threaded runtimes write: an ordered map of wakers, in a cell.
#[derive(Clone, Default)]
struct BTreeTimer(Rc<RefCell<Wakers>>);

/// The wakers by deadline and sequence, and the next sequence.
type Wakers = (BTreeMap<(Instant, u64), Waker>, u64);

struct BTreeSleep {
    timer: BTreeTimer,
    deadline: Instant,
    place: Option<(Instant, u64)>,
}

impl BTreeTimer {
    async fn timeout<F: Future<Output = u32>>(&self, future: F) -> Result<u32, ()> {
        let (mut future, mut sleep) = (pin!(future), None);
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            Pin::new(sleep.get_or_insert_with(|| self.sleep(DELAY))).poll(context).map(Err)
        })
        .await
    }

    fn fire(&self) {
        let due = {
            let (wakers, _) = &mut *self.0.borrow_mut();
            let later = wakers.split_off(&(Instant::now(), u64::MAX));
            std::mem::replace(wakers, later)
        };
        due.into_values().for_each(Waker::wake);
    }
}

impl BTreeSleep {
    fn disarm(&mut self) -> Option<Waker> {
        let place = self.place.take()?;
        self.timer.0.borrow_mut().0.remove(&place)
    }

    fn arm(&mut self, waker: Waker) {
        let (wakers, next_sequence) = &mut *self.timer.0.borrow_mut();
        let place = *self.place.insert((self.deadline, *next_sequence));
        *next_sequence += 1;
        wakers.insert(place, waker);
    }

    fn reset(&mut self, delay: Duration) {
        let waker = self.disarm();
        self.deadline = Instant::now() + delay;
        waker.into_iter().for_each(|waker| self.arm(waker));
    }
}

impl Future for BTreeSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline <= Instant::now() {
            return Poll::Ready(());
        }
        let stored = self.place.map(|place| self.timer.0.borrow().0[&place].will_wake(context.waker()));
        if stored != Some(true) {
            _ = self.disarm();
            self.arm(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for BTreeSleep {
    fn drop(&mut self) {
        _ = self.disarm();
    }
}
