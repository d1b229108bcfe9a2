//! The program whose machine code `check` measures: it asks of a queue what it reads from its input.

#![forbid(unsafe_code)]

use std::io;

/// A queue of timers, or what stands in its place.
pub trait Queue {
    /// Names a timer.
    type Key: Copy;

    /// An empty queue at a time in nanoseconds.
    fn new(now: u64) -> Self;

    /// Schedules a value for a deadline in nanoseconds.
    fn schedule(&mut self, deadline: u64, value: u32) -> Self::Key;

    /// Gives the value back, or `None` if the key is stale.
    fn cancel(&mut self, key: Self::Key) -> Option<u32>;

    /// Moves a timer. `false` if the key is stale.
    fn reschedule(&mut self, key: &mut Self::Key, deadline: u64) -> bool;

    /// Fires every timer due by `now`, each with its deadline.
    fn advance(&mut self, now: u64, fire: impl FnMut(u64, u32));

    /// How many nanoseconds may pass before there is anything to do.
    fn expiration_delay(&self) -> Option<u64>;
}

/// Makes a call for each line of the input, which is a letter and two numbers, and prints the answer.
pub fn run<Q: Queue>() -> io::Result<()> {
    let mut queue = Q::new(0);
    let mut keys = Vec::new();
    for line in io::stdin().lines() {
        let line = line?;
        let mut words = line.split(' ');
        let call = words.next().unwrap_or_default();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        let (first, second) = (number(), number());
        let answer = match (call, keys.get_mut(first as usize)) {
            ("schedule", _) => {
                keys.push(queue.schedule(first, second as u32));
                Some(keys.len() as u64)
            }
            ("cancel", Some(key)) => queue.cancel(*key).map(u64::from),
            ("reschedule", Some(key)) => queue.reschedule(key, second).then_some(second),
            ("advance", _) => {
                queue.advance(first, |deadline, value| println!("{value} at {deadline}"));
                None
            }
            _ => queue.expiration_delay(),
        };
        println!("{answer:?}");
    }
    Ok(())
}
