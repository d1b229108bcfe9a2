//! One list through a slab, in the order in which timers come: what timers of one delay cost at least. It is the limit, not
//! a queue, as it is wrong where they come in any other order.

use slab::Slab;

use crate::queue::Need::{self, Budget, Clear, Delays};
use crate::queue::{Order, Queue};

/// No node.
const NIL: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node {
    deadline: u64,
    value: u32,
    prev: u32,
    next: u32,
}

#[derive(Clone, Debug)]
pub struct OneList {
    nodes: Slab<Node>,
    head: u32,
    tail: u32,
}

impl OneList {
    /// Links a node behind the last.
    #[inline]
    fn link(&mut self, node: u32) {
        match self.nodes.get_mut(self.tail as usize) {
            Some(tail) => tail.next = node,
            None => self.head = node,
        }
        self.tail = node;
    }

    #[inline]
    fn unlink(&mut self, prev: u32, next: u32) {
        match self.nodes.get_mut(prev as usize) {
            Some(node) => node.next = next,
            None => self.head = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(node) => node.prev = prev,
            None => self.tail = prev,
        }
    }

    #[inline]
    fn take(&mut self, node: u32) -> Option<Node> {
        let taken = self.nodes.try_remove(node as usize)?;
        self.unlink(taken.prev, taken.next);
        Some(taken)
    }
}

impl Queue for OneList {
    const NAME: &'static str = "list";
    const ORDER: Order = Order::FirstComeFirstServed;
    const LACKS: &'static [Need] = &[Budget, Clear, Delays];
    type Key = u32;

    fn new(_now: u64) -> Self {
        Self { nodes: Slab::new(), head: NIL, tail: NIL }
    }

    #[inline]
    fn schedule(&mut self, deadline: u64, value: u32) -> u32 {
        let node = self.nodes.insert(Node { deadline, value, prev: self.tail, next: NIL }) as u32;
        self.link(node);
        node
    }

    #[inline]
    fn cancel(&mut self, key: u32) -> Option<u32> {
        self.take(key).map(|node| node.value)
    }

    #[inline]
    fn reschedule(&mut self, key: &mut u32, deadline: u64) -> bool {
        let Some(&Node { prev, next, .. }) = self.nodes.get(*key as usize) else {
            return false;
        };
        self.unlink(prev, next);
        let tail = self.tail;
        let node = &mut self.nodes[*key as usize];
        (node.deadline, node.prev, node.next) = (deadline, tail, NIL);
        self.link(*key);
        true
    }

    #[inline]
    fn pop_first(&mut self) -> Option<(u64, u32)> {
        self.take(self.head).map(|node| (node.deadline, node.value))
    }

    #[inline]
    fn pop_expired(&mut self, now: u64) -> Option<(u64, u32)> {
        let is_due = self.nodes.get(self.head as usize).is_some_and(|first| first.deadline <= now);
        is_due.then(|| self.pop_first())?
    }
}
