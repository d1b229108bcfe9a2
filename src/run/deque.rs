//! The entries of the run: a deque in pages, so that no call copies it to grow or gives all of it back.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::Range;

use crate::header::Ordered;
use crate::pages::Placeholder;

/// Entries on a page.
const PAGE: usize = 256;

type Entries = Box<[Ordered; PAGE]>;

#[derive(Clone, Debug)]
enum Page {
    Kept(Entries),
    /// All of it is within a hole: what is left is one entry that stands for any.
    Freed(Ordered),
}

/// Entries by their index, counted from the first. The position of an entry stays, whatever comes or goes
/// before it.
///
/// Invariant: a page holds the entries of positions from one multiple of its size to the next. The first
/// holds that of the first entry, were there one, and the last that of the last entry.
#[derive(Clone, Debug)]
pub(super) struct Deque {
    pages: VecDeque<Page>,
    /// The position of the first entry.
    begin: u32,
    len: usize,
    /// A copy of the first entry, if there is one: it is asked for three times for each timer that fires.
    first: Ordered,
    /// For the next page that is needed.
    spare: Option<Entries>,
    /// Pages that are kept, with the spare one.
    kept: usize,
}

impl Default for Deque {
    fn default() -> Self {
        Self {
            pages: VecDeque::new(),
            begin: 0,
            len: 0,
            first: Ordered::PLACEHOLDER,
            spare: None,
            kept: 0,
        }
    }
}

impl Deque {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The heap memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kept * size_of::<[Ordered; PAGE]>() + self.pages.capacity() * size_of::<Page>()
    }

    /// The position of an index.
    #[inline]
    pub(super) fn position(&self, index: usize) -> u32 {
        self.begin.wrapping_add(index as u32)
    }

    /// The index of a position, which no entry need have.
    #[inline]
    pub(super) fn index(&self, position: u32) -> usize {
        position.wrapping_sub(self.begin) as usize
    }

    /// The page of an index, and which of its entries.
    #[inline]
    fn place(&self, index: usize) -> (usize, usize) {
        let nth = self.begin as usize % PAGE + index;
        (nth / PAGE, nth % PAGE)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Ordered> {
        if index >= self.len {
            return None;
        }
        let (page, nth) = self.place(index);
        Some(match self.pages.get(page)? {
            Page::Kept(entries) => &entries[nth],
            Page::Freed(any) => any,
        })
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&Ordered> {
        (self.len != 0).then_some(&self.first)
    }

    /// Takes note of the first entry, which may be another or have been changed.
    #[inline]
    pub(super) fn refresh_first(&mut self) {
        if let Some(Page::Kept(entries)) = self.pages.front() {
            self.first = entries[self.begin as usize % PAGE];
        }
    }

    pub(super) fn last(&self) -> Option<&Ordered> {
        self.get(self.len.checked_sub(1)?)
    }

    /// The entry of an index within bounds, to be changed; where the page has been freed, that for all.
    #[inline]
    pub(super) fn at_mut(&mut self, index: usize) -> &mut Ordered {
        let (page, nth) = self.place(index);
        match &mut self.pages[page] {
            Page::Kept(entries) => &mut entries[nth],
            Page::Freed(any) => any,
        }
    }

    /// The index of the first entry that is not before another. O(log n).
    pub(super) fn partition_point(&self, is_before: impl Fn(&Ordered) -> bool) -> usize {
        let (mut from, mut until) = (0, self.len);
        while from < until {
            let middle = from.midpoint(until);
            if self.get(middle).is_some_and(&is_before) {
                from = middle + 1;
            } else {
                until = middle;
            }
        }
        from
    }

    #[inline]
    pub(super) fn push_back(&mut self, entry: Ordered) {
        let (page, nth) = self.place(self.len);
        if page == self.pages.len() {
            let page = self.make_page();
            self.pages.push_back(page);
        }
        if let Some(Page::Kept(entries)) = self.pages.back_mut() {
            entries[nth] = entry;
            if self.len == 0 {
                self.first = entry;
            }
            self.len += 1;
        }
    }

    pub(super) fn push_front(&mut self, entry: Ordered) {
        if self.place(0).1 == 0 {
            let page = self.make_page();
            self.pages.push_front(page);
        }
        self.begin = self.begin.wrapping_sub(1);
        self.len += 1;
        *self.at_mut(0) = entry;
        self.first = entry;
    }

    #[cold]
    fn make_page(&mut self) -> Page {
        Page::Kept(self.spare.take().unwrap_or_else(|| {
            self.kept += 1;
            Box::new([Ordered::PLACEHOLDER; PAGE])
        }))
    }

    /// Forgets the first entry. O(1).
    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.begin = self.begin.wrapping_add(1);
        self.len -= 1;
        if self.begin as usize % PAGE == 0 {
            self.free_pages(0..1);
        }
        self.refresh_first();
    }

    /// Forgets so many entries from the first on. O(1), and O(pages) if they are many.
    pub(super) fn drop_first(&mut self, count: usize) {
        let (page, _) = self.place(count);
        self.begin = self.position(count);
        self.len -= count;
        if page != 0 {
            self.free_pages(0..page);
        }
        self.refresh_first();
    }

    /// Forgets all entries but so many from the first on. O(1), and O(pages) if they are many.
    pub(super) fn truncate(&mut self, len: usize) {
        let (page, nth) = self.place(len);
        self.len = len;
        self.free_pages(page + usize::from(nth != 0)..self.pages.len());
    }

    #[cold]
    fn free_pages(&mut self, range: Range<usize>) {
        for page in self.pages.drain(range) {
            match page {
                Page::Kept(entries) if self.spare.is_none() => self.spare = Some(entries),
                Page::Kept(_) => self.kept -= 1,
                Page::Freed(_) => {}
            }
        }
    }

    /// Frees the page of an entry if all of it is within a hole, of which these are the ends. O(1).
    #[inline]
    pub(super) fn free_within(&mut self, (start, end): (usize, usize), index: usize) {
        let [before, page, last] = [start, index, end].map(|index| self.place(index).0);
        if before < page && page < last {
            if let Page::Kept(entries) = &self.pages[page] {
                self.pages[page] = Page::Freed(entries[0]);
                self.kept -= 1;
            }
        }
    }

    /// Gives back spare memory.
    pub(super) fn shrink_to_fit(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
        self.kept -= usize::from(self.spare.take().is_some());
        self.pages.shrink_to_fit();
    }

    /// Checks the laws of the pages.
    ///
    /// # Panics
    ///
    /// If a law is broken, with its name.
    pub(super) fn check(&self) {
        let (page, nth) = self.place(self.len);
        assert!(
            self.pages.len() == page + usize::from(nth != 0),
            "there is a page for each position and none besides"
        );
        assert!(self.first() == self.get(0), "the first entry is known");
        let is_kept = |page: &&Page| matches!(page, Page::Kept(_));
        let kept = self.pages.iter().filter(is_kept).count();
        assert!(
            kept + usize::from(self.spare.is_some()) == self.kept,
            "the pages that are kept are counted"
        );
    }

    /// Checks that a hole, of which these are the ends, keeps no page.
    ///
    /// # Panics
    ///
    /// If one does.
    pub(super) fn check_hole(&self, start: usize, end: usize) {
        let between = self.place(start).0 + 1..self.place(end).0;
        let mut within = self
            .pages
            .range(between.start.min(between.end)..between.end);
        assert!(
            within.all(|page| matches!(page, Page::Freed(_))),
            "a page within a hole is freed"
        );
    }
}
