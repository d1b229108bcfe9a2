//! The textbook wheel against the ordered set: one random script, every answer compared.

use timer_wheel::{Caffeine, Geometry, Millis};

use super::{TextbookKey, TextbookWheel};
use crate::btree::{BTreeKey, BTreeQueue};
use crate::queue::Queue;
use crate::workload::XorShift64Star;

/// Runs each call on both and insists on equal answers.
struct Pair<G: Geometry> {
    wheel: TextbookWheel<u32, G>,
    queue: BTreeQueue<u32>,
    /// Keys are kept after their timers are gone, to see that both refuse them.
    keys: Vec<(TextbookKey, BTreeKey)>,
    now: u64,
}

impl<G: Geometry> Pair<G> {
    fn schedule(&mut self, deadline: u64) {
        let value = self.keys.len() as u32;
        let of_wheel = self.wheel.schedule(deadline, value);
        self.keys.push((of_wheel, self.queue.schedule(deadline, value)));
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        let (mut of_wheel, mut of_queue) = (Vec::new(), Vec::new());
        self.wheel.advance(now, |deadline, value| of_wheel.push((deadline, value)));
        self.queue.advance(now, |deadline, value| of_queue.push((deadline, value)));
        assert_eq!(of_wheel, of_queue);
    }

    /// One call, chosen at random.
    fn call(&mut self, random: &mut XorShift64Star) {
        let chosen = random.below(self.keys.len() as u64) as usize;
        let (of_wheel, of_queue) = &mut self.keys[chosen];
        match random.below(16) {
            0..7 => self.schedule(deadline(random, self.now)),
            7 => assert_eq!(self.wheel.cancel(*of_wheel), self.queue.cancel(*of_queue)),
            8..11 => {
                let deadline = deadline(random, self.now);
                let was_live = self.queue.reschedule(of_queue, deadline);
                assert_eq!(self.wheel.reschedule(of_wheel, deadline), was_live);
            }
            11 => self.advance(self.now.saturating_sub(jump(random))),
            12 => {
                self.now = self.now.saturating_add(jump(random));
                let popped = self.queue.pop_expired(self.now);
                assert_eq!(self.wheel.pop_expired(self.now), popped);
            }
            13 => {
                if let Some(wake) = self.wheel.next_wake().filter(|&wake| wake < u64::MAX) {
                    self.advance(wake);
                }
            }
            _ => self.advance(self.now.saturating_add(jump(random))),
        }
        assert_eq!(self.wheel.len(), self.queue.len());
        match (self.wheel.next_wake(), self.queue.next_wake()) {
            (Some(early), Some(exact)) => assert!((self.now..=exact).contains(&early)),
            (of_wheel, of_queue) => assert_eq!(of_wheel, of_queue),
        }
    }
}

/// A deadline of any kind: near, far, past, on a boundary, or at either end of time.
fn deadline(random: &mut XorShift64Star, now: u64) -> u64 {
    match random.below(12) {
        0 => 0,
        1 => u64::MAX,
        2 => now,
        3 => random.below(now.max(1)),
        4 => random.next_u64(),
        5 => now.saturating_add(1 << random.below(64)),
        6 => (now >> 20).saturating_add(random.below(3)) << 20,
        _ => {
            let magnitude = random.below(50);
            now.saturating_add(random.below(1 << magnitude))
        }
    }
}

fn jump(random: &mut XorShift64Star) -> u64 {
    match random.below(40) {
        0 => random.next_u64() >> 2,
        1 => 0,
        2..10 => random.below(1 << 50),
        10..25 => random.below(1 << 30),
        _ => random.below(1 << 21),
    }
}

fn run_scripts<G: Geometry>() {
    for seed in 1..=300 {
        let mut random = XorShift64Star::with_seed(seed);
        let now = if seed % 3 == 0 { random.next_u64() >> 8 } else { 0 };
        let mut pair = Pair::<G> { wheel: TextbookWheel::new(now), queue: BTreeQueue::new(now), keys: Vec::new(), now };
        pair.schedule(u64::MAX);
        for _ in 0..400 {
            pair.call(&mut random);
        }
        pair.advance(u64::MAX);
        assert_eq!((pair.wheel.len(), pair.queue.len()), (0, 0));
    }
}

#[test]
fn random_scripts_in_millis_agree_with_the_set() {
    run_scripts::<Millis>();
}

#[test]
fn random_scripts_in_caffeine_agree_with_the_set() {
    run_scripts::<Caffeine>();
}
