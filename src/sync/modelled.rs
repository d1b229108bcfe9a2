//! Parking for the model tests.
//!
//! In loom 0.7, `park` forgets an unpark if the thread takes a lock before it parks; in `std` it does not. So this one
//! is built from a lock and a condition variable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::sync::{Condvar, Mutex};
use loom::thread::ThreadId;

loom::thread_local! {
    static TOKEN: Arc<Token> = Arc::new(Token {
        is_there: Mutex::new(false),
        changed: Condvar::new(),
    });
}

loom::lazy_static! {
    static ref NEXT: AtomicUsize = AtomicUsize::new(0);
}

loom::thread_local! {
    static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

/// A number that the calling thread keeps: in each interleaving the first to ask has 0.
pub(crate) fn thread_number() -> usize {
    NUMBER.with(|number| *number)
}

/// Whether the next park returns at once.
struct Token {
    is_there: Mutex<bool>,
    changed: Condvar,
}

/// A thread that can be unparked.
#[derive(Clone)]
pub(crate) struct Thread {
    id: ThreadId,
    token: Arc<Token>,
}

impl Thread {
    pub(crate) fn id(&self) -> ThreadId {
        self.id
    }

    pub(crate) fn unpark(&self) {
        *self.token.is_there.lock().unwrap() = true;
        self.token.changed.notify_one();
    }
}

/// The part of `std::thread` that is used.
pub(crate) mod thread {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{TOKEN, Thread};

    pub(crate) use loom::thread::Builder;

    pub(crate) fn current() -> Thread {
        Thread { id: loom::thread::current().id(), token: TOKEN.with(Arc::clone) }
    }

    pub(crate) fn park() {
        let token = TOKEN.with(Arc::clone);
        let mut is_there = token.is_there.lock().unwrap();
        while !*is_there {
            is_there = token.changed.wait(is_there).unwrap();
        }
        *is_there = false;
    }

    /// In a model no time passes.
    pub(crate) fn park_timeout(_: Duration) {
        park();
    }
}
