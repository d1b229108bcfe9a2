//! Sleeps, timeouts and intervals: the same scripts for those of `Timer`, those of `LocalTimer`, and a model of both.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use timer_wheel::clock::{NEVER, nanoseconds};
use timer_wheel::local::LocalTimer;
use timer_wheel::{Budget, Clock, ManualClock, Timer};

use crate::arbitrary::{Drawn, check};
use crate::bytes::{Decoder, Draw};
use crate::executor::ManualExecutor;

const SLOTS: usize = 3;

#[derive(Debug)]
enum Call {
    Sleep(usize, Duration),
    SleepUntil(usize, Duration),
    /// With one of two wakers.
    PollSleep(usize, usize),
    Reset(usize, Duration),
    Timeout(usize, Duration),
    TimeoutAt(usize, Duration),
    /// One that owns what it needs.
    TimeoutOwned(usize, Duration),
    PollTimeout(usize),
    /// The future in the timeout is ready from now on.
    Answer(usize),
    Interval(Duration),
    IntervalAt(Duration, Duration),
    Tick,
    ResetInterval,
    Pass(Duration),
    /// The clock goes back to a time since its origin.
    GoBack(Duration),
}

impl Draw for Call {
    type Script = Vec<Self>;

    fn extend(script: &mut Vec<Self>, decoder: &mut Decoder<'_>) {
        let (choice, nth) = (decoder.below(32), usize::from(decoder.byte()) % SLOTS);
        let mut time = || match decoder.below(16) {
            0 => Duration::MAX,
            1..8 => Duration::from_nanos(u64::from(decoder.below(4)) << 30),
            _ => Duration::from_nanos((decoder.word() % (1 << 16)) << decoder.below(24)),
        };
        let (first, second) = (time(), time());
        // With a period of zero the one fails, and the other ticks as often as it can.
        let period = second.max(Duration::from_nanos(1));
        script.push(match choice {
            0..2 => Self::Sleep(nth, first),
            2 => Self::SleepUntil(nth, first),
            3..8 => Self::PollSleep(nth, usize::from(decoder.below(2))),
            8..11 => Self::Reset(nth, first),
            11 => Self::Timeout(nth, first),
            12 => Self::TimeoutAt(nth, first),
            13..17 => Self::PollTimeout(nth),
            17 => Self::Answer(nth),
            18 => Self::Interval(period),
            19 => Self::IntervalAt(first, period),
            20..23 => Self::Tick,
            23 => Self::ResetInterval,
            24..27 => Self::Pass(first.min(Duration::from_secs(1 << 20))),
            27 => Self::GoBack(first.min(Duration::from_secs(1))),
            28 => Self::TimeoutOwned(nth, first),
            _ => Self::Tick,
        });
    }
}

/// What a poll, or a look, has answered.
#[derive(Debug, PartialEq)]
enum Answer {
    Slept(bool),
    /// Whether the time was up, if the timeout was ready.
    TimedOut(Poll<bool>),
    Ticked(bool),
    /// How often each task was woken, how many wakers of its are kept, and how many futures wait.
    Looked {
        is_elapsed: Vec<bool>,
        period: Duration,
        wakes: Vec<usize>,
        wakers: Vec<usize>,
        len: usize,
    },
}

type Answered = Arc<AtomicBool>;

fn answer(is_answered: Answered) -> impl Future<Output = ()> + Unpin {
    poll_fn(move |_| if is_answered.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending })
}

/// Two tasks for each sleep, one for each timeout and one for the interval.
const TASKS: usize = 3 * SLOTS + 1;

