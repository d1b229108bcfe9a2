//! The program with a BTreeSet, which cannot move a timer of a key that it does not know.

use std::collections::BTreeSet;
use std::io;

use timer_wheel_code_size::{Queue, run};

#[derive(Default)]
struct Tree {
    timers: BTreeSet<(u64, u32)>,
    now: u64,
}

impl Queue for Tree {
    type Key = (u64, u32);

    fn new(now: u64) -> Self {
        Self { timers: BTreeSet::new(), now }
    }

    fn schedule(&mut self, deadline: u64, value: u32) -> (u64, u32) {
        self.timers.insert((deadline, value));
        (deadline, value)
    }

    fn cancel(&mut self, key: (u64, u32)) -> Option<u32> {
        self.timers.remove(&key).then_some(key.1)
    }

    fn reschedule(&mut self, key: &mut (u64, u32), deadline: u64) -> bool {
        let is_known = self.timers.remove(key);
        key.0 = deadline;
        is_known && self.timers.insert(*key)
    }

    fn advance(&mut self, now: u64, mut fire: impl FnMut(u64, u32)) {
        self.now = self.now.max(now);
        while self.timers.first().is_some_and(|&(deadline, _)| deadline <= self.now) {
            self.timers.pop_first().into_iter().for_each(|(deadline, value)| fire(deadline, value));
        }
    }

    fn expiration_delay(&self) -> Option<u64> {
        let &(deadline, _) = self.timers.first()?;
        Some(deadline.saturating_sub(self.now))
    }
}

fn main() -> io::Result<()> {
    run::<Tree>()
}
