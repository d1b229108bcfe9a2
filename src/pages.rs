//! An array that grows a page at a time and never moves what it holds.
//!
//! A vector that doubles copies everything it holds, which for ten million timers is a pause of
//! milliseconds in the middle of a `schedule`. A page is allocated once and stays where it is. Only
//! what is less than half a page grows by doubling, so that a small array stays small.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::{mem, slice};

/// Elements of more bytes are pages by themselves: a page of them would be made on the stack.
const MOST_BYTES: usize = 128;

/// What has a value that fills the room behind the last element.
pub(crate) trait Placeholder {
    /// A constant, so that a page of them is copied and not built.
    const PLACEHOLDER: Self;
}

/// Elements that begin at a cache line, so that one of half a line never straddles two.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Aligned<S, const COUNT: usize>([S; COUNT]);

impl<S: Placeholder, const COUNT: usize> Aligned<S, COUNT> {
    const NEW: Self = {
        assert!(
            size_of::<[S; COUNT]>() == size_of::<Self>() || !Pages::<S, COUNT, COUNT>::IS_SMALL,
            "the alignment costs no padding"
        );
        Self([S::PLACEHOLDER; COUNT])
    };
}

/// An array of `S` in pages of `PAGE` elements; while it is small, in groups of `GROUP`.
///
/// Invariant: small elements are in `groups` as long as half a page is enough, and then in `pages`,
/// large ones in `boxes`; there is room for `len` elements, and those behind them are left-overs.
#[derive(Clone, Debug)]
pub(crate) struct Pages<S, const GROUP: usize, const PAGE: usize> {
    pages: Vec<Box<Aligned<S, PAGE>>>,
    groups: Vec<Aligned<S, GROUP>>,
    boxes: Vec<Box<S>>,
    len: usize,
}

impl<S, const GROUP: usize, const PAGE: usize> Pages<S, GROUP, PAGE> {
    const IS_SMALL: bool = size_of::<S>() <= MOST_BYTES;

    /// Elements that need no page.
    const FEW: usize = PAGE / 2;

    pub(crate) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            groups: Vec::new(),
            boxes: Vec::new(),
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Elements that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.pages.len() * PAGE + self.groups.capacity() * GROUP + self.boxes.len()
    }

    /// The heap memory of the array, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tables = self.pages.capacity() + self.boxes.capacity();
        tables * size_of::<usize>() + self.capacity() * size_of::<S>()
    }

    /// The element at an index, unless there never was one.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&S> {
        match self.pages.get(index / PAGE) {
            Some(page) => Some(&page.0[index % PAGE]),
            None => self.get_apart(index),
        }
    }

    fn get_apart(&self, index: usize) -> Option<&S> {
        if !Self::IS_SMALL {
            return Some(self.boxes.get(index)?);
        }
        Some(&self.groups.get(index / GROUP)?.0[index % GROUP])
    }

    /// The element at an index, to be changed, unless there never was one.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut S> {
        match self.pages.get_mut(index / PAGE) {
            Some(page) => Some(&mut page.0[index % PAGE]),
            None if Self::IS_SMALL => {
                Some(&mut self.groups.get_mut(index / GROUP)?.0[index % GROUP])
            }
            None => Some(self.boxes.get_mut(index)?),
        }
    }

    /// The element at an index that is known to be within bounds.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &S {
        self.get(index).expect(WITHIN)
    }

    /// The element at an index that is known to be within bounds, to be changed.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut S {
        self.get_mut(index).expect(WITHIN)
    }

    /// Elements side by side, of which the last lies in the group of the first.
    #[inline]
    pub(crate) fn slice(&self, index: usize, len: usize) -> &[S] {
        match self.pages.get(index / PAGE) {
            Some(page) => &page.0[index % PAGE..][..len],
            None => &self.groups[index / GROUP].0[index % GROUP..][..len],
        }
    }

    /// All elements, to be changed, in order.
    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, S, GROUP, PAGE> {
        IterMut {
            pages: self.pages.iter_mut(),
            groups: self.groups.iter_mut(),
            boxes: self.boxes.iter_mut(),
            here: [].iter_mut(),
            left: self.len,
        }
    }

    /// Takes the last element off, which stays behind as a left-over. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.len != 0, "there is an element to take off");
        self.len -= 1;
    }

    /// Forgets all elements, which stay behind as left-overs. O(1).
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Drops the pages behind the last element, but for so many. O(pages dropped).
    #[inline]
    pub(crate) fn trim(&mut self, spare: usize) {
        self.pages.truncate(self.len.div_ceil(PAGE) + spare);
    }
}