/// Runs the script on a timer. It is a macro because the two have no trait in common.
macro_rules! answers {
    ($script:expr, $clock:ident, $timer:ident, $owned:ident, $turn:expr, $is_ok:expr) => {{
        let hands: [ManualExecutor; TASKS] = Default::default();
        let answered: [Cell<Answered>; SLOTS] = Default::default();
        let renew = |nth: usize| {
            let new = Answered::default();
            answered[nth].set(Arc::clone(&new));
            answer(new)
        };
        let mut sleeps = [(); SLOTS].map(|()| $timer.sleep(Duration::ZERO));
        let mut timeouts: Vec<Pin<Box<dyn Future<Output = Result<(), _>> + '_>>> = Vec::new();
        (0..SLOTS).for_each(|nth| timeouts.push(Box::pin($timer.timeout(Duration::ZERO, renew(nth)))));
        let mut interval = $timer.interval(Duration::from_secs(1));
        let mut answers = Vec::new();
        let far = |time: Duration| -> Instant {
            // The clock's time counts from its origin, and an instant cannot be so far ahead as a delay.
            $clock.origin() + time.min(Duration::from_secs(1 << 40))
        };
        for call in $script {
            match *call {
                Call::Sleep(nth, delay) => sleeps[nth] = $timer.sleep(delay),
                Call::SleepUntil(nth, at) => sleeps[nth] = $timer.sleep_until(far(at)),
                Call::PollSleep(nth, hand) => {
                    let polled = hands[2 * nth + hand].poll(&mut sleeps[nth]).map($is_ok);
                    answers.push(Answer::Slept(polled.is_ready()));
                }
                Call::Reset(nth, at) => sleeps[nth].reset(far(at)),
                Call::Timeout(nth, delay) => timeouts[nth] = Box::pin($timer.timeout(delay, renew(nth))),
                Call::TimeoutOwned(nth, delay) => timeouts[nth] = Box::pin($timer.$owned(delay, renew(nth))),
                Call::TimeoutAt(nth, at) => timeouts[nth] = Box::pin($timer.timeout_at(far(at), renew(nth))),
                Call::PollTimeout(nth) => {
                    let polled = hands[2 * SLOTS + nth].poll(&mut timeouts[nth]);
                    answers.push(Answer::TimedOut(polled.map(|result| result.is_err())));
                }
                Call::Answer(nth) => {
                    let is_answered = answered[nth].take();
                    is_answered.store(true, Ordering::Relaxed);
                    answered[nth].set(is_answered);
                }
                Call::Interval(period) => interval = $timer.interval(period),
                Call::IntervalAt(start, period) => interval = $timer.interval_at(far(start), period),
                Call::Tick => {
                    let mut tick = pin!(interval.tick());
                    let polled: Poll<_> = hands[3 * SLOTS].poll::<Pin<&mut _>>(&mut tick);
                    answers.push(Answer::Ticked(polled.map($is_ok).is_ready()));
                }
                Call::ResetInterval => interval.reset(),
                Call::Pass(time) => $clock.advance(time),
                Call::GoBack(to) => $clock.set(to),
            }
            $turn;
            answers.push(Answer::Looked {
                is_elapsed: sleeps.iter().map(|sleep| sleep.is_elapsed()).collect(),
                period: interval.period(),
                wakes: hands.iter().map(ManualExecutor::wakes).collect(),
                wakers: hands.iter().map(ManualExecutor::wakers).collect(),
                len: $timer.len(),
            });
        }
        answers
    }};
}

fn of_timer(script: &[Call]) -> Vec<Answer> {
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).shards(1).start().unwrap();
    answers!(script, clock, timer, timeout_owned, timer.settle().unwrap(), |result| result.unwrap())
}

fn of_local_timer(script: &[Call]) -> Vec<Answer> {
    let clock = ManualClock::new();
    let timer = LocalTimer::new(clock.clone());
    answers!(script, clock, timer, timeout, timer.fire(clock.now(), &mut Budget::unlimited()), |()| ())
}

/// A future that waits for a time: with the task that is to be woken, if it was polled and has not been woken since.
#[derive(Clone, Copy, Default)]
struct Wait {
    /// Since the clock's origin. A timeout may have none before it is found pending.
    deadline: Option<u64>,
    delay: Duration,
    is_answered: bool,
    task: Option<usize>,
}

impl Wait {
    fn is_over(self, now: u64) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Whether the time is up. Otherwise the task is to be woken then.
    fn poll(&mut self, now: u64, task: usize) -> bool {
        self.deadline.get_or_insert(now.saturating_add(nanoseconds(self.delay)));
        self.task = (!self.is_over(now)).then_some(task);
        self.is_over(now)
    }
}

