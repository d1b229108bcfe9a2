//! An array that grows a page at a time and never moves what it holds.
//!
//! A vector that doubles copies everything it holds, which for ten million timers is a pause of
//! milliseconds in the middle of a `schedule`. A page is allocated once and stays where it is. Only
//! what is at most half a page grows by doubling, so that a small array stays small.

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::hint::black_box;
use core::iter::Take;
use core::{array, mem, slice};

/// An index that was never pushed.
const WITHIN: &str = "the index is of an element that was pushed";

/// A page that begins at a cache line, so that no element of half a line lies on two.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Aligned<E, const PAGE: usize>([E; PAGE]);

/// An array of `E` in pages of `PAGE` elements.
///
/// A page has a constant length and so a thin pointer: one comparison with the number of pages bounds an access.
/// Pages of small elements are aligned. To make such a page takes as much of the stack, so pages of large elements are
/// not: they are made in place.
///
/// Invariant: the elements are in `few` as long as half a page is enough, and then in pages; there is room
/// for `len` elements, and those behind them are defaults or left over.
#[derive(Clone, Debug)]
pub(crate) struct Pages<E, const PAGE: usize> {
    aligned: Vec<Box<Aligned<E, PAGE>>>,
    large: Vec<Box<[E; PAGE]>>,
    few: Vec<E>,
    len: usize,
}

impl<E, const PAGE: usize> Pages<E, PAGE> {
    /// The number of pages that hold `elements` elements.
    const fn pages_for(elements: usize) -> usize {
        elements / PAGE + (elements % PAGE != 0) as usize
    }

    /// The fewest elements that there is room for, unless there is none.
    const FEWEST: usize = 8;

    /// The most elements that need no page.
    const FEW: usize = PAGE / 2;

    /// Whether elements are small enough for aligned pages.
    const IS_SMALL: bool = mem::size_of::<E>() <= 64;

    pub(crate) const fn new() -> Self {
        Self { aligned: Vec::new(), large: Vec::new(), few: Vec::new(), len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of pages.
    #[inline]
    fn pages(&self) -> usize {
        if Self::IS_SMALL { self.aligned.len() } else { self.large.len() }
    }

    #[inline]
    fn page(&self, index: usize) -> Option<&[E; PAGE]> {
        if Self::IS_SMALL { Some(&self.aligned.get(index)?.0) } else { Some(self.large.get(index)?) }
    }

    #[inline]
    fn page_mut(&mut self, index: usize) -> Option<&mut [E; PAGE]> {
        if Self::IS_SMALL { Some(&mut self.aligned.get_mut(index)?.0) } else { Some(self.large.get_mut(index)?) }
    }

    /// Elements that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.pages() * PAGE + self.few.len()
    }

    /// The heap memory of the array, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        (self.aligned.capacity() + self.large.capacity()) * mem::size_of::<usize>()
            + self.pages() * PAGE * mem::size_of::<E>()
            + self.few.capacity() * mem::size_of::<E>()
    }

    /// The element at an index, unless there is no memory for it.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&E> {
        match self.page(index / PAGE) {
            Some(page) => Some(&page[index % PAGE]),
            None => self.few.get(index),
        }
    }

    /// The element at an index, to be changed, unless there is no memory for it.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        // The borrow of a page that is not there ends too late for a `match`.
        if index / PAGE < self.pages() {
            return Some(&mut self.page_mut(index / PAGE)?[index % PAGE]);
        }
        self.few.get_mut(index)
    }

    /// The element at an index that is known to be within bounds.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &E {
        self.get(index).expect(WITHIN)
    }

    /// The element at an index that is known to be within bounds, to be changed.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut E {
        self.get_mut(index).expect(WITHIN)
    }

    /// All elements, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let pages = (0..self.pages()).filter_map(|index| self.page(index));
        pages.flatten().chain(&self.few).take(self.len)
    }

    /// All elements, to be changed, in order.
    pub(crate) fn iter_mut(&mut self) -> IterMut<'_, E, PAGE> {
        let elements =
            Elements { aligned: self.aligned.iter_mut(), large: self.large.iter_mut(), here: self.few.iter_mut() };
        elements.take(self.len)
    }

    /// Takes the last element off, which stays behind as a left-over. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.len != 0, "there is an element to take off");
        self.len -= 1;
    }

    /// Drops the pages behind the last element but for one. O(pages dropped).
    #[inline]
    pub(crate) fn trim(&mut self) {
        self.truncate_pages(Self::pages_for(self.len) + 1);
    }

    #[inline]
    fn truncate_pages(&mut self, pages: usize) {
        if Self::IS_SMALL {
            self.aligned.truncate(pages);
        } else {
            self.large.truncate(pages);
        }
    }
}