/// The elements of an array, to be changed, in order.
pub(crate) struct IterMut<'a, S, const GROUP: usize, const PAGE: usize> {
    pages: slice::IterMut<'a, Box<Aligned<S, PAGE>>>,
    groups: slice::IterMut<'a, Aligned<S, GROUP>>,
    boxes: slice::IterMut<'a, Box<S>>,
    here: slice::IterMut<'a, S>,
    left: usize,
}

impl<'a, S, const GROUP: usize, const PAGE: usize> Iterator for IterMut<'a, S, GROUP, PAGE> {
    type Item = &'a mut S;

    fn next(&mut self) -> Option<&'a mut S> {
        self.left = self.left.checked_sub(1)?;
        if self.here.len() == 0 {
            let page = self.pages.next().map(|page| page.0.iter_mut());
            let group = || Some(self.groups.next()?.0.iter_mut());
            self.here = match page.or_else(group) {
                Some(here) => here,
                None => slice::from_mut(&mut **self.boxes.next()?).iter_mut(),
            };
        }
        self.here.next()
    }
}

/// The law that an index is not above one that was pushed.
const WITHIN: &str = "the index is of an element that was pushed";

impl<S: Placeholder, const GROUP: usize, const PAGE: usize> Pages<S, GROUP, PAGE> {
    /// Appends an element: a placeholder, or whatever was left over in its place. O(1), a page of
    /// memory at most.
    #[inline]
    pub(crate) fn push_any(&mut self) {
        if self.get(self.len).is_none() {
            self.grow();
        }
        self.len += 1;
    }

    /// Appends an element. As [`Pages::push_any`].
    #[inline]
    pub(crate) fn push(&mut self, element: S) {
        self.push_any();
        *self.at_mut(self.len - 1) = element;
    }

    #[inline(never)]
    fn grow(&mut self) {
        if !Self::IS_SMALL {
            self.boxes.push(Box::new(S::PLACEHOLDER));
        } else if self.pages.is_empty() && self.groups.len() * GROUP < Self::FEW {
            if self.groups.len() == self.groups.capacity() {
                // Doubled, so that a small array stays small.
                self.groups.reserve_exact(self.groups.len().max(1));
            }
            self.groups.push(Aligned::NEW);
        } else {
            let mut page = Box::new(Aligned::<S, PAGE>::NEW);
            let few = mem::take(&mut self.groups).into_iter();
            for (place, element) in page.0.iter_mut().zip(few.flat_map(|group| group.0)) {
                *place = element;
            }
            self.pages.push(page);
        }
    }

    /// Makes room for the pages of `additional` more elements, if they need any. O(1).
    pub(crate) fn reserve_table(&mut self, additional: usize) {
        let wanted = self.len.saturating_add(additional);
        if wanted > Self::FEW {
            let pages = wanted.div_ceil(PAGE);
            self.pages.reserve(pages.saturating_sub(self.pages.len()));
        }
    }

    /// Makes room for `additional` more elements. O(additional).
    pub(crate) fn reserve(&mut self, additional: usize) {
        let wanted = self.len.saturating_add(additional);
        if !Self::IS_SMALL {
            self.boxes.reserve(wanted.saturating_sub(self.boxes.len()));
        } else if self.pages.is_empty() && wanted <= Self::FEW {
            let groups = wanted.div_ceil(GROUP);
            self.groups
                .reserve_exact(groups.saturating_sub(self.groups.len()));
        } else {
            self.reserve_table(additional);
        }
        while self.capacity() < wanted {
            self.grow();
        }
    }

    /// Drops every element from `len` on, and gives back the memory that is not needed then.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.boxes.truncate(self.len);
        self.boxes.shrink_to_fit();
        self.trim(0);
        if self.len <= Self::FEW {
            // What is left needs no page.
            let few = self.pages.pop().into_iter().flat_map(|page| page.0);
            for (index, element) in few.take(self.len).enumerate() {
                if index % GROUP == 0 {
                    self.groups.push(Aligned::NEW);
                }
                self.groups[index / GROUP].0[index % GROUP] = element;
            }
        }
        self.pages.shrink_to_fit();
        self.groups.truncate(self.len.div_ceil(GROUP));
        self.groups.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache line of the smallest elements.
    const GROUP: usize = 16;
    const PAGE: usize = 64;

    type Paged<S> = Pages<S, GROUP, PAGE>;

    impl Placeholder for usize {
        const PLACEHOLDER: Self = 0;
    }

    impl Placeholder for [u64; 4] {
        const PLACEHOLDER: Self = [0; 4];
    }

    impl Placeholder for [u64; 100] {
        const PLACEHOLDER: Self = [0; 100];
    }

