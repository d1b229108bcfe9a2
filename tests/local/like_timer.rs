//! One script for the futures of `Timer` and those of `LocalTimer`, which answer alike.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

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
    PollSleep(usize),
    Reset(usize, Duration),
    Timeout(usize, Duration),
    TimeoutAt(usize, Duration),
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
        let (choice, nth) = (decoder.below(28), usize::from(decoder.byte()) % SLOTS);
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
            3..8 => Self::PollSleep(nth),
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
            _ => Self::GoBack(first.min(Duration::from_secs(1))),
        });
    }
}

/// What a poll, or a look, has answered.
#[derive(Debug, PartialEq)]
enum Answer {
    Slept(Poll<()>),
    TimedOut(Poll<bool>),
    Ticked(bool),
    Looked { is_elapsed: Vec<bool>, period: Duration, wakes: Vec<usize>, wakers: Vec<usize> },
}

type Answered = Arc<AtomicBool>;

fn answer(is_answered: Answered) -> impl Future<Output = ()> + Unpin {
    poll_fn(move |_| if is_answered.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending })
}

/// Runs the script on a timer. It is a macro because the two have no trait in common.
macro_rules! answers {
    ($script:expr, $clock:ident, $timer:ident, $turn:expr, $is_ok:expr) => {{
        let hands: [ManualExecutor; 2 * SLOTS + 1] = Default::default();
        let answered: [Cell<Answered>; SLOTS] = Default::default();
        let renew = |nth: usize| {
            let new = Answered::default();
            answered[nth].set(Arc::clone(&new));
            answer(new)
        };
        let mut sleeps = [(); SLOTS].map(|()| $timer.sleep(Duration::ZERO));
        let mut timeouts: Vec<_> = (0..SLOTS).map(|nth| Box::pin($timer.timeout(Duration::ZERO, renew(nth)))).collect();
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
                Call::PollSleep(nth) => answers.push(Answer::Slept(hands[nth].poll(&mut sleeps[nth]).map($is_ok))),
                Call::Reset(nth, at) => sleeps[nth].reset(far(at)),
                Call::Timeout(nth, delay) => timeouts[nth] = Box::pin($timer.timeout(delay, renew(nth))),
                Call::TimeoutAt(nth, at) => timeouts[nth] = Box::pin($timer.timeout_at(far(at), renew(nth))),
                Call::PollTimeout(nth) => {
                    let polled = hands[SLOTS + nth].poll(&mut timeouts[nth]);
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
                    let polled: Poll<_> = hands[2 * SLOTS].poll::<Pin<&mut _>>(&mut tick);
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
            });
        }
        answers
    }};
}

fn of_timer(script: &[Call]) -> Vec<Answer> {
    let clock = ManualClock::new();
    let timer = Timer::builder().clock(clock.clone()).shards(1).start().unwrap();
    answers!(script, clock, timer, timer.settle().unwrap(), |result| result.unwrap())
}

fn of_local_timer(script: &[Call]) -> Vec<Answer> {
    let clock = ManualClock::new();
    let timer = LocalTimer::new(clock.clone());
    answers!(script, clock, timer, timer.fire(clock.now(), &mut Budget::unlimited()), |()| ())
}

#[test]
fn futures_answer_as_those_of_a_timer_with_a_thread() {
    check(300, 60, |script: Drawn<Call>| {
        let script = script.script();
        assert_eq!(of_local_timer(&script), of_timer(&script));
    });
}
