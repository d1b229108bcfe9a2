//! No call takes long: whatever lies ahead, a call costs what fires, what its tick holds and its share of
//! what must be moved for the future. Each test counts work, in units of a budget that is never used up.

use timer_wheel::{Budget, Compact, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::geometries::{Tiny, TinyTick, far_work};
use crate::rng::Rng;
use crate::script::spans;

pub(crate) const TICK: u64 = 1 << 20;

const SECOND: u64 = 1_000_000_000;

const MILLISECOND: u64 = 1_000_000;

/// A bucket of [`Millis`] with more timers is crowded.
pub(crate) const FEW: usize = 512;

/// What one call has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call {
    pub(crate) fired: usize,
    pub(crate) units: usize,
}

impl Call {
    /// What was done beside collecting and firing what was due.
    pub(crate) fn ahead(self) -> usize {
        self.units.saturating_sub(2 * self.fired)
    }
}

/// One advance, without a budget.
pub(crate) fn advance<T, G: Geometry>(wheel: &mut Wheel<T, G>, to: u64) -> Call {
    let mut budget = Budget::unlimited();
    let fired: Vec<u64> = wheel.advance_with_budget(to, &mut budget).map(|item| item.deadline).collect();
    assert!(fired.is_sorted(), "out of order");
    assert!(!wheel.has_backlog());
    Call { fired: fired.len(), units: usize::MAX - budget.work }
}

/// Timers 60 to 180 s ahead, an advance each millisecond for four minutes, and another timer for each
/// that fires. Says how much work the longest call has done beside firing.
fn pause_mix<G: Geometry>(timers: u64, mut disturb: impl FnMut(&mut Wheel<u64, G>, &mut [TimerKey], u64)) -> usize {
    let mut numbers = Rng(42);
    let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
    let mut delay = move || 60 * SECOND + numbers.below(120 * SECOND);
    let mut keys: Vec<TimerKey> = (0..timers).map(|n| wheel.schedule(delay(), n)).collect();
    let (mut longest, mut units, mut fired) = (0, 0, 0);
    for step in 1..240_000 {
        disturb(&mut wheel, &mut keys, step);
        let now = step * MILLISECOND;
        let mut budget = Budget::unlimited();
        let values: Vec<u64> = wheel.advance_with_budget(now, &mut budget).map(|item| item.value).collect();
        assert!(!wheel.has_backlog());
        let call = Call { fired: values.len(), units: usize::MAX - budget.work };
        longest = longest.max(call.ahead());
        units += call.units;
        fired += call.fired;
        for value in values {
            keys[value as usize] = wheel.schedule(now + delay(), value);
        }
    }
    assert!(fired as u64 > timers, "{fired} fired");
    // Most are moved down once or twice and then brought up with few others, and fire.
    let most = 4 * (fired + wheel.len());
    assert!(units <= most, "{units} units in all");
    longest
}

/// The longest call of 20,000 timers: a share of each level's crowd, and a bucket of few timers, whole.
pub(crate) const LONGEST: usize = FEW;

/// Caffeine and this project's own first core: a coarse bucket was emptied at one go, which was a pause of
/// 32 ms for a million timers.
#[test]
fn pause_mix_has_no_call_that_moves_a_whole_crowd() {
    let longest = [
        pause_mix::<Millis>(20_000, |_, _, _| {}),
        pause_mix::<Compact>(20_000, |_, _, _| {}),
        pause_mix::<Micros>(20_000, |_, _, _| {}),
        pause_mix::<Millis>(100_000, |_, _, _| {}).div_ceil(2),
    ];
    assert!(longest.iter().all(|longest| *longest <= LONGEST), "{longest:?} units");
}

/// Ours: one timer that had been postponed sent a whole cascade the slow way. Here one is, or one of a thousand time and
/// again, or these are cancelled and come anew.
#[test]
fn pause_mix_with_timers_postponed_or_cancelled_has_no_longer_call() {
    type Disturb = fn(&mut Wheel<u64>, &mut [TimerKey], u64);
    let disturbances: [Disturb; 3] = [
        |wheel, keys, step| {
            let deadline = wheel.deadline(keys[77]).expect("as many live as ever");
            assert!(step != 100 || wheel.reschedule(keys[77], deadline + 100 * SECOND));
        },
        |wheel, keys, step| {
            for &key in keys.iter().step_by(1_000).filter(|_| step % 1_000 == 0) {
                let deadline = wheel.deadline(key).expect("as many live as ever");
                assert!(wheel.reschedule(key, deadline + SECOND));
            }
        },
        |wheel, keys, step| {
            for key in keys.iter_mut().step_by(1_000).filter(|_| step % 1_000 == 0) {
                let value = wheel.cancel(*key).expect("as many live as ever");
                *key = wheel.schedule(wheel.now() + 100 * SECOND, value);
            }
        },
    ];
    for disturb in disturbances {
        let longest = pause_mix::<Millis>(20_000, disturb);
        assert!(longest <= LONGEST, "{longest} units");
    }
}

/// Ours: an advance that stopped in a rotation of the top level walked all far timers, each time. One that jumps over all
/// rotations looks at each timer as often.
#[test]
fn stops_in_each_far_rotation_and_a_jump_over_all_look_at_each_timer_once_a_bit() {
    fn check<G: Geometry>(rotations: u64) {
        let [.., rotation] = spans::<G>();
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(0);
        let fires = |n: u64| n * rotation + n % rotation;
        for n in 1..=rotations {
            wheel.schedule(fires(n), n);
            wheel.schedule(u64::MAX - n, 0);
        }
        let most = far_work::<G>(rotations);
        let jump = advance(&mut wheel.clone(), fires(rotations));
        assert!(jump.fired as u64 == rotations && jump.units <= most, "{jump:?}, {most} units allowed");
        let mut units = 0;
        for n in 1..=rotations {
            let to = advance(&mut wheel, n * rotation);
            let call = advance(&mut wheel, fires(n));
            assert_eq!(to.fired + call.fired, 1);
            units += to.units + call.units;
        }
        assert!(units <= most, "{units} units, {most} allowed");
        assert_eq!(wheel.len() as u64, rotations);
    }
    check::<Compact>(20_000);
    check::<Millis>(2_000);
    check::<Micros>(2_000);
    check::<Tiny>(20_000);
    check::<TinyTick>(500);
}

/// A cache that evicts the earliest entry for each that it writes: a call opens one bucket at most that is no crowd.
#[test]
fn evictions_sort_a_bucket_and_no_other() {
    let (mut numbers, mut most) = (Rng(42), 0);
    let mut wheel: Wheel<u64> = Wheel::new(0);
    for n in 0..60_000 {
        if n >= 10_000 {
            let before = wheel.stats().near;
            assert!(wheel.pop_first().is_some());
            most = most.max((wheel.stats().near + 1).saturating_sub(before));
        }
        wheel.schedule(n * 1_000_000 + numbers.below(60 * SECOND), n);
    }
    assert!((1..=FEW).contains(&most), "{most} timers were sorted by one call");
}
