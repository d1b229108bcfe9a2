//! What single-threaded runtimes write: an ordered map of wakers, in a cell.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::{DELAY, Timers};

type Place = (Instant, u64);

#[derive(Clone, Default)]
pub(super) struct BTreeTimer(Rc<RefCell<Queue>>);

#[derive(Default)]
struct Queue {
    wakers: BTreeMap<Place, Waker>,
    next_sequence: u64,
}

pub(super) struct BTreeSleep {
    timer: BTreeTimer,
    deadline: Instant,
    place: Option<Place>,
}

impl BTreeSleep {
    fn disarm(&mut self) -> Option<Waker> {
        let place = self.place.take()?;
        self.timer.0.borrow_mut().wakers.remove(&place)
    }

    fn arm(&mut self, waker: Waker) {
        let mut queue = self.timer.0.borrow_mut();
        let place = *self.place.insert((self.deadline, queue.next_sequence));
        queue.next_sequence += 1;
        queue.wakers.insert(place, waker);
    }
}

impl Future for BTreeSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline <= Instant::now() {
            return Poll::Ready(());
        }
        let stored = self.place.map(|place| self.timer.0.borrow().wakers[&place].will_wake(context.waker()));
        if stored != Some(true) {
            _ = self.disarm();
            self.arm(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for BTreeSleep {
    fn drop(&mut self) {
        _ = self.disarm();
    }
}

impl Timers for BTreeTimer {
    type Sleep = BTreeSleep;

    fn start() -> Self {
        Self::default()
    }

    fn sleep(&self, delay: Duration) -> BTreeSleep {
        BTreeSleep { timer: self.clone(), deadline: Instant::now() + delay, place: None }
    }

    fn reset(&self, mut sleep: Pin<&mut BTreeSleep>, delay: Duration) {
        let waker = sleep.disarm();
        sleep.deadline = Instant::now() + delay;
        waker.into_iter().for_each(|waker| sleep.arm(waker));
    }

    async fn timeout<F: Future<Output = u32>>(&self, future: F) -> Result<u32, impl Sized> {
        let (mut future, mut sleep) = (pin!(future), None);
        std::future::poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            Pin::new(sleep.get_or_insert_with(|| self.sleep(DELAY))).poll(context).map(Err)
        })
        .await
    }

    async fn turn(&self) {
        let due = {
            let mut queue = self.0.borrow_mut();
            let later = queue.wakers.split_off(&(Instant::now(), u64::MAX));
            std::mem::replace(&mut queue.wakers, later)
        };
        due.into_values().for_each(Waker::wake);
    }
}
