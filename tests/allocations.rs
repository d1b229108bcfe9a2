//! What the drivers allocate: one box a job, whichever thread does what, and nothing for a task that waits.
//!
//! A program of its own without the harness of tests, as the counts are those of the whole process.

use std::alloc::System;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timer_wheel::local::{LocalTimer, TurnClock};
use timer_wheel::{Budget, Clock, ManualClock, Timer, TimerHandle};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const JOBS: usize = 5_000;
const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    timer: Timer,
    clock: ManualClock,
    handles: Vec<TimerHandle>,
}

impl Bench {
    fn schedule(&mut self) {
        let payload = [1_u64; 4];
        for _ in 0..JOBS {
            let job = move || assert_eq!(payload.iter().sum::<u64>(), 4);
            let handle = self.timer.schedule_after(30 * SECOND, job);
            self.handles.push(handle.expect("the timer is not shut down"));
        }
    }

    fn fire(&mut self) {
        self.schedule();
        self.timer.settle().unwrap();
        self.clock.advance(30 * SECOND);
        self.timer.settle().unwrap();
        assert!(self.timer.is_empty());
        self.handles.clear();
    }

    fn cancel_at_once(&mut self) {
        self.schedule();
        assert!(self.handles.drain(..).all(|handle| handle.cancel()));
        self.timer.settle().unwrap();
    }

    fn cancel_filed(&mut self) {
        self.schedule();
        self.timer.settle().unwrap();
        assert!(self.handles.iter().all(|handle| handle.reschedule_after(40 * SECOND)));
        self.timer.settle().unwrap();
        assert!(self.handles.drain(..).all(|handle| handle.cancel()));
        self.timer.settle().unwrap();
    }
}

/// A round of jobs, which leaves none behind.
type Round = fn(&mut Bench);

/// Schedules and cancels while a job holds up the thread, and returns the bytes that stay.
fn churn_while_the_thread_is_held_up(bench: &Bench) -> usize {
    let (let_go, may_go_on) = std::sync::mpsc::channel::<()>();
    let (begin, has_begun) = std::sync::mpsc::channel::<()>();
    let hold_up = move || {
        begin.send(()).unwrap();
        // It ends with the sender.
        let _ = may_go_on.recv();
    };
    bench.timer.schedule_after(Duration::ZERO, hold_up).unwrap();
    has_begun.recv().unwrap();
    let region = Region::new(ALLOCATOR);
    let oldest = bench.timer.schedule_after(SECOND, || ()).unwrap();
    for _ in 0..20 * JOBS {
        let handle = bench.timer.schedule_after(SECOND, || ()).unwrap();
        assert!(handle.cancel());
        let other = bench.timer.schedule_after(SECOND, || ()).unwrap();
        assert!(oldest.reschedule_after(SECOND) && other.cancel());
    }
    let change = region.change();
    let_go.send(()).unwrap();
    assert!(oldest.cancel());
    bench.timer.settle().unwrap();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// Arms a timeout and gets its answer.
fn time_out(timer: &Timer) {
    let mut answers = [Poll::Pending, Poll::Ready(())].into_iter();
    let mut timeout = timer.timeout(SECOND, poll_fn(|_| answers.next().unwrap()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut timeout).poll(&mut context).is_pending());
    assert!(Pin::new(&mut timeout).poll(&mut context).is_ready());
}

/// A sleep that waits, is reset to later and earlier, and fires and starts anew, and how often it is reset.
fn reset(bench: &Bench) -> impl FnMut(u32) {
    let (timer, clock) = (bench.timer.clone(), bench.clock.clone());
    let mut sleep = timer.sleep(SECOND);
    move |times| {
        for _ in 0..times {
            let now = clock.origin() + Duration::from_nanos(clock.now());
            _ = Pin::new(&mut sleep).poll(&mut Context::from_waker(Waker::noop()));
            [9, 10, 2].into_iter().for_each(|seconds| sleep.reset(now + seconds * SECOND));
            clock.advance(SECOND);
        }
        timer.settle().unwrap();
    }
}

/// How often `f` allocates.
fn allocations(f: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    f();
    let change = region.change();
    change.allocations + change.reallocations
}

const SLEEPS: u64 = 1_000;

/// Sleeps of a local timer that are reset and fire, and timeouts that are dropped.
fn sleep_and_time_out(timer: &LocalTimer<TurnClock>) {
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..SLEEPS {
        let mut sleep = pin!(timer.sleep(SECOND));
        let mut timeout = pin!(timer.timeout(SECOND, pending::<()>()));
        assert!(sleep.as_mut().poll(&mut context).is_pending() && timeout.as_mut().poll(&mut context).is_pending());
        let now = timer.clock().now() + 2_000_000_000;
        sleep.reset(now);
        timer.clock().set(now);
        assert_eq!(timer.fire(now, &mut Budget::of_fires(2)), 2);
        assert!(sleep.poll(&mut context).is_ready() && timeout.poll(&mut context).is_ready());
        let dropped = pin!(timer.timeout(SECOND, pending::<()>()));
        assert!(dropped.poll(&mut context).is_pending());
    }
    assert!(timer.is_empty());
}

/// Once the wheel has room, and all is given back.
fn local_sleeps_and_timeouts_ask_for_nothing_more() {
    let all = Region::new(ALLOCATOR);
    let timer = LocalTimer::new(TurnClock::new());
    sleep_and_time_out(&timer);
    assert_eq!(allocations(|| sleep_and_time_out(&timer)), 0, "for {} futures", 3 * SLEEPS);
    drop(timer);
    let change = all.change();
    assert_eq!(change.bytes_allocated, change.bytes_deallocated, "nothing stays");
}

fn main() {
    local_sleeps_and_timeouts_ask_for_nothing_more();
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).start().unwrap();
    let mut bench = Bench { timer, clock, handles: Vec::with_capacity(JOBS) };
    let rounds: [(&str, Round); 3] = [
        ("fired", Bench::fire),
        ("cancelled at once", Bench::cancel_at_once),
        ("cancelled when filed", Bench::cancel_filed),
    ];
    for (what, round) in rounds {
        // Twice, as the lists that callers and thread swap are two.
        round(&mut bench);
        round(&mut bench);
        let region = Region::new(ALLOCATOR);
        round(&mut bench);
        let change = region.change();
        let others = change.allocations + change.reallocations - JOBS;
        // The wheel's, which gives back what it needed for a crowded tick. How many depends on how the
        // jobs came to the thread, in few pieces or in many: 0 to 51 were seen.
        assert!(others <= JOBS / 20, "{others} allocations beside the jobs', {what}");
        assert!(change.deallocations >= JOBS, "jobs {what} leave memory behind");
    }
    time_out(&bench.timer);
    assert_eq!(allocations(|| (0..JOBS).for_each(|_| time_out(&bench.timer))), 0, "timeouts");
    let mut reset = reset(&bench);
    reset(100);
    assert_eq!(allocations(|| reset(1_000)), 0, "resets");
    drop(reset);
    let bytes = churn_while_the_thread_is_held_up(&bench);
    assert!(bytes < 20_000, "{bytes} bytes stay of what was cancelled");
}
