//! Calls on the sleeps of one timer, and the wheel's model beside it: the deadlines in the order in which they are to fire.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use timer_wheel::Budget;
use timer_wheel::clock::NEVER;
use timer_wheel::local::{LocalSleep, LocalTimer, TurnClock};

use crate::bytes::{Decoder, Draw};
use crate::model::Model;

const SLEEPS: usize = 6;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Time {
    /// From now.
    Ahead(u64),
    /// Any at all, also one that has passed, and the ends of time.
    At(u64),
}

#[derive(Debug)]
pub(crate) enum Call {
    /// Drops a sleep, and makes another.
    Sleep(usize, Time),
    /// With one of two wakers.
    Poll(usize, usize),
    Reset(usize, Time),
    /// The clock shows another time, an earlier one maybe, and the loop does not look.
    Set(Time),
    /// The loop tells its time, and wakes at most so many.
    Fire(Time, usize),
    /// The same with so many units of work.
    Work(Time, usize),
    Clear,
}

#[derive(Debug, Default)]
pub(crate) struct Script {
    /// What the clock shows when the timer is made. Then it is set back to 0.
    start: u64,
    calls: Vec<Call>,
}

impl Draw for Call {
    type Script = Script;

    fn begin(decoder: &mut Decoder<'_>) -> Script {
        Script { start: decoder.choose(&[0, 1 << 20, 1 << 40]), calls: Vec::new() }
    }

    fn extend(script: &mut Script, decoder: &mut Decoder<'_>) {
        let (choice, nth) = (decoder.below(32), decoder.byte());
        let some = match decoder.below(2) {
            0 => u64::from(decoder.below(4)) << 20,
            _ => (decoder.word() % (1 << 16)) << decoder.below(24),
        };
        let any = [0, some, some, NEVER - 1, NEVER][usize::from(decoder.below(5))];
        let time = if decoder.below(4) == 0 { Time::At(any) } else { Time::Ahead(some) };
        let (sleep, other) = (usize::from(nth) % SLEEPS, usize::from(nth) / SLEEPS);
        script.calls.push(match choice {
            0..4 => Self::Sleep(sleep, time),
            4..14 => Self::Poll(sleep, other % 2),
            14..18 => Self::Reset(sleep, time),
            // The end of time is for few scripts: after it nothing waits.
            18..21 => Self::Set(Time::Ahead(some)),
            21..26 => Self::Fire(Time::Ahead(some), other % 4),
            26..29 => Self::Work(Time::Ahead(some), other % 8),
            29 => Self::Fire(time, usize::MAX),
            30 => Self::Set(time),
            _ => Self::Clear,
        });
    }
}

type Log = Arc<Mutex<Vec<(usize, usize)>>>;

/// Writes down which sleep it was for, and which of the wakers it is.
struct Named((usize, usize), Log);

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

struct Slot {
    sleep: LocalSleep<TurnClock>,
    deadline: u64,
    wakers: [Arc<Named>; 2],
}

struct World {
    timer: LocalTimer<TurnClock>,
    slots: Vec<Slot>,
    /// The sleeps that wait, each with the waker that is to be woken. The model's clock shows the latest time.
    model: Model<usize, usize>,
    log: Log,
    woken: Vec<(usize, usize)>,
    clock: u64,
}

impl World {
    fn new(start: u64) -> Self {
        let (clock, log) = (TurnClock::new(), Log::default());
        clock.set(start);
        let timer = LocalTimer::new(clock.clone());
        clock.set(0);
        let slot = |nth| Slot {
            // Made without a look at the clock, so that the first call may be the first to look.
            sleep: timer.sleep_until(0),
            deadline: 0,
            wakers: [0, 1].map(|other| Arc::new(Named((nth, other), Arc::clone(&log)))),
        };
        let slots = (0..SLEEPS).map(slot).collect();
        Self { timer, slots, model: Model::new(start), log, woken: Vec::new(), clock: 0 }
    }