    #[test]
    fn elements_keep_their_places_while_pages_are_added_and_dropped() {
        let mut pages = Paged::new();
        let len = 2 * PAGE + 7;
        (0..len).for_each(|index| pages.push(index));
        assert!((0..len).all(|index| *pages.at(index) == index));
        assert_eq!(*pages.slice(PAGE + 8, 8), [72, 73, 74, 75, 76, 77, 78, 79]);
        for shorter in [2 * PAGE + 1, 2 * PAGE, PAGE + 9, 5, 0] {
            pages.truncate(shorter);
            assert_eq!(pages.len(), shorter);
            assert!((0..shorter).all(|index| *pages.at(index) == index));
            let room = if shorter <= PAGE / 2 { GROUP } else { PAGE };
            assert!(pages.capacity() < shorter + room, "pages are given back");
        }
        assert!(pages.get(0).is_none());
        (0..len).for_each(|index| pages.push(index));
        assert!((0..len).all(|index| *pages.at(index) == index));
    }

    #[test]
    fn nothing_on_a_page_moves_when_the_array_grows() {
        let mut pages: Paged<usize> = Pages::new();
        (0..PAGE).for_each(|index| pages.push(index));
        let addresses = |pages: &Paged<usize>, len: usize| -> alloc::vec::Vec<usize> {
            (0..len)
                .map(|index| core::ptr::from_ref(pages.at(index)).addr())
                .collect()
        };
        let before = addresses(&pages, PAGE);
        (PAGE..50 * PAGE).for_each(|index| pages.push(index));
        assert_eq!(addresses(&pages, PAGE), before);
    }

    #[test]
    fn small_array_grows_by_doubling_and_pages_are_made_whole() {
        let mut pages: Paged<usize> = Pages::new();
        for len in 1..=3 * PAGE {
            pages.push(len);
            let room = if len <= PAGE / 2 {
                len.next_power_of_two().max(GROUP)
            } else {
                len.next_multiple_of(PAGE)
            };
            assert_eq!(pages.capacity(), room, "{len} elements");
        }
    }

    #[test]
    fn reserve_makes_room_at_once() {
        let mut pages: Paged<usize> = Pages::new();
        pages.push(1);
        pages.reserve(3 * PAGE);
        let capacity = pages.capacity();
        assert_eq!(capacity, 4 * PAGE);
        (0..3 * PAGE).for_each(|index| pages.push(index));
        assert_eq!(pages.capacity(), capacity);
        pages.reserve(PAGE - 1);
        assert_eq!(pages.capacity(), capacity, "there is room for so many");
    }

    #[test]
    fn table_has_room_for_the_pages_that_may_come() {
        let mut pages: Paged<usize> = Pages::new();
        pages.push(1);
        pages.reserve_table(PAGE / 2 - 1);
        assert_eq!(pages.pages.capacity(), 0, "no page is needed");
        pages.reserve_table(40 * PAGE);
        assert!(pages.pages.capacity() >= 41);
        assert_eq!(pages.capacity(), GROUP, "the pages are made when they come");
    }

    #[test]
    fn large_elements_are_pages_by_themselves() {
        let mut pages: Paged<[u64; 100]> = Pages::new();
        (0..5).for_each(|value| pages.push([value; 100]));
        assert_eq!((pages.len(), pages.capacity()), (5, 5));
        assert!((0..5).all(|index| pages.at(index)[99] == index as u64));
        pages.truncate(2);
        assert!(pages.capacity() == 2 && pages.get(2).is_none());
        let table = pages.boxes.capacity() * size_of::<usize>();
        assert_eq!(pages.bytes(), table + 2 * 800);
    }

    #[test]
    fn bytes_are_those_of_the_pages_and_their_table() {
        let mut pages: Paged<usize> = Pages::new();
        assert_eq!(pages.bytes(), 0);
        pages.reserve(PAGE + 9);
        let table = pages.pages.capacity();
        assert!(table >= 1);
        assert_eq!(
            pages.bytes(),
            2 * PAGE * size_of::<usize>() + table * size_of::<usize>()
        );
    }

    #[test]
    fn trim_keeps_the_spare_pages_asked_for() {
        let mut pages: Paged<usize> = Pages::new();
        (0..5 * PAGE).for_each(|index| pages.push(index));
        (0..4 * PAGE).for_each(|_| pages.pop());
        pages.trim(1);
        assert_eq!((pages.len(), pages.capacity()), (PAGE, 2 * PAGE));
    }

    #[test]
    fn elements_of_half_a_cache_line_never_straddle_two() {
        let mut pages: Paged<[u64; 4]> = Pages::new();
        (0..100).for_each(|_| pages.push_any());
        for index in 0..100 {
            let address = core::ptr::from_ref(pages.at(index)).addr();
            assert!(address % 64 <= 32);
        }
    }
}
