//! The timers of an async runtime: a deadline and a `Waker` each, re-armed and dropped all the time,
//! hardly ever fired. Runtimes keep them in a `BTreeMap<(Instant, usize), Waker>`; here a wheel has them.
//!
//! A task's timer is registered, moved and dropped in O(1). A turn of the reactor wakes a bounded number
//! of tasks, says how long the poller may wait, and never names a moment in the past.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel`

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use timer_wheel::{Budget, Clock, SystemClock, TimerKey, Wheel};

/// So much at a turn, so that events of sockets do not wait long behind timers.
const TURN: Budget = Budget::of_work(1_000).with_fires(64);

/// The timers of all tasks. (A runtime with many threads puts a lock around the wheel.)
struct Reactor {
    clock: SystemClock,
    timers: RefCell<Wheel<Waker>>,
    turns: Cell<usize>,
}

impl Reactor {
    /// Sees to it that the task is woken at `deadline`, and by no earlier deadline of this timer.
    fn arm(&self, timer: &mut Option<TimerKey>, deadline: u64, waker: &Waker) {
        let mut timers = self.timers.borrow_mut();
        let key = timers.reschedule_or_insert(timer, deadline, || waker.clone());
        if let Some(known) = timers.get_mut(key) {
            known.clone_from(waker); // does nothing for the same task
        }
    }

    fn disarm(&self, timer: &mut Option<TimerKey>) {
        if let Some(key) = timer.take() {
            self.timers.borrow_mut().cancel(key);
        }
    }

    /// Wakes the tasks that are due, not more than a turn allows; says how long the poller may
    /// wait for events then. `None` is for as long as it likes.
    fn turn(&self) -> Option<Duration> {
        self.turns.set(self.turns.get() + 1);
        let now = self.clock.now();
        let mut timers = self.timers.borrow_mut();
        let mut budget = TURN;
        let due: Vec<Waker> = timers.advance_with_budget(now, &mut budget).map(|timer| timer.value).collect();
        // Zero while there is a backlog. It counts from the wheel's clock, which is at `now`.
        let wait = timers.expiration_delay().map(Duration::from_nanos);
        // Wakers are the code of others, and may come back for another timer.
        drop(timers);
        due.into_iter().for_each(Waker::wake);
        wait
    }

    fn sleep(self: &Rc<Self>, delay: Duration) -> Sleep {
        Sleep { deadline: self.clock.after(delay), reactor: Rc::clone(self), timer: None }
    }
}

/// Ready once its deadline has passed.
struct Sleep {
    reactor: Rc<Reactor>,
    deadline: u64,
    timer: Option<TimerKey>,
}

impl Sleep {
    /// Puts the deadline off, as a timeout is for each new request. The timer moves at the next poll.
    fn reset(&mut self, delay: Duration) {
        self.deadline = self.reactor.clock.after(delay);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.reactor.clock.now() >= this.deadline {
            return Poll::Ready(());
        }
        let reactor = &this.reactor;
        reactor.arm(&mut this.timer, this.deadline, cx.waker());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.reactor.disarm(&mut self.timer);
    }
}

/// Whether `work` was done before `timeout` was over.
async fn in_time(work: impl Future<Output = ()>, timeout: &mut Sleep) -> bool {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if work.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        Pin::new(&mut *timeout).poll(cx).map(|()| false)
    })
    .await
}

/// The tasks that can go on, by number.
type Ready = Arc<Mutex<VecDeque<usize>>>;

struct TaskWaker {
    task: usize,
    ready: Ready,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.lock().unwrap().push_back(self.task);
    }
}

/// Runs tasks until all are done: polls those that are ready, turns the reactor, and waits.
fn run(reactor: &Reactor, tasks: Vec<Pin<Box<dyn Future<Output = ()>>>>) {
    let ready = Ready::default();
    let mut live = tasks.len();
    let mut tasks: Vec<_> = (0..)
        .zip(tasks)
        .map(|(task, future)| {
            let ready = Arc::clone(&ready);
            ready.lock().unwrap().push_back(task);
            (Waker::from(Arc::new(TaskWaker { task, ready })), Some(future))
        })
        .collect();
    while live != 0 {
        // Those that are ready now: others that are woken meanwhile come after the reactor's turn.
        for task in std::mem::take(&mut *ready.lock().unwrap()) {
            let (waker, future) = &mut tasks[task];
            if let Some(running) = future {
                if running.as_mut().poll(&mut Context::from_waker(waker)).is_ready() {
                    *future = None;
                    live -= 1;
                }
            }
        }
        let wait = reactor.turn();
        if live != 0 && ready.lock().unwrap().is_empty() {
            // Here a runtime waits in epoll or kqueue. Without a timer somebody must come from outside.
            let wait = wait.expect("a task waits for a timer");
            std::thread::sleep(wait);
        }
    }
}

const CONNECTIONS: u64 = 200;
const REQUESTS: u64 = 10;
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() {
    let reactor =
        Rc::new(Reactor { clock: SystemClock::new(), timers: RefCell::new(Wheel::new(0)), turns: Cell::new(0) });
    let answered = Rc::new(Cell::new(0));
    let timed_out = Rc::new(Cell::new(0));
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for connection in 0..CONNECTIONS {
        let reactor = Rc::clone(&reactor);
        let (answered, timed_out) = (Rc::clone(&answered), Rc::clone(&timed_out));
        tasks.push(Box::pin(async move {
            // One timer for all requests of a connection, re-armed for each.
            let mut timeout = reactor.sleep(TIMEOUT);
            for request in 0..REQUESTS {
                let is_lost = (connection, request) == (7, REQUESTS - 1);
                timeout.reset(if is_lost { Duration::from_millis(5) } else { TIMEOUT });
                let answer = Duration::from_micros(200 + (connection * 37 + request * 101) % 1_900);
                let begun = reactor.clock.now();
                let answer = if is_lost { TIMEOUT } else { answer };
                let count = match in_time(reactor.sleep(answer), &mut timeout).await {
                    true => {
                        assert!(reactor.clock.now() >= begun + answer.as_nanos() as u64, "early");
                        &answered
                    }
                    false => &timed_out,
                };
                count.set(count.get() + 1);
            }
        }));
    }
    run(&reactor, tasks);

    assert_eq!((answered.get(), timed_out.get()), (CONNECTIONS * REQUESTS - 1, 1));
    assert!(reactor.timers.borrow().is_empty(), "what was dropped is gone");
    println!(
        "{} requests, {} timed out, {} turns of the reactor",
        CONNECTIONS * REQUESTS,
        timed_out.get(),
        reactor.turns.get()
    );
}
