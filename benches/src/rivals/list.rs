//! One list through a slab, in the order in which timers come: what timers of one delay cost at least. It is the limit, not
//! a queue, as it is wrong where they come in any other order.

use crate::queue::Need::{self, Budget, Clear, Delays};
use crate::queue::{Order, Queue};
use crate::textbook::{BucketIndex, Lists, NodeIndex};

/// The lists of a textbook wheel with a single bucket.
#[derive(Debug)]
pub struct OneList(Lists<u32>);

const ONLY: BucketIndex = BucketIndex(0);

impl Queue for OneList {
    const NAME: &'static str = "list";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Budget, Clear, Delays];
    type Key = u32;

    fn new(_now: u64) -> Self {
        Self(Lists::new(1))
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        self.0.insert(ONLY, deadline, 0, value).0
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        let node = NodeIndex(key);
        self.0.get(node)?;
        self.0.remove(node).0.value
    }

    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let node = NodeIndex(*key);
        let is_live = self.0.get(node).is_some();
        if is_live {
            self.0.unlink(node);
            self.0[node].deadline = deadline;
            self.0.link(node, ONLY);
        }
        is_live
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        let (first, _) = self.0.remove(self.0.first(ONLY)?);
        first.value.map(|value| (first.deadline, value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let first = self.0.first(ONLY)?;
        (self.0[first].deadline <= now).then(|| self.pop_first())?
    }
}