/// What both timers are to answer.
fn of_model(script: &[Call]) -> Vec<Answer> {
    let (mut now, mut clock, mut answers) = (0, 0, Vec::new());
    let mut wakes = [0; TASKS];
    let over = Wait { deadline: Some(0), ..Wait::default() };
    let (mut sleeps, mut timeouts) = ([over; SLOTS], [Wait::default(); SLOTS]);
    let mut period = 1_000_000_000;
    let mut tick = Wait { deadline: Some(period), ..over };
    for call in script {
        let after = |delay: Duration| Some(u64::saturating_add(now, nanoseconds(delay)));
        let at = |time: Duration| Some(nanoseconds(time));
        match *call {
            Call::Sleep(nth, delay) => sleeps[nth] = Wait { deadline: after(delay), ..over },
            Call::SleepUntil(nth, time) => sleeps[nth] = Wait { deadline: at(time), ..over },
            Call::PollSleep(nth, hand) => answers.push(Answer::Slept(sleeps[nth].poll(now, 2 * nth + hand))),
            Call::Reset(nth, time) => sleeps[nth].deadline = at(time),
            Call::Timeout(nth, delay) | Call::TimeoutOwned(nth, delay) => {
                timeouts[nth] = Wait { delay, ..Wait::default() };
            }
            Call::TimeoutAt(nth, time) => timeouts[nth] = Wait { deadline: at(time), ..over },
            Call::PollTimeout(nth) => {
                let timeout = &mut timeouts[nth];
                answers.push(Answer::TimedOut(if timeout.is_answered {
                    // The future comes first, and then the timer keeps no place for it.
                    timeout.task = None;
                    Poll::Ready(false)
                } else if timeout.poll(now, 2 * SLOTS + nth) {
                    Poll::Ready(true)
                } else {
                    Poll::Pending
                }));
            }
            Call::Answer(nth) => timeouts[nth].is_answered = true,
            Call::Interval(time) => {
                period = nanoseconds(time);
                tick = Wait { deadline: after(time), ..over };
            }
            Call::IntervalAt(start, time) => {
                period = nanoseconds(time);
                tick = Wait { deadline: at(start), ..over };
            }
            Call::Tick => {
                let is_due = tick.poll(now, 3 * SLOTS);
                answers.push(Answer::Ticked(is_due));
                if let Some(due) = tick.deadline.filter(|_| is_due) {
                    // At whole periods, however late it is.
                    let periods = (now - due) / period + 1;
                    tick.deadline = Some(due.saturating_add(periods.saturating_mul(period)));
                }
            }
            Call::ResetInterval => tick.deadline = Some(now.saturating_add(period)),
            Call::Pass(time) => clock = (clock + nanoseconds(time)).min(NEVER - 1),
            Call::GoBack(to) => clock = nanoseconds(to),
        }
        // One that goes back counts as stopped.
        now = now.max(clock);
        let mut wakers = [0; TASKS];
        for wait in sleeps.iter_mut().chain(&mut timeouts).chain([&mut tick]) {
            let is_over = wait.is_over(now);
            wait.task.take_if(|_| is_over).into_iter().for_each(|task| wakes[task] += 1);
            wait.task.into_iter().for_each(|task| wakers[task] += 1);
        }
        answers.push(Answer::Looked {
            is_elapsed: sleeps.iter().map(|sleep| sleep.is_over(now)).collect(),
            period: Duration::from_nanos(period),
            wakes: wakes.into(),
            wakers: wakers.into(),
            len: wakers.iter().sum(),
        });
    }
    answers
}

#[test]
fn futures_of_both_timers_answer_as_the_model_does() {
    check(3_000, 60, |script: Drawn<Call>| {
        let script = script.script();
        let expected = of_model(&script);
        assert_eq!(of_local_timer(&script), expected, "local left, model right");
        assert_eq!(of_timer(&script), expected, "timer left, model right");
    });
}
