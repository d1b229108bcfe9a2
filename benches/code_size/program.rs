//! The program whose machine code `check` measures: it asks of a queue what it reads from its input.

use std::io;

use timer_wheel_bench::queue::Queue;

/// Makes a call for each line of the input, which is a letter and two numbers, and prints the answer.
pub(crate) fn run<Q: Queue>() -> io::Result<()> {
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
            _ => queue.wake_at(),
        };
        println!("{answer:?}");
    }
    Ok(())
}
