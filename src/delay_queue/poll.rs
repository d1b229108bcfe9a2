//! Waiting for the next item.

use core::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream};
use tokio::task::coop;

use crate::delay_queue::DelayQueue;
use crate::delay_queue::expired_item::ExpiredItem;
use crate::{Budget, Expired};

/// The most items that one advance moves within the wheel: some tens of microseconds of work.
const WORK_PER_ADVANCE: usize = 4096;

/// The result of an advance of the wheel.
enum Due<T> {
    Item(Expired<T>),
    /// The wheel must do more work to find the next item.
    Backlog,
    Nothing,
}

impl<T> DelayQueue<T> {
    /// Waits for the next item of a queue that is not empty.
    pub(super) fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<Expired<T>> {
        // The wheel asks to be advanced at most once per level before it has the next item.
        loop {
            // While the alarm is set for that time, there is no need to look at the clock.
            let next = self.next_advance();
            if next > self.wheel.now() && self.alarm.is_set_for(next) {
                ready!(self.alarm.poll_until(next, self.timeline, cx));
            }
            let coop = ready!(coop::poll_proceed(cx));
            match self.due_now() {
                Due::Item(timer) => {
                    coop.made_progress();
                    return Poll::Ready(timer);
                }
                Due::Backlog => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Due::Nothing => {
                    let next = self.next_advance();
                    ready!(self.alarm.poll_until(next, self.timeline, cx));
                }
            }
        }
    }

    fn due_now(&mut self) -> Due<T> {
        let (now, mut budget) = (self.timeline.now(), Budget::of_work(WORK_PER_ADVANCE));
        if let Some(timer) = self.wheel.peek_expired_with_budget(now, &mut budget) {
            return match timer.deadline() <= now {
                true => Due::Item(timer.remove()),
                // The wheel's time never goes back. tokio's does, when a runtime whose paused clock ran ahead is gone.
                false => Due::Nothing,
            };
        }
        match self.wheel.has_backlog() {
            true => Due::Backlog,
            false => Due::Nothing,
        }
    }

    pub(super) fn remember(&mut self, cx: &Context<'_>) {
        match &mut self.waiting {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waiting = Some(cx.waker().clone()),
        }
    }
}

impl<T> Stream for DelayQueue<T> {
    type Item = ExpiredItem<T>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ExpiredItem<T>>> {
        self.get_mut().poll_expired(cx)
    }
}

impl<T> FusedStream for DelayQueue<T> {
    /// Whether the queue is empty, so that a `select!` over streams skips it until an item is
    /// inserted. O(1).
    fn is_terminated(&self) -> bool {
        self.is_empty()
    }
}
