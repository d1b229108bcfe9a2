//! Random calls on a timer of one shard, its keys and its sleeps, against the obvious: a sorted list of deadlines.

use std::task::Poll;
use std::time::{Duration, Instant};

use timer_wheel::timer::Sleep;
use timer_wheel::{Clock, KeyedTimer, TimerHandle};

use crate::arbitrary::{Drawn, check};
use crate::bytes::{Decoder, Draw};
use crate::executor::ManualExecutor;
use crate::log::{Bench, HOUR};

const KEYS: u8 = 3;
const SLEEPS: usize = 3;

/// Names a job or a sleep by its number, counted round and round.
#[derive(Debug)]
enum Call {
    Schedule(Duration),
    Reschedule(u8, Duration),
    Cancel(u8),
    SetKey(u8, Duration),
    RescheduleKey(u8, Duration),
    RemoveKey(u8),
    Poll(usize),
    Reset(usize, Duration),
    /// Drops a sleep, and makes another.
    Renew(usize, Duration),
    Pass(Duration),
}

impl Draw for Call {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        let (choice, nth) = (decoder.below(16), decoder.byte());
        // Some of them alike, and others of any order of magnitude.
        let delay = Duration::from_nanos(match decoder.below(2) {
            0 => u64::from(decoder.below(4)) << 30,
            _ => (decoder.word() % (1 << 16)) << decoder.below(24),
        });
        let (key, sleep) = (nth % KEYS, usize::from(nth) % SLEEPS);
        script.push(match choice {
            0..4 => Self::Schedule(delay),
            4 => Self::Reschedule(nth, delay),
            5 => Self::Cancel(nth),
            6..8 => Self::SetKey(key, delay),
            8 => Self::RescheduleKey(key, delay),
            9 => Self::RemoveKey(key),
            10 => Self::Poll(sleep),
            11..13 => Self::Reset(sleep, delay),
            13 => Self::Renew(sleep, delay),
            _ => Self::Pass(delay),
        });
    }
}

/// A sleep, and what is to become of it.
struct Waiting {
    sleep: Sleep,
    executor: ManualExecutor,
    deadline: Duration,
    /// Whether its task was told to wait, and has not been woken since.
    is_armed: bool,
    wakes: usize,
}

struct World {
    bench: Bench,
    keyed: KeyedTimer<u8>,
    now: Duration,
    /// The live jobs: when each is due, and its number, in the order in which they are to run.
    jobs: Vec<(Duration, u64)>,
    /// By number, of jobs without a key.
    handles: Vec<(u64, TimerHandle)>,
    /// The latest job of each key.
    keys: [Option<u64>; KEYS as usize],
    sleeps: [Waiting; SLEEPS],
    ran: Vec<u64>,
    scheduled: u64,
    cancelled: u64,
    rescheduled: u64,
}

impl World {
    fn new() -> Self {
        let bench = Bench::with(|builder| builder.budget(3).shards(1));
        let sleeps = [(); SLEEPS].map(|()| Waiting {
            sleep: bench.timer.sleep(Duration::ZERO),
            executor: ManualExecutor::default(),
            deadline: Duration::ZERO,
            is_armed: false,
            wakes: 0,
        });
        let (keyed, now, keys) = (KeyedTimer::new(bench.timer.clone()), Duration::ZERO, [None; KEYS as usize]);
        let (jobs, handles, ran) = (Vec::new(), Vec::new(), Vec::new());
        Self { bench, keyed, now, jobs, handles, keys, sleeps, ran, scheduled: 0, cancelled: 0, rescheduled: 0 }
    }

    fn instant(&self, deadline: Duration) -> Instant {
        self.bench.clock.origin() + deadline
    }

    fn deadline(&self, number: u64) -> Option<Instant> {
        let job = self.jobs.iter().find(|(_, other)| *other == number);
        job.map(|(deadline, _)| self.instant(*deadline))
    }

    /// Takes a job out of the list, if it is live.
    fn take(&mut self, number: Option<u64>) -> bool {
        let place = self.jobs.iter().position(|(_, other)| Some(*other) == number);
        place.map(|place| self.jobs.remove(place)).is_some()
    }

    /// Moves a job to the end of those that are due then, if it is live.
    fn put_off(&mut self, number: Option<u64>, delay: Duration) -> bool {
        let is_live = self.take(number);
        self.jobs.extend(number.filter(|_| is_live).map(|number| (self.now + delay, number)));
        self.rescheduled += u64::from(is_live);
        is_live
    }

