//! Random calls on jobs of one shard and their keys, against the wheel's model. Random sleeps, timeouts and intervals are in
//! `tests/local`, which compares them with those of a `LocalTimer`.

use std::time::{Duration, Instant};

use timer_wheel::{Clock, KeyedTimer, TimerHandle};

use crate::arbitrary::{Drawn, check};
use crate::bytes::{Decoder, Draw};
use crate::log::{Bench, HOUR};
use crate::model::Model;

const KEYS: u8 = 3;

/// Names a job by its number, counted round and round.
#[derive(Debug)]
pub(crate) enum Call {
    Schedule(Duration),
    Reschedule(u8, Duration),
    Cancel(u8),
    SetKey(u8, Duration),
    RescheduleKey(u8, Duration),
    /// Reschedules the job of a key, or sets one.
    RenewKey(u8, Duration),
    RemoveKey(u8),
    Pass(Duration),
    /// The clock goes back, which counts as stopped.
    Back(Duration),
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
        let key = nth % KEYS;
        script.push(match choice {
            0..4 => Self::Schedule(delay),
            4..6 => Self::Reschedule(nth, delay),
            6 => Self::Cancel(nth),
            7..9 => Self::SetKey(key, delay),
            9 => Self::RenewKey(key, delay),
            10 => Self::RescheduleKey(key, delay),
            11 => Self::RemoveKey(key),
            12 => Self::Back(delay),
            _ => Self::Pass(delay),
        });
    }
}

struct World {
    bench: Bench,
    keyed: KeyedTimer<u8>,
    /// The live jobs by their numbers. The model's clock shows the latest time that the timer was shown.
    model: Model<(), u64>,
    /// By number, of jobs without a key.
    handles: Vec<(u64, TimerHandle)>,
    /// The latest job of each key.
    keys: [Option<u64>; KEYS as usize],
    ran: Vec<u64>,
    scheduled: u64,
    cancelled: u64,
    rescheduled: u64,
}

impl World {
    fn new() -> Self {
        let bench = Bench::with(|builder| builder.budget(3).shards(1));
        let (keyed, keys) = (KeyedTimer::new(bench.timer.clone()), [None; KEYS as usize]);
        let (model, handles, ran) = (Model::new(0), Vec::new(), Vec::new());
        Self { bench, keyed, model, handles, keys, ran, scheduled: 0, cancelled: 0, rescheduled: 0 }
    }

    fn deadline(&self, number: u64) -> Option<Instant> {
        let job = self.model.get(number)?;
        Some(self.bench.clock.origin() + Duration::from_nanos(job.deadline))
    }

    fn schedule(&mut self, delay: Duration) {
        self.model.schedule(self.scheduled, self.after(delay), ());
        self.scheduled += 1;
    }

    fn after(&self, delay: Duration) -> u64 {
        self.model.now() + delay.as_nanos() as u64
    }

    /// Whether there was a job to cancel.
    fn cancel(&mut self, number: Option<u64>) -> bool {
        let is_live = number.is_some_and(|number| self.model.cancel(number).is_some());
        self.cancelled += u64::from(is_live);
        is_live
    }

    fn reschedule(&mut self, number: Option<u64>, delay: Duration) -> bool {
        let deadline = self.after(delay);
        let is_live = number.is_some_and(|number| self.model.reschedule(number, deadline));
        self.rescheduled += u64::from(is_live);
        is_live
    }

    fn nth_handle(&self, nth: u8) -> Option<(u64, TimerHandle)> {
        let nth = usize::from(nth).checked_rem(self.handles.len())?;
        Some(self.handles[nth].clone())
    }