    fn call(&mut self, call: Call) {
        let latest = self.model.now();
        let resolve = |time| match time {
            Time::Ahead(ns) => latest.saturating_add(ns),
            Time::At(at) => at,
        };
        match call {
            Call::Sleep(nth, time) => {
                let slot = &mut self.slots[nth];
                slot.sleep = match time {
                    Time::Ahead(ns) => self.timer.sleep(Duration::from_nanos(ns)),
                    Time::At(at) => self.timer.sleep_until(at),
                };
                slot.deadline = resolve(time);
                self.model.cancel(nth);
            }
            Call::Poll(nth, other) => {
                let slot = &mut self.slots[nth];
                let waker = Waker::from(Arc::clone(&slot.wakers[other]));
                let polled = Pin::new(&mut slot.sleep).poll(&mut Context::from_waker(&waker));
                match self.model.get_mut(nth) {
                    Some(waker) => *waker = other,
                    None if slot.deadline <= latest => return assert_eq!(polled, Poll::Ready(())),
                    None => self.model.schedule(nth, slot.deadline, other),
                }
                assert_eq!(polled, Poll::Pending);
            }
            Call::Reset(nth, time) => {
                let (slot, deadline) = (&mut self.slots[nth], resolve(time));
                slot.sleep.reset(deadline);
                slot.deadline = deadline;
                self.model.reschedule(nth, deadline);
            }
            Call::Set(time) => {
                self.clock = resolve(time);
                self.timer.clock().set(self.clock);
            }
            Call::Fire(time, most) => {
                let fired = self.fire(resolve(time), &mut Budget::of_fires(most));
                assert!(fired == most || fired < most && !self.model.has_due());
            }
            Call::Work(time, work) => {
                self.fire(resolve(time), &mut Budget::of_work(work));
                // Any budget but none comes to an end of it.
                let mut calls = 0;
                while self.model.has_due() {
                    self.fire(self.model.now(), &mut Budget::of_work(1 + work));
                    calls += 1;
                    assert!(calls < 10_000, "nothing fires");
                }
            }
            Call::Clear => {
                self.timer.clear();
                self.model.clear();
            }
        }
    }

    /// The first in the model are woken.
    fn fire(&mut self, now: u64, budget: &mut Budget) -> usize {
        self.model.set_clock(now.min(NEVER - 1));
        let fired = self.timer.fire(now, budget);
        for _ in 0..fired {
            let (nth, _, other) = self.model.pop_due().expect("early");
            self.woken.push((nth, other));
        }
        fired
    }

    fn check(&mut self) {
        self.model.set_clock(self.clock.min(NEVER - 1));
        let (model, latest) = (&self.model, self.model.now());
        assert_eq!(*self.log.lock().unwrap(), self.woken);
        assert_eq!((self.timer.len(), self.timer.is_empty()), (model.len(), model.is_empty()));
        let (first, wake) = (model.next_deadline(), self.timer.wake_at());
        assert!(wake.is_some() == first.is_some() && wake <= first.map(|first| first.max(latest)), "late");
        let left = wake.map(|wake| Duration::from_nanos(wake.saturating_sub(latest)));
        assert_eq!(self.timer.until_next(), left);
        for (nth, slot) in self.slots.iter().enumerate() {
            assert_eq!((slot.sleep.deadline(), slot.sleep.is_elapsed()), (slot.deadline, slot.deadline <= latest));
            let stored = model.get(nth).map(|waiting| waiting.value);
            for (other, waker) in slot.wakers.iter().enumerate() {
                let is_stored = stored == Some(other);
                assert_eq!(Arc::strong_count(waker), 1 + usize::from(is_stored), "a waker was lost or stays");
            }
        }
    }
}

/// Runs the script, and holds all that can be seen against the model after each call.
pub(crate) fn run(script: Script) {
    let mut world = World::new(script.start);
    for call in script.calls {
        world.call(call);
        world.check();
    }
    let World { slots, timer, .. } = world;
    let wakers: Vec<_> = slots.into_iter().flat_map(|slot| slot.wakers).collect();
    drop(timer);
    assert!(wakers.iter().all(|waker| Arc::strong_count(waker) == 1), "something stays");
}
