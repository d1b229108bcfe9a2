//! Wakers that use the timer while they are woken or dropped.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use timer_wheel::Budget;
use timer_wheel::local::{LocalSleep, LocalTimer, TurnClock};

use crate::executor::ManualExecutor;
use crate::{MS_NS, fire, timer};

thread_local! {
    /// Wakers are `Send`, and what these do is not.
    static DEED: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Does the deed when it is woken, or when its last clone is dropped.
struct Act {
    when_dropped: bool,
}

impl Act {
    fn waker(when_dropped: bool, deed: impl FnOnce() + 'static) -> Waker {
        DEED.set(Some(Box::new(deed)));
        Arc::new(Self { when_dropped }).into()
    }
}

impl Wake for Act {
    fn wake(self: Arc<Self>) {
        if !self.when_dropped {
            DEED.take().into_iter().for_each(|deed| deed());
        }
    }
}

impl Drop for Act {
    fn drop(&mut self) {
        if self.when_dropped {
            DEED.take().into_iter().for_each(|deed| deed());
        }
    }
}

/// What the waker of the first sleep does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Arm,
    PollOther,
    ResetOther,
    DropOther,
    Fire,
    Clear,
    DropHandle,
    Panic,
}

/// When it does that.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Woken,
    Replaced,
    DroppedWithItsSleep,
    Cleared,
}

/// What a deed acts on: a timer at 5 ms, and a sleep that is due at 2 ms and was polled.
struct World {
    timer: RefCell<Option<LocalTimer<TurnClock>>>,
    other: RefCell<Option<LocalSleep<TurnClock>>>,
    armed: RefCell<Option<LocalSleep<TurnClock>>>,
    executor: Rc<ManualExecutor>,
    late_hand: Rc<ManualExecutor>,
}

impl World {
    fn new(executor: &Rc<ManualExecutor>, late_hand: &Rc<ManualExecutor>) -> Self {
        let timer = timer();
        let mut other = timer.sleep_until(2 * MS_NS);
        executor.start([&mut other]);
        Self {
            timer: RefCell::new(Some(timer)),
            other: RefCell::new(Some(other)),
            armed: RefCell::default(),
            executor: Rc::clone(executor),
            late_hand: Rc::clone(late_hand),
        }
    }

    fn timer(&self) -> LocalTimer<TurnClock> {
        self.timer.borrow().clone().expect("the deed alone drops it")
    }

    fn with_other<T>(&self, act: impl FnOnce(&mut LocalSleep<TurnClock>) -> T) -> T {
        act(self.other.borrow_mut().as_mut().expect("the deed alone drops it"))
    }

    fn perform(&self, deed: Deed) {
        match deed {
            Deed::Arm => {
                let mut sleep = self.timer().sleep_until(6 * MS_NS);
                self.late_hand.start([&mut sleep]);
                self.armed.replace(Some(sleep));
            }
            Deed::PollOther => _ = self.with_other(|other| self.executor.poll(other)),
            Deed::ResetOther => self.with_other(|other| other.reset(7 * MS_NS)),
            Deed::DropOther => drop(self.other.take()),
            Deed::Fire => _ = fire(&self.timer(), 5),
            Deed::Clear => self.timer().clear(),
            Deed::DropHandle => drop(self.timer.take()),
            Deed::Panic => panic!("on purpose"),
        }
    }
}

fn poll(sleep: &mut LocalSleep<TurnClock>, waker: &Waker) -> Poll<()> {
    Pin::new(sleep).poll(&mut Context::from_waker(waker))
}

/// No other sleep is lost, early, or woken twice, nothing stays, and no cell is found borrowed.
fn check(deed: Deed, when: When) {
    let name = format!("{deed:?} when {when:?}");
    let (executor, late_hand) = (Rc::default(), Rc::default());
    let world = Rc::new(World::new(&executor, &late_hand));
    let own = Rc::clone(&world);
    let waker = Act::waker(when != When::Woken, move || own.perform(deed));
    let mut first = Some(world.timer().sleep_until(MS_NS));
    assert!(poll(first.as_mut().unwrap(), &waker).is_pending());
    drop(waker);
    world.timer().clock().set(5 * MS_NS);

    let done = catch_unwind(AssertUnwindSafe(|| match when {
        When::Woken => _ = fire(&world.timer(), 5),
        When::Replaced => _ = poll(first.as_mut().unwrap(), Waker::noop()),
        When::DroppedWithItsSleep => first = None,
        When::Cleared => world.timer().clear(),
    }));
    assert_eq!(done.is_err(), deed == Deed::Panic, "{name}");
    assert!(DEED.with_borrow(Option::is_none), "{name}: it was not done");

    let is_fired = (deed, when) != (Deed::DropHandle, When::Woken) && world.timer.borrow().is_none();
    let is_gone = matches!(deed, Deed::DropOther | Deed::Clear) || when == When::Cleared || is_fired;
    if let Some(timer) = world.timer.borrow().clone() {
        (5..7).for_each(|now| _ = fire(&timer, now));
        assert_eq!(executor.wakes(), usize::from(!is_gone && deed != Deed::ResetOther), "{name}, at 6 ms");
        fire(&timer, 7);
        assert!(deed == Deed::DropOther || world.with_other(|other| executor.poll(other)).is_ready(), "{name}");
        assert_eq!(timer.len(), 0, "{name}");
    }
    assert_eq!(
        (executor.wakes(), late_hand.wakes()),
        (usize::from(!is_gone), usize::from(deed == Deed::Arm)),
        "{name}"
    );
    drop((first, world));
    assert_eq!((executor.wakers(), late_hand.wakers()), (0, 0), "{name}: something stays");
}

#[test]
fn waker_may_use_the_timer_whenever_it_is_called_or_dropped() {
    for when in [When::Woken, When::Replaced, When::DroppedWithItsSleep, When::Cleared] {
        let with_sleep = [Deed::Arm, Deed::PollOther, Deed::ResetOther, Deed::DropOther];
        for deed in with_sleep.into_iter().chain([Deed::Fire, Deed::Clear, Deed::DropHandle, Deed::Panic]) {
            check(deed, when);
        }
    }
}

/// A task that runs where it is woken, as with some executors of one thread.
#[test]
fn task_that_runs_while_its_waker_is_called_may_sleep_again() {
    let timer = timer();
    let (own, slept) = (timer.clone(), Rc::new(RefCell::new(Vec::new())));
    let kept = Rc::clone(&slept);
    let mut first = timer.sleep_until(MS_NS);
    let waker = Act::waker(false, move || {
        let mut next = own.sleep(std::time::Duration::from_nanos(1));
        assert!(poll(&mut next, Waker::noop()).is_pending(), "it counts from the time of the turn");
        kept.borrow_mut().push(next);
    });
    assert!(poll(&mut first, &waker).is_pending());
    // The clock is behind the loop: what is armed meanwhile is due later than this turn all the same.
    assert_eq!(timer.fire(3 * MS_NS, &mut Budget::unlimited()), 1);
    assert_eq!((timer.len(), slept.borrow()[0].deadline()), (1, 3 * MS_NS + 1));
}
