//! A task that sleeps is woken, however it meets the timer thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::thread;

use super::{Bell, SECOND, model, timer};
use crate::timer::{Reason, Shutdown, Sleep};

struct Ring(Bell);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.0.ring();
    }
}

fn poll(sleep: &mut Sleep, bell: &Bell) -> Poll<Result<(), Reason>> {
    let waker = Waker::from(Arc::new(Ring(bell.clone())));
    Pin::new(sleep).poll(&mut Context::from_waker(&waker))
}

/// Polls with a new waker each time, until it is ready.
fn block_on(mut sleep: Sleep) -> Result<(), Reason> {
    let bell = Bell::new();
    match poll(&mut sleep, &bell) {
        Poll::Ready(result) => return result,
        Poll::Pending => {}
    }
    let other = Bell::new();
    match poll(&mut sleep, &other) {
        Poll::Ready(result) => result,
        Poll::Pending => {
            other.wait(1);
            match poll(&mut sleep, &other) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("it has been woken"),
            }
        }
    }
}

#[test]
fn sleep_whose_waker_changes_while_it_fires_wakes_the_last_or_is_ready() {
    model(|| {
        let (timer, clock) = timer();
        let sleep = timer.sleep(SECOND);
        let other = thread::spawn(move || clock.advance(SECOND));
        assert_eq!(block_on(sleep), Ok(()));
        other.join().unwrap();
        assert_eq!(timer.len(), 0);
    });
}

#[test]
fn sleep_dropped_while_it_fires_leaves_nothing_behind() {
    model(|| {
        let (timer, clock) = timer();
        let (bell, mut sleep) = (Bell::new(), timer.sleep(SECOND));
        assert!(poll(&mut sleep, &bell).is_pending());
        clock.advance(SECOND);
        drop(sleep);
        assert_eq!(timer.len(), 0);
        timer.shutdown(Shutdown::Drain).unwrap();
        let stats = timer.stats();
        assert_eq!(stats.fired + stats.cancelled, 1);
    });
}

#[test]
fn sleep_during_a_shutdown_is_an_error_and_does_not_hang() {
    model(|| {
        let (timer, _clock) = timer();
        let sleep = timer.sleep(SECOND);
        let other = thread::spawn(move || timer.shutdown(Shutdown::Drain).unwrap().len());
        assert_eq!(block_on(sleep), Err(Reason::ShutDown));
        assert_eq!(other.join().unwrap(), 0, "no job");
    });
}
