//! Sessions that end when they have not been heard of for a while, in one task: the queue is a
//! stream that the task polls beside its messages, with no thread or task of its own.
//!
//! In a package beside the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features tokio && cargo add tokio@1 --features macros,rt,sync,test-util,time`

use std::collections::HashMap;
use std::future::poll_fn;
use std::time::Duration;

use timer_wheel::{DelayQueue, delay_queue}; // in place of tokio_util::time::{..}
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Sessions {
    keys: HashMap<&'static str, delay_queue::Key>,
    timeouts: DelayQueue<&'static str>,
}

impl Sessions {
    /// Begins a session, or postpones its end.
    fn hear(&mut self, name: &'static str) {
        match self.keys.get(name) {
            Some(key) => self.timeouts.reset(key, TIMEOUT),
            None => {
                let key = self.timeouts.insert(name, TIMEOUT);
                self.keys.insert(name, key);
            }
        }
    }

    /// Takes in messages until there are no more, and says which sessions ended and when.
    async fn serve(mut self, mut messages: mpsc::Receiver<&'static str>) -> Vec<(&'static str, u64)> {
        let start = Instant::now();
        let mut ended = Vec::new();
        loop {
            // An empty queue answers `None`, and its branch is skipped until the next message.
            tokio::select! {
                Some(name) = messages.recv() => self.hear(name),
                Some(expired) = poll_fn(|cx| self.timeouts.poll_expired(cx)) => {
                    self.keys.remove(expired.get_ref());
                    ended.push((expired.into_inner(), start.elapsed().as_secs()));
                }
                else => return ended,
            }
        }
    }
}

// The clock stands still until every task sleeps, and jumps then: a minute takes no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let (sender, messages) = mpsc::channel(1);
    let server = tokio::spawn(Sessions::default().serve(messages));
    for (seconds, name) in [(0, "anna"), (5, "ben"), (20, "anna"), (2, "cleo")] {
        sleep(Duration::from_secs(seconds)).await;
        sender.send(name).await.expect("the server takes messages");
    }
    drop(sender);

    let ended = server.await.expect("the server does not panic");
    for (name, seconds) in &ended {
        println!("{name:5} ended after {seconds} s");
    }
    // Anna was heard of again after 25 s.
    assert_eq!(ended, [("ben", 35), ("anna", 55), ("cleo", 57)]);
}