    /// Every second call names an instant in place of a delay.
    fn call(&mut self, nth_call: usize, call: Call) {
        let (number, has_instant) = (self.scheduled, nth_call % 2 == 1);
        let (now, origin) = (self.now, self.bench.clock.origin());
        let at = |delay| origin + now + delay;
        match call {
            Call::Schedule(delay) => {
                let (timer, job) = (&self.bench.timer, self.bench.log.job(number));
                let handle = match has_instant {
                    true => timer.schedule_at(at(delay), job).unwrap(),
                    false => timer.schedule_after(delay, job).unwrap(),
                };
                self.handles.push((number, handle));
                self.jobs.push((now + delay, number));
                self.scheduled += 1;
            }
            Call::Reschedule(nth, delay) => {
                let Some(nth) = usize::from(nth).checked_rem(self.handles.len()) else { return };
                let (number, handle) = self.handles[nth].clone();
                let is_live = match has_instant {
                    true => handle.reschedule_at(at(delay)),
                    false => handle.reschedule_after(delay),
                };
                assert_eq!(is_live, self.put_off(Some(number), delay));
            }
            Call::Cancel(nth) => {
                let Some(nth) = usize::from(nth).checked_rem(self.handles.len()) else { return };
                let (number, handle) = self.handles[nth].clone();
                let is_live = handle.cancel();
                assert_eq!(is_live, self.take(Some(number)));
                self.cancelled += u64::from(is_live);
            }
            Call::SetKey(key, delay) => {
                let job = self.bench.log.job(number);
                let is_replaced = match has_instant {
                    true => self.keyed.set_at(key, at(delay), job).unwrap(),
                    false => self.keyed.set_after(key, delay, job).unwrap(),
                };
                let old = self.keys[usize::from(key)].replace(number);
                assert_eq!(is_replaced, self.take(old));
                self.cancelled += u64::from(is_replaced);
                self.jobs.push((now + delay, number));
                self.scheduled += 1;
            }
            Call::RescheduleKey(key, delay) => {
                let is_live = match has_instant {
                    true => self.keyed.reschedule_at(&key, at(delay)),
                    false => self.keyed.reschedule_after(&key, delay),
                };
                assert_eq!(is_live, self.put_off(self.keys[usize::from(key)], delay));
            }
            Call::RemoveKey(key) => {
                let is_live = self.keyed.remove(&key);
                assert_eq!(is_live, self.take(self.keys[usize::from(key)]));
                self.cancelled += u64::from(is_live);
            }
            Call::Poll(nth) => {
                let waiting = &mut self.sleeps[nth];
                let is_over = waiting.deadline <= now;
                let expected = if is_over { Poll::Ready(Ok(())) } else { Poll::Pending };
                assert_eq!(waiting.executor.poll(&mut waiting.sleep), expected);
                self.scheduled += u64::from(!is_over && !waiting.is_armed);
                waiting.is_armed = !is_over;
            }
            Call::Reset(nth, delay) => {
                self.sleeps[nth].sleep.reset(at(delay));
                self.sleeps[nth].deadline = now + delay;
            }
            Call::Renew(nth, delay) => {
                let waiting = &mut self.sleeps[nth];
                waiting.sleep = match has_instant {
                    true => self.bench.timer.sleep_until(at(delay)),
                    false => self.bench.timer.sleep(delay),
                };
                waiting.deadline = now + delay;
                self.cancelled += u64::from(std::mem::take(&mut waiting.is_armed));
            }
            Call::Pass(time) => {
                self.now += time;
                self.bench.clock.advance(time);
            }
        }
    }

    /// What is due runs before the next call, so that the two agree.
    fn check(&mut self) {
        self.bench.settle();
        // Stable, so that equals stay in the order of the calls.
        self.jobs.sort_by_key(|(deadline, _)| *deadline);
        let due = self.jobs.partition_point(|(deadline, _)| *deadline <= self.now);
        self.ran.extend(self.jobs.drain(..due).map(|(_, number)| number));
        assert_eq!(self.bench.log.read(), self.ran);
        for waiting in &mut self.sleeps {
            let is_over = waiting.deadline <= self.now;
            if is_over && std::mem::take(&mut waiting.is_armed) {
                waiting.wakes += 1;
            }
            assert_eq!(
                (waiting.executor.wakes(), waiting.executor.wakers()),
                (waiting.wakes, usize::from(waiting.is_armed))
            );
            assert_eq!(waiting.sleep.is_elapsed(), is_over);
        }
        for (number, handle) in &self.handles {
            assert_eq!(handle.deadline(), self.deadline(*number));
            assert_eq!(handle.is_live(), handle.deadline().is_some());
        }
        for (key, number) in (0..KEYS).zip(self.keys) {
            let deadline = number.and_then(|number| self.deadline(number));
            assert_eq!((self.keyed.deadline(&key), self.keyed.contains(&key)), (deadline, deadline.is_some()));
        }
        let armed = self.sleeps.iter().filter(|waiting| waiting.is_armed);
        assert_eq!(self.bench.timer.len(), self.jobs.len() + armed.clone().count());
        let next = armed.map(|waiting| waiting.deadline).chain(self.jobs.first().map(|(deadline, _)| *deadline)).min();
        // A thread that has not gone to sleep yet names no delay.
        let wakes_in_time = self.bench.timer.expiration_delay() <= next.map(|next| next - self.now);
        assert!(wakes_in_time || next.is_none(), "it sleeps past what is due next");
    }

    fn finish(mut self) {
        self.call(0, Call::Pass(HOUR));
        self.check();
        let stats = self.bench.timer.stats();
        let woken: usize = self.sleeps.iter().map(|waiting| waiting.wakes).sum();
        let fired = (self.ran.len() + woken) as u64;
        assert_eq!((stats.scheduled, stats.fired, stats.cancelled), (self.scheduled, fired, self.cancelled));
        assert_eq!((stats.rescheduled, stats.len, stats.abandoned), (self.rescheduled, 0, 0));
    }
}

#[test]
fn jobs_keys_and_sleeps_fire_in_order_of_deadline_then_of_calls() {
    fn agree(script: Drawn<Call>) {
        let mut world = World::new();
        for (nth, call) in script.script().into_iter().enumerate() {
            world.call(nth, call);
            world.check();
        }
        world.finish();
    }
    check(150, 120, agree);
}