impl<E: Default, const PAGE: usize> Pages<E, PAGE> {
    /// Appends an element: a default, or what was left over in its place. O(1), and a page of memory at most.
    #[inline]
    pub(crate) fn push_any(&mut self) {
        if self.len == self.capacity() {
            self.grow();
        }
        self.len += 1;
    }

    /// Appends an element. O(1), and a page of memory at most.
    #[inline]
    pub(crate) fn push(&mut self, element: E) {
        self.push_any();
        *self.at_mut(self.len - 1) = element;
    }

    #[inline(never)]
    fn grow(&mut self) {
        let room = self.few.len();
        if self.pages() == 0 && room < Self::FEW {
            self.grow_few((2 * room).clamp(Self::FEWEST, Self::FEW));
        } else {
            self.add_page();
        }
    }

    fn grow_few(&mut self, room: usize) {
        self.few.reserve_exact(room - self.few.len());
        self.few.resize_with(room, E::default);
    }

    fn add_page(&mut self) {
        if Self::IS_SMALL {
            return self.add_aligned();
        }
        let mut few = mem::take(&mut self.few);
        few.reserve_exact(PAGE - few.len());
        few.resize_with(PAGE, E::default);
        // It has that length, and so the conversion succeeds.
        self.large.extend(few.try_into());
    }

    // Never: the function that has this in it needs a page of the stack.
    #[inline(never)]
    fn add_aligned(&mut self) {
        let mut few = mem::take(&mut self.few).into_iter();
        let page = array::from_fn(|_| few.next().unwrap_or_default());
        self.aligned.push(Box::new(Aligned(page)));
    }

    /// Makes room for `additional` more elements. O(additional).
    pub(crate) fn reserve(&mut self, additional: usize) {
        let wanted = self.len.saturating_add(additional);
        if self.pages() == 0 && wanted <= Self::FEW {
            if wanted > self.few.len() {
                self.grow_few(wanted);
            }
            return;
        }
        let lacking = Self::pages_for(wanted).saturating_sub(self.pages());
        if Self::IS_SMALL {
            self.aligned.reserve(lacking);
        } else {
            self.large.reserve(lacking);
        }
        (0..lacking).for_each(|_| self.add_page());
    }

    /// Asks for the memory of `elements` elements in one piece, and gives it back. A system that promises more memory
    /// than it has refuses large pieces sooner than small ones.
    pub(crate) fn probe(&self, elements: usize) -> Result<(), TryReserveError> {
        let mut probe = Vec::<u8>::new();
        probe.try_reserve_exact(elements.saturating_mul(mem::size_of::<E>()))?;
        // Else the compiler may find that nothing needs the memory, and not ask.
        drop(black_box(probe));
        Ok(())
    }

    /// Drops every element from `len` on, and gives back the memory that is not needed then.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.truncate_pages(Self::pages_for(self.len));
        if self.len <= Self::FEW {
            if Self::IS_SMALL {
                self.copy_few();
            } else if let Some(page) = self.large.pop() {
                let page: Box<[E]> = page;
                self.few = page.into_vec();
            }
            self.few.truncate(self.len);
        }
        self.aligned.shrink_to_fit();
        self.large.shrink_to_fit();
        self.few.shrink_to_fit();
    }

    /// Takes the elements out of the only page. As [`add_aligned`](Self::add_aligned).
    #[inline(never)]
    fn copy_few(&mut self) {
        if let Some(page) = self.aligned.pop() {
            self.few.extend(page.0.into_iter().take(self.len));
        }
    }
}

/// The elements of an array, to be changed, in order.
pub(crate) type IterMut<'a, E, const PAGE: usize> = Take<Elements<'a, E, PAGE>>;

/// What an array has room for, to be changed, in order.
pub(crate) struct Elements<'a, E, const PAGE: usize> {
    aligned: slice::IterMut<'a, Box<Aligned<E, PAGE>>>,
    large: slice::IterMut<'a, Box<[E; PAGE]>>,
    /// Of the page that was begun, or of an array without pages.
    here: slice::IterMut<'a, E>,
}

impl<'a, E, const PAGE: usize> Iterator for Elements<'a, E, PAGE> {
    type Item = &'a mut E;

    fn next(&mut self) -> Option<&'a mut E> {
        if self.here.len() == 0 {
            let aligned = self.aligned.next().map(|page| &mut page.0);
            let page = aligned.or_else(|| Some(&mut **self.large.next()?));
            self.here = page?.iter_mut();
        }
        self.here.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 64;

