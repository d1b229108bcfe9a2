//! The textbook wheel against the ordered set: one random script, every answer compared.

use timer_wheel::{Caffeine, Geometry, Millis};

use super::{TextbookKey, TextbookWheel};
use crate::btree::{BTreeKey, BTreeQueue};
use crate::queue::{Cancel, Counted, Pop, Queue, Reschedule, Wakes};
use crate::workload::XorShift64Star;

/// Runs each call on both and insists on equal answers.
struct Pair<G: Geometry> {
    wheel: TextbookWheel<u32, G>,
    queue: BTreeQueue<u32>,
    /// Keys are kept after their timers are gone, to see that both refuse them.
    keys: Vec<(TextbookKey, BTreeKey)>,
    now: u64,
    next_value: u32,
}

impl<G: Geometry> Pair<G> {
    fn new(now: u64) -> Self {
        Self {
            wheel: TextbookWheel::new(now),
            queue: BTreeQueue::new(now),
            keys: Vec::new(),
            now,
            next_value: 0,
        }
    }

    fn schedule(&mut self, deadline: u64) {
        let value = self.next_value;
        self.next_value += 1;
        self.keys.push((
            self.wheel.schedule(deadline, value),
            self.queue.schedule(deadline, value),
        ));
    }

    fn cancel(&mut self, chosen: usize) {
        let (of_wheel, of_queue) = self.keys[chosen];
        assert_eq!(self.wheel.cancel(of_wheel), self.queue.cancel(of_queue));
    }

    fn reschedule(&mut self, chosen: usize, deadline: u64) {
        let (of_wheel, of_queue) = &mut self.keys[chosen];
        assert_eq!(
            self.wheel.reschedule(of_wheel, deadline),
            self.queue.reschedule(of_queue, deadline)
        );
    }

    fn pop(&mut self, now: u64) {
        self.now = self.now.max(now);
        assert_eq!(self.wheel.pop_expired(now), self.queue.pop_expired(now));
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        let mut of_wheel = Vec::new();
        let mut of_queue = Vec::new();
        self.wheel
            .advance(now, |deadline, value| of_wheel.push((deadline, value)));
        self.queue
            .advance(now, |deadline, value| of_queue.push((deadline, value)));
        assert_eq!(of_wheel, of_queue);
    }

    fn compare(&self) {
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

fn run_script<G: Geometry>(seed: u64, calls: u32) {
    let mut random = XorShift64Star::with_seed(seed);
    let start = if seed % 3 == 0 {
        random.next_u64() >> 8
    } else {
        0
    };
    let mut pair = Pair::<G>::new(start);
    pair.schedule(u64::MAX);
    for _ in 0..calls {
        let chosen = random.below(pair.keys.len() as u64) as usize;
        match random.below(16) {
            0..7 => pair.schedule(deadline(&mut random, pair.now)),
            7 => pair.cancel(chosen),
            8..11 => pair.reschedule(chosen, deadline(&mut random, pair.now)),
            11 => pair.advance(pair.now.saturating_sub(jump(&mut random))),
            12 => pair.pop(pair.now.saturating_add(jump(&mut random))),
            13 => pair.pop(pair.now),
            14 => {
                if let Some(wake) = pair.wheel.next_wake().filter(|&wake| wake < u64::MAX) {
                    pair.advance(wake);
                }
            }
            _ => pair.advance(pair.now.saturating_add(jump(&mut random))),
        }
        pair.compare();
    }
    pair.advance(u64::MAX);
    assert_eq!((pair.wheel.len(), pair.queue.len()), (0, 0));
}

#[test]
fn random_scripts_in_millis_agree_with_the_set() {
    for seed in 1..=300 {
        run_script::<Millis>(seed, 400);
    }
}

#[test]
fn random_scripts_in_caffeine_agree_with_the_set() {
    for seed in 1..=300 {
        run_script::<Caffeine>(seed, 400);
    }
}

#[test]
fn wakes_followed_to_the_end_fire_every_timer() {
    let mut wheel = TextbookWheel::<u32>::new(0);
    for power in 0..56 {
        wheel.schedule(1 << power, power);
    }
    let mut fired = Vec::new();
    // A wake moves a timer down a level, fires one, or enters one of the 2^(55 - 52) rotations.
    for _ in 0..56 * 6 + 8 {
        let Some(wake) = wheel.next_wake() else { break };
        wheel.advance(wake, |_, power| fired.push(power));
    }
    assert!(fired.into_iter().eq(0..56));
}

#[test]
fn schedule_in_the_current_tick_fires_in_order_of_the_nanosecond() {
    let mut wheel = TextbookWheel::<u32>::new(0);
    wheel.schedule(300, 3);
    wheel.schedule(100, 1);
    wheel.schedule(300, 4);
    wheel.schedule(200, 2);
    assert_eq!(wheel.pop_expired(99), None);
    assert_eq!(wheel.pop_expired(250), Some((100, 1)));
    assert_eq!(wheel.pop_expired(250), Some((200, 2)));
    assert_eq!(wheel.pop_expired(250), None);
    wheel.schedule(0, 0);
    assert_eq!(wheel.pop_expired(300), Some((0, 0)));
    assert_eq!(wheel.pop_expired(300), Some((300, 3)));
    assert_eq!(wheel.pop_expired(300), Some((300, 4)));
}

#[test]
fn key_of_a_reused_slot_is_refused() {
    let mut wheel = TextbookWheel::<u32>::new(0);
    let mut stale = wheel.schedule(5, 1);
    assert_eq!(wheel.cancel(stale), Some(1));
    let fresh = wheel.schedule(5, 2);
    assert_eq!(wheel.cancel(stale), None);
    assert!(!wheel.reschedule(&mut stale, 9));
    assert_eq!(wheel.cancel(fresh), Some(2));
}
