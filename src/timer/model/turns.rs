//! Callers that wait for a lock get it before the timer thread takes it again.
//!
//! `loom` does not explore that `try_lock` fails. So these callers behave as if it had failed, like a caller that
//! another one has just overtaken.

use std::boxed::Box;
use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use super::model;
use crate::clock::ManualClock;
use crate::sync::atomic::Ordering;
use crate::timer::shard::Shard;
use crate::timer::shared::Shared;

fn shard() -> Arc<Shard> {
    let shared = Shared::new(Box::new(ManualClock::new()), Box::new(|_| ()), 0, 0);
    Arc::new(Shard::new(Arc::new(shared), None))
}

/// Threads that wait for the lock of the shard `times` times each, and count the waits.
fn callers(shard: &Arc<Shard>, times: &[usize]) -> Vec<thread::JoinHandle<()>> {
    let caller = |times: &usize| {
        let (shard, times) = (Arc::clone(shard), *times);
        thread::spawn(move || (0..times).for_each(|_| shard.queue_after_waiting().scheduled += 1))
    };
    times.iter().map(caller).collect()
}

/// Does `pieces` pieces of work. Checks that the callers that wait at the end of a piece have had the lock when the
/// next begins.
fn work(shard: &Shard, pieces: usize) {
    let mut served = 0;
    for _ in 0..pieces {
        let queue = shard.queue_after_others();
        assert!(queue.served >= served, "{} of {served} waiting threads had the lock", queue.served);
        served = queue.served + shard.waiting.load(Ordering::Relaxed) as u64;
    }
}

/// No thread waits for ever, which would be a deadlock.
#[test]
fn callers_that_wait_are_let_in_before_the_next_piece() {
    model(|| {
        let shard = shard();
        let callers = callers(&shard, &[2, 1]);
        work(&shard, 3);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert_eq!(shard.queue().scheduled, 3);
    });
}

/// The callers let each other in: no timer thread runs here.
#[test]
fn callers_that_wait_for_each_other_need_no_thread() {
    model(|| {
        let shard = shard();
        let callers = callers(&shard, &[2, 1]);
        shard.queue().scheduled += 1;
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert_eq!((shard.queue().scheduled, shard.waiting.load(Ordering::Relaxed)), (4, 0));
    });
}
