//! A small program: sessions that end when they have not been heard of for a while.

use std::collections::HashMap;
use std::future::poll_fn;
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep};

use super::{DelayQueue, delay_queue};
use crate::rig::paused;

const TIMEOUT: Duration = Duration::from_secs(30);

enum Message {
    Heard(&'static str),
    Left(&'static str),
}

#[derive(Default)]
struct Sessions {
    keys: HashMap<&'static str, delay_queue::Key>,
    timeouts: DelayQueue<&'static str>,
}

impl Sessions {
    fn take(&mut self, message: Message) {
        match message {
            Message::Heard(name) => {
                if let Some(key) = self.keys.get(name) {
                    self.timeouts.reset(key, TIMEOUT);
                } else {
                    let key = self.timeouts.insert(name, TIMEOUT);
                    self.keys.insert(name, key);
                }
            }
            Message::Left(name) => {
                if let Some(key) = self.keys.remove(name) {
                    self.timeouts.remove(&key);
                }
            }
        }
    }

    /// Says who timed out, and after how many seconds.
    async fn serve(mut self, mut messages: Receiver<Message>) -> Vec<(&'static str, u64)> {
        let start = Instant::now();
        let mut ended = Vec::new();
        loop {
            tokio::select! {
                Some(message) = messages.recv() => self.take(message),
                Some(expired) = poll_fn(|cx| self.timeouts.poll_expired(cx)) => {
                    self.keys.remove(expired.get_ref());
                    ended.push((expired.into_inner(), start.elapsed().as_secs()));
                }
                else => return ended,
            }
        }
    }
}

#[test]
fn program_runs_with_either_use_line() {
    let ended = paused(async {
        let (sender, receiver) = mpsc::channel(4);
        let server = tokio::spawn(Sessions::default().serve(receiver));
        for (wait, message) in [
            (0, Message::Heard("anna")),
            (5, Message::Heard("ben")),
            (5, Message::Heard("cleo")),
            (15, Message::Heard("anna")),
            (5, Message::Left("cleo")),
            (40, Message::Heard("dora")),
        ] {
            sleep(Duration::from_secs(wait)).await;
            assert!(sender.send(message).await.is_ok());
        }
        drop(sender);
        server.await.expect("the server does not panic")
    });
    assert_eq!(ended, [("ben", 35), ("anna", 55), ("dora", 100)]);
}
