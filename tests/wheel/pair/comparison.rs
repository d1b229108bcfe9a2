//! The comparison: whether a wheel can be told from its model.

use timer_wheel::inspect::Level;
use timer_wheel::{Geometry, TimerKey};

use super::{LEVELS, Pair};
use crate::geometries::few;

impl<G: Geometry> Pair<G> {
    /// Panics when the wheel can be told from its model.
    pub(crate) fn compare(&mut self) {
        self.rounds += 1;
        assert_eq!(self.wheel.len(), self.model.len(), "len");
        assert_eq!(self.wheel.is_empty(), self.model.is_empty(), "is_empty");
        assert_eq!(self.wheel.now(), self.model.now(), "now");
        assert!(self.wheel.capacity() >= self.wheel.len(), "capacity");
        self.compare_wake_up();
        self.compare_order();
        self.compare_stale_keys();
        self.compare_memory();
        self.wheel.check_invariants();
    }

    fn compare_wake_up(&mut self) {
        let next = self.model.next_deadline();
        assert_eq!(self.wheel.next_deadline(), next, "next_deadline");
        let exact = next.map(|deadline| deadline.saturating_sub(self.model.now()));
        let delay = self.wheel.expiration_delay();
        check_delay(delay, exact, "expiration_delay");
        let wake_at = delay.map(|delay| self.model.now() + delay);
        assert_eq!(self.wheel.wake_at(), wake_at, "wake_at");
        let has_backlog = self.wheel.has_backlog();
        assert_eq!(has_backlog, delay == Some(0), "a backlog must not sleep");
        assert!(has_backlog || !self.model.has_due(), "a backlog is denied");
        assert!(self.is_behind || !has_backlog || self.model.has_due(), "a backlog, and nothing is due");
        let ahead = (0..LEVELS).filter_map(|level| self.wheel.peek_ahead(level));
        let ahead = ahead.min();
        check_delay(ahead, exact, "peek_ahead");
        assert!(delay <= ahead, "told to sleep past a bucket that begins");
        // The wheel asks for no wake-up but for a bucket that begins, a timer, or a crowd.
        let levels = self.wheel.levels();
        let mut buckets = levels.iter().flat_map(|level| &level.buckets);
        let has_crowds = buckets.any(|&timers| timers > few::<G>());
        if !self.is_behind && !has_crowds {
            assert_eq!(delay, ahead, "woken up for nothing");
        }
        for level in [LEVELS, LEVELS + 1, 63, 64, usize::MAX] {
            assert_eq!(self.wheel.peek_ahead(level), None, "level {level}");
        }
        self.note(delay.unwrap_or(1));
        self.note(ahead.unwrap_or(1));
    }

    fn compare_order(&mut self) {
        let timers = self.model.ascending();
        let timers: Vec<_> = timers.map(|(key, it)| (key, it.deadline, it.value)).collect();
        let up = self.wheel.ascending();
        let up: Vec<_> = up.map(|it| (it.key, it.deadline, *it.value)).collect();
        assert_eq!(up, timers, "ascending left, model right");
        let down = self.wheel.descending();
        let down: Vec<_> = down.map(|it| (it.key, it.deadline, *it.value)).collect();
        assert!(down.iter().eq(timers.iter().rev()), "descending: {down:?}");
        let shown = self.wheel.iter();
        let mut shown: Vec<_> = shown.map(|it| (it.key, it.deadline, *it.value)).collect();
        shown.sort_unstable();
        up.iter().for_each(|timer| self.compare_key(timer.0));
        // The order knows nothing of those that are held.
        let mut sorted: Vec<_> = self.model.iter().map(|(key, it)| (key, it.deadline, it.value)).collect();
        sorted.sort_unstable();
        self.model.held().into_iter().for_each(|key| self.compare_key(key));
        assert_eq!(shown, sorted, "iter left, model right");
    }

