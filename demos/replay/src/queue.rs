//! The queues of timers that a cache can expire by.
//!
//! A timer that fired or was cancelled leaves a stale key behind, which must change nothing. A cache on an index wheel might
//! keep a renewed deadline to itself and rearm the timer that fires too early. Timers of equal deadline would then fire in
//! another order than on the other queues, so the wheel is told of every renewal.

use timer_wheel_bench::queue::InLane;
use timer_wheel_bench::{BTreeQueue, TextbookWheel};

use crate::trace::KeyId;

pub(crate) use timer_wheel_bench::queue::Indexed as Index;

/// An ordered map, with all the wheel's features: keys that are never mistaken, and first in first out among equals.
pub(crate) type BTree = BTreeQueue<KeyId>;

/// The wheel of linked lists: what other wheels do.
pub(crate) type Textbook<G> = TextbookWheel<KeyId, G>;

/// The wheel itself.
pub(crate) type Wheel<G> = timer_wheel::Wheel<KeyId, G>;

/// The wheel with a lane for all timers.
pub(crate) type Lane<G> = InLane<KeyId, G>;