    type Paged = Pages<usize, PAGE>;

    fn filled(len: usize) -> Paged {
        let mut pages = Paged::new();
        (0..len).for_each(|index| pages.push(index));
        pages
    }

    #[test]
    fn elements_keep_their_places_while_pages_are_added_and_dropped() {
        let len = 2 * PAGE + 7;
        let mut pages = filled(len);
        assert!((0..len).all(|index| *pages.at(index) == index));
        for shorter in [2 * PAGE + 1, 2 * PAGE, PAGE + 9, 5, 0] {
            pages.truncate(shorter);
            assert_eq!(pages.len(), shorter);
            assert!(pages.iter().copied().eq(0..shorter));
            assert!(pages.iter_mut().map(|it| *it).eq(0..shorter));
            let room = if shorter <= PAGE / 2 { 1 } else { PAGE };
            assert!(pages.capacity() < shorter + room, "pages are given back");
        }
        assert!(pages.get(0).is_none());
        (0..len).for_each(|index| pages.push(index));
        assert!(pages.iter().copied().eq(0..len));
    }

    #[test]
    fn nothing_on_a_page_moves_when_the_array_grows() {
        let mut pages = filled(PAGE);
        let addresses = |pages: &Paged| -> Vec<usize> {
            let pages = pages.iter().take(PAGE);
            pages.map(|it| core::ptr::from_ref(it).addr()).collect()
        };
        let before = addresses(&pages);
        (PAGE..50 * PAGE).for_each(|index| pages.push(index));
        assert_eq!(addresses(&pages), before);
    }

    #[test]
    fn small_array_grows_by_doubling_and_pages_are_made_whole() {
        let mut pages = Paged::new();
        for len in 1..=3 * PAGE {
            pages.push(len);
            let room = if len <= PAGE / 2 { len.next_power_of_two().max(8) } else { len.next_multiple_of(PAGE) };
            assert_eq!(pages.capacity(), room, "{len} elements");
        }
    }

    #[test]
    fn reserve_makes_room_at_once() {
        let mut pages = filled(1);
        pages.reserve(9);
        assert_eq!(pages.capacity(), 10);
        pages.reserve(3 * PAGE);
        assert_eq!(pages.capacity(), 4 * PAGE);
        (0..3 * PAGE).for_each(|index| pages.push(index));
        assert_eq!(pages.capacity(), 4 * PAGE);
        pages.reserve(PAGE - 1);
        assert_eq!(pages.capacity(), 4 * PAGE, "there is room for them");
    }

    #[test]
    fn bytes_are_those_of_the_pages_and_their_table() {
        assert_eq!(Paged::new().bytes(), 0);
        let pages = filled(PAGE + 9);
        let table = pages.aligned.capacity();
        assert!(table >= 2);
        assert_eq!(pages.bytes(), (2 * PAGE + table) * mem::size_of::<usize>());
        assert_eq!(filled(9).bytes(), 16 * mem::size_of::<usize>());
    }

    #[test]
    fn elements_of_half_a_cache_line_never_lie_on_two() {
        let mut pages: Pages<[u64; 4], PAGE> = Pages::new();
        (0..3 * PAGE).for_each(|_| pages.push_any());
        for element in pages.iter() {
            assert!(core::ptr::from_ref(element).addr() % 64 <= 32);
        }
    }

    /// A page of these is larger than the stack of a thread.
    #[test]
    fn pages_of_large_elements_are_made_in_place() {
        #[derive(Clone)]
        struct Large([u8; 64 << 10]);

        impl Default for Large {
            fn default() -> Self {
                Self([0; 64 << 10])
            }
        }

        let mut pages: Pages<Large, PAGE> = Pages::new();
        for index in 0..PAGE as u8 + 3 {
            pages.push_any();
            pages.at_mut(index.into()).0[9] = index;
        }
        assert!(pages.iter().zip(0..).all(|(element, index)| element.0[9] == index));
        assert!(pages.iter_mut().zip(0..).all(|(element, index)| element.0[9] == index));
        pages.truncate(5);
        assert_eq!((pages.len(), pages.capacity()), (5, 5));
        assert_eq!(pages.at(4).0[9], 4);
    }

    #[test]
    fn trim_keeps_one_spare_page() {
        let mut pages = filled(5 * PAGE);
        (0..4 * PAGE).for_each(|_| pages.pop());
        pages.trim();
        assert_eq!((pages.len(), pages.capacity()), (PAGE, 2 * PAGE));
    }
}