    /// Looks at the latest keys and at a few of every age, and acts on the stale ones.
    fn compare_stale_keys(&mut self) {
        let latest = self.keys.len().saturating_sub(8)..self.keys.len();
        let older = (self.rounds % 31..self.keys.len()).step_by(31).take(12);
        let sample: Vec<TimerKey> = latest.chain(older).map(|at| self.keys[at]).collect();
        for key in sample {
            self.compare_key(key);
            if self.model.get(key).is_none() {
                assert_eq!(self.wheel.get_mut(key), None, "get_mut, stale {key:?}");
                assert_eq!(self.wheel.cancel(key), None, "cancel, stale {key:?}");
                let moved = self.wheel.reschedule(key, self.model.now()) || self.wheel.release(key);
                assert!(!moved, "reschedule or release, stale {key:?}");
            }
        }
    }

    pub(super) fn compare_key(&self, key: TimerKey) {
        let timer = self.model.get(key);
        assert_eq!(self.wheel.contains(key), timer.is_some(), "{key:?}");
        assert_eq!(self.wheel.get(key), timer.map(|timer| &timer.value));
        assert_eq!(self.wheel.deadline(key), timer.map(|timer| timer.deadline));
        let found = self.wheel.timer(key);
        let found = found.map(|timer| (timer.key, timer.deadline, *timer.value));
        assert_eq!(found, timer.map(|timer| (key, timer.deadline, timer.value)));
    }

    /// Memory follows the timers that live.
    fn compare_memory(&mut self) {
        let stats = self.wheel.stats();
        let live = self.model.len();
        assert_eq!(stats.timers, live, "timers counted");
        assert!(stats.slots >= live, "fewer slots than timers");
        let buckets: usize = stats.occupied.iter().sum();
        assert!(buckets <= live, "occupied buckets without timers");
        let levels = self.wheel.levels();
        let occupied = levels.each_ref().map(|level| level.buckets.iter().filter(|&&timers| timers != 0).count());
        assert_eq!(occupied, stats.occupied, "levels and statistics differ");
        for level in &levels {
            assert_eq!(level.timers, level.buckets.iter().sum::<usize>(), "a level holds what its buckets do");
        }
        let on_levels: usize = levels.iter().map(|level| level.timers).sum();
        assert_eq!(stats.held, self.model.held().len(), "held timers counted");
        assert_eq!(on_levels + stats.near + stats.held, live, "in a bucket, in the near heap or held");
        let [nearer @ .., far] = &levels;
        let is_ahead = |level: &Level| {
            let mut next_rotation = level.buckets.iter().skip(level.buckets.len() / 2);
            next_rotation.any(|&timers| timers != 0)
        };
        assert!(stats.lanes <= stats.near.min(self.lanes.into()), "a lane in use holds timers");
        self.in_lanes += usize::from(stats.lanes != 0);
        self.moved_ahead += usize::from(nearer.iter().any(is_ahead));
        self.far.iter_mut().zip(&far.buckets).for_each(|(found, &timers)| *found += usize::from(timers != 0));
        let last_key = self.keys.last().map_or(0, |key| key.to_bits());
        let counts = [stats.near, stats.held, stats.lanes, stats.slots].into_iter().chain(occupied);
        let counts: Vec<u64> = counts.map(|count| count as u64).collect();
        counts.into_iter().chain([last_key]).for_each(|it| self.note(it));
    }

    /// Adds a number to the trace, as FNV does.
    pub(super) fn note(&mut self, number: u64) {
        self.trace = (self.trace ^ number).wrapping_mul(0x100_0000_01B3).rotate_left(29);
    }
}

/// Early is allowed, late is not; nothing is said exactly when nothing is awaited.
pub(super) fn check_delay(delay: Option<u64>, exact: Option<u64>, what: &str) {
    match (delay, exact) {
        (Some(delay), Some(exact)) => assert!(delay <= exact, "{what}: {delay} for {exact}"),
        (None, None) => {}
        other => panic!("{what}: {other:?}"),
    }
}
