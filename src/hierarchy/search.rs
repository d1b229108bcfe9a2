//! Looking through the timers in the order of time, without disturbing them.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use super::Hierarchy;
use crate::geometry::{Bucket, Geometry, Layout};
use crate::header::{Headers, Place};
use crate::heap::Ordered;
use crate::key::SlotIndex;

impl<G: Geometry> Hierarchy<G> {
    /// The deadline of the timer that is due next. See
    /// [`Wheel::next_deadline`](crate::Wheel::next_deadline) for what it costs.
    pub(crate) fn next_deadline<H: Headers>(&self, headers: &H) -> Option<u64> {
        self.next_deadline_within(headers, usize::MAX).flatten()
    }

    /// The same, unless that takes a look at more than `most` entries of lists: then `None`.
    pub(crate) fn next_deadline_within<H: Headers>(
        &self,
        headers: &H,
        mut most: usize,
    ) -> Option<Option<u64>> {
        let mut earliest = (self.ready() != 0).then(|| self.first_ready());
        let mut unread = self.first.bucket;
        while let Some(bucket) = unread {
            let start = Layout::<G>::start_ns(Layout::<G>::start(bucket));
            if earliest.is_some_and(|earliest| earliest <= start) {
                break;
            }
            most = most.checked_sub(self.buckets.list(bucket).len())?;
            let slots = self.buckets.slices(bucket).flatten();
            let least = slots.map(|&slot| headers.header(slot).deadline).min();
            earliest = earliest.into_iter().chain(least).min();
            unread = self.bucket_after(unread);
        }
        Some(earliest)
    }

    /// All timers, of which the heap hands out the latest first. O(n): a timer that was put off may be later
    /// than those of any bucket behind its own, so all of them are read.
    pub(crate) fn latest_first<H: Headers>(&self, headers: &H) -> BinaryHeap<Ordered> {
        self.slots()
            .map(|slot| Ordered::of(headers, slot))
            .collect()
    }
}

/// A walk through all timers in the order in which they fire.
///
/// It reads a bucket when it has used up what comes before it. What it has read and not yet handed
/// out waits in a heap of its own; runs, which are sorted, are read as it goes.
#[derive(Clone)]
pub(crate) struct Ascent {
    waiting: BinaryHeap<Reverse<Ordered>>,
    unread: Option<Bucket>,
}

impl Ascent {
    /// O(k) for the k entries of the near heap.
    pub(crate) fn new<G: Geometry>(wheel: &Hierarchy<G>) -> Self {
        let firsts = wheel.heap.firsts();
        Self {
            waiting: firsts.map(|&first| Reverse(first)).collect(),
            unread: wheel.first.bucket,
        }
    }

    /// Lets some timers that are not in the wheel come along, each where its header says that it stands in
    /// the order. O(timers).
    #[cfg(feature = "ttl")]
    pub(crate) fn with<H: Headers>(
        mut self,
        headers: &H,
        slots: impl Iterator<Item = SlotIndex>,
    ) -> Self {
        self.waiting
            .extend(slots.map(|slot| Reverse(Ordered::of(headers, slot))));
        self
    }

    pub(crate) fn next<G: Geometry, H: Headers>(
        &mut self,
        wheel: &Hierarchy<G>,
        headers: &H,
    ) -> Option<SlotIndex> {
        while let Some(bucket) = self.unread {
            let start = Layout::<G>::start_ns(Layout::<G>::start(bucket));
            if self
                .waiting
                .peek()
                .is_some_and(|Reverse(next)| next.deadline < start)
            {
                break;
            }
            let slots = wheel.buckets.slices(bucket).flatten();
            self.waiting
                .extend(slots.map(|&slot| Reverse(Ordered::of(headers, slot))));
            self.unread = wheel.bucket_after(self.unread);
        }
        let Reverse(Ordered { slot, .. }) = self.waiting.pop()?;
        let header = headers.header(slot);
        if header.place == Place::RUN {
            let after = wheel.heap.after(header.position);
            self.waiting.extend(after.map(|&after| Reverse(after)));
        }
        Some(slot)
    }
}