    /// Every second call names an instant in place of a delay.
    fn call(&mut self, nth_call: usize, call: Call) {
        let (number, has_instant) = (self.scheduled, nth_call % 2 == 1);
        let now = self.bench.clock.origin() + Duration::from_nanos(self.model.now());
        match call {
            Call::Schedule(delay) => {
                let (timer, job) = (&self.bench.timer, self.bench.log.job(number));
                let handle = match has_instant {
                    true => timer.schedule_at(now + delay, job).unwrap(),
                    false => timer.schedule_after(delay, job).unwrap(),
                };
                self.handles.push((number, handle));
                self.schedule(delay);
            }
            Call::Reschedule(nth, delay) => {
                let Some((number, handle)) = self.nth_handle(nth) else { return };
                let is_live = match has_instant {
                    true => handle.reschedule_at(now + delay),
                    false => handle.reschedule_after(delay),
                };
                assert_eq!(is_live, self.reschedule(Some(number), delay));
            }
            Call::Cancel(nth) => {
                let Some((number, handle)) = self.nth_handle(nth) else { return };
                assert_eq!(handle.cancel(), self.cancel(Some(number)));
            }
            Call::SetKey(key, delay) => {
                let job = self.bench.log.job(number);
                let is_replaced = match has_instant {
                    true => self.keyed.set_at(key, now + delay, job).unwrap(),
                    false => self.keyed.set_after(key, delay, job).unwrap(),
                };
                let old = self.keys[usize::from(key)].replace(number);
                assert_eq!(is_replaced, self.cancel(old));
                self.schedule(delay);
            }
            Call::RescheduleKey(key, delay) => {
                let is_live = match has_instant {
                    true => self.keyed.reschedule_at(&key, now + delay),
                    false => self.keyed.reschedule_after(&key, delay),
                };
                assert_eq!(is_live, self.reschedule(self.keys[usize::from(key)], delay));
            }
            Call::RenewKey(key, delay) => {
                let job = self.bench.log.job(number);
                let is_live = match has_instant {
                    true => self.keyed.reschedule_or_set_at(key, now + delay, job).unwrap(),
                    false => self.keyed.reschedule_or_set_after(key, delay, job).unwrap(),
                };
                let own = &mut self.keys[usize::from(key)];
                let old = if is_live { *own } else { own.replace(number) };
                assert_eq!(is_live, self.reschedule(old, delay));
                if !is_live {
                    self.schedule(delay);
                }
            }
            Call::RemoveKey(key) => {
                assert_eq!(self.keyed.remove(&key), self.cancel(self.keys[usize::from(key)]));
            }
            Call::Pass(time) => self.bench.clock.advance(time),
            Call::Back(time) => self.bench.clock.set(self.bench.clock_shows().saturating_sub(time)),
        }
    }

    /// What is due runs before the next call, so that the two agree.
    fn check(&mut self) {
        self.bench.settle();
        self.model.set_clock(self.bench.clock.now());
        while let Some((number, ..)) = self.model.pop_due() {
            self.ran.push(number);
        }
        assert_eq!(self.bench.log.read(), self.ran);
        for (number, handle) in &self.handles {
            assert_eq!(handle.deadline(), self.deadline(*number));
            assert_eq!(handle.is_live(), handle.deadline().is_some());
        }
        for (key, number) in (0..KEYS).zip(self.keys) {
            let deadline = number.and_then(|number| self.deadline(number));
            assert_eq!((self.keyed.deadline(&key), self.keyed.contains(&key)), (deadline, deadline.is_some()));
        }
        assert_eq!(self.bench.timer.len(), self.model.len());
        let next = self.model.next_deadline();
        // A thread that has not gone to sleep yet names no delay.
        let delay = self.bench.timer.expiration_delay();
        let exact = next.map(|next| Duration::from_nanos(next - self.model.now()));
        assert!(delay <= exact || next.is_none(), "it sleeps past what is due next");
    }

    fn finish(mut self) {
        self.bench.clock.set(Duration::from_nanos(self.model.now()) + HOUR);
        self.check();
        let stats = self.bench.timer.stats();
        assert_eq!(
            (stats.scheduled, stats.fired, stats.cancelled),
            (self.scheduled, self.ran.len() as u64, self.cancelled)
        );
        assert_eq!((stats.rescheduled, stats.len, stats.abandoned), (self.rescheduled, 0, 0));
    }
}

#[test]
fn jobs_and_keys_fire_in_order_of_deadline_then_of_calls() {
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
