//! The last news of a store, for readers that ask for them again and again.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::News;

/// How many news there are at most.
const LENGTH: usize = 1 << 14;

/// How long a reader waits for news.
const WAIT: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub(super) struct Backlog(watch::Sender<Last>);

#[derive(Default)]
struct Last {
    news: VecDeque<News>,
    /// The number of the next one.
    next: u64,
}

impl Backlog {
    pub(super) fn tell(&self, news: &[News]) {
        self.0.send_if_modified(|last| {
            last.next += news.len() as u64;
            last.news.extend(news);
            last.news.drain(..last.news.len().saturating_sub(LENGTH));
            !news.is_empty()
        });
    }

    /// The number of the next news.
    pub(super) fn next(&self) -> u64 {
        self.0.borrow().next
    }

    /// The news from a number on, which may be none, and the number of the next. `None` if the first of them are forgotten.
    pub(super) async fn since(&self, number: u64) -> Option<(u64, Vec<News>)> {
        let mut reader = self.0.subscribe();
        let Ok(Ok(last)) = timeout(WAIT, reader.wait_for(|last| last.next > number)).await else {
            return Some((number, Vec::new()));
        };
        let skipped = number.checked_sub(last.next - last.news.len() as u64)?;
        Some((last.next, last.news.iter().skip(skipped as usize).copied().collect()))
    }
}
