//! An array that grows a page at a time and never moves its elements.
//!
//! A vector that doubles copies everything it holds, which for ten million timers is a pause of
//! milliseconds in the middle of a `schedule`. A page is allocated once and stays where it is. Only
//! an array of up to half a page grows by doubling, so that a small array stays small.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

/// The value of an element before it is used.
pub(crate) trait Vacant {
    const VACANT: Self;
}

impl Vacant for () {
    const VACANT: Self = ();
}

impl Vacant for u64 {
    const VACANT: Self = 0;
}

/// A page that begins at a cache line, so that no element of half a line straddles two lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Aligned<E, const PAGE: usize>([E; PAGE]);

impl<E: Vacant, const PAGE: usize> Aligned<E, PAGE> {
    fn new() -> Self {
        Self([E::VACANT; PAGE])
    }
}

/// An array of `E` in pages of `PAGE` elements.
///
/// A page has a constant length and so a thin pointer: one comparison with the number of pages bounds an access.
/// Pages of elements up to 32 bytes are aligned, built on the stack and boxed. Larger elements are pushed into a vector
/// that becomes the page, so that no page of them is on the stack.
///
/// Invariant: the elements are in `few` as long as half a page is enough, and then in pages; there is room
/// for `len` elements, and those behind them are vacant or left over.
#[derive(Clone, Debug)]
pub(crate) struct Pages<E, const PAGE: usize> {
    aligned: Vec<Box<Aligned<E, PAGE>>>,
    large: Vec<Box<[E; PAGE]>>,
    few: Box<[E]>,
    len: usize,
}

impl<E, const PAGE: usize> Pages<E, PAGE> {
    /// The number of pages that hold `elements` elements.
    pub(crate) const fn pages_for(elements: usize) -> usize {
        elements / PAGE + (elements % PAGE != 0) as usize
    }

    /// The least memory that is allocated, in elements.
    const LEAST_ROOM: usize = 8;

    /// The most elements that are kept without a page.
    const MOST_WITHOUT_PAGE: usize = PAGE / 2;

    /// Whether elements are small enough for aligned pages.
    const IS_SMALL: bool = mem::size_of::<E>() <= 32;

    pub(crate) fn new() -> Self {
        Self { aligned: Vec::new(), large: Vec::new(), few: Box::new([]), len: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of pages.
    #[inline]
    pub(crate) fn pages(&self) -> usize {
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

    /// The number of elements that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.pages() * PAGE + self.few.len()
    }

    /// The heap memory of the array, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        (self.aligned.capacity() + self.large.capacity()) * mem::size_of::<usize>()
            + self.pages() * PAGE * mem::size_of::<E>()
            + self.few.len() * mem::size_of::<E>()
    }

    /// The element at an index, or `None` if there is no memory for it.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&E> {
        match self.page(index / PAGE) {
            Some(page) => Some(&page[index % PAGE]),
            None => self.few.get(index),
        }
    }

    /// The element at an index, to be changed, or `None` if there is no memory for it.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut E> {
        // Not a `match`: without a page its borrow would still exclude that of `few`.
        if index / PAGE < self.pages() {
            return Some(&mut self.page_mut(index / PAGE)?[index % PAGE]);
        }
        self.few.get_mut(index)
    }

    /// The elements of a page from an index on.
    #[inline]
    pub(crate) fn from(&self, index: usize) -> &[E] {
        let left = self.len.saturating_sub(index);
        let elements = match self.page(index / PAGE) {
            Some(page) => &page[index % PAGE..],
            None => self.few.get(index..).unwrap_or_default(),
        };
        &elements[..left.min(elements.len())]
    }

    /// The element at an index that is known to be within bounds.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &E {
        self.get(index).unwrap_or_else(|| out_of_bounds())
    }

    /// The element at an index that is known to be within bounds, to be changed.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut E {
        self.get_mut(index).unwrap_or_else(|| out_of_bounds())
    }

    /// All elements, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        (0..self.len).map(|index| self.at(index))
    }

    /// Removes the last element from the array, and leaves its value behind. O(1).
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.len != 0, "there is an element to take off");
        self.len -= 1;
    }

    /// Drops all but one of the pages behind the last element. O(pages dropped).
    #[inline]
    pub(crate) fn trim(&mut self) {
        self.truncate_pages(Self::pages_for(self.len) + 1);
    }

    /// Drops the last page and its elements. O(elements of a page).
    pub(crate) fn drop_page(&mut self) {
        self.truncate_pages(self.pages() - 1);
        self.len = self.len.min(self.capacity());
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

impl<E: Vacant, const PAGE: usize> Pages<E, PAGE> {
    /// Appends an element: a vacant one, or what was left over in its place. O(1), plus at most a page of memory.
    #[inline]
    pub(crate) fn push_any(&mut self) {
        if self.len == self.capacity() {
            self.grow();
        }
        self.len += 1;
    }

    /// Appends an element. O(1), plus at most a page of memory.
    #[inline]
    pub(crate) fn push(&mut self, element: E) {
        self.push_any();
        *self.at_mut(self.len - 1) = element;
    }

    #[inline(never)]
    fn grow(&mut self) {
        let room = self.few.len();
        if self.pages() == 0 && room < Self::MOST_WITHOUT_PAGE {
            self.grow_few((2 * room).clamp(Self::LEAST_ROOM, Self::MOST_WITHOUT_PAGE));
        } else {
            self.add_page();
        }
    }

    fn grow_few(&mut self, room: usize) {
        let mut few = mem::take(&mut self.few).into_vec();
        few.reserve_exact(room - few.len());
        few.resize_with(room, || E::VACANT);
        self.few = few.into_boxed_slice();
    }

    fn add_page(&mut self) {
        if Self::IS_SMALL {
            let mut page = Box::new(Aligned::new());
            let old = page.0.iter_mut().zip(&mut *self.few);
            old.for_each(|(new, old)| mem::swap(new, old));
            self.few = Box::new([]);
            self.aligned.push(page);
        } else {
            self.grow_few(PAGE);
            // The slice has that length, so the conversion succeeds.
            self.large.extend(mem::take(&mut self.few).try_into());
        }
    }

    /// Makes room for `additional` more elements. O(additional).
    pub(crate) fn reserve(&mut self, additional: usize) {
        let wanted = self.len.saturating_add(additional);
        if self.pages() == 0 && wanted <= Self::MOST_WITHOUT_PAGE {
            if wanted > self.few.len() {
                self.grow_few(wanted);
            }
            return;
        }
        let lacking = Self::pages_for(wanted).saturating_sub(self.pages());
        (0..lacking).for_each(|_| self.add_page());
    }

    /// Drops every element from `len` on, and gives back the memory that is not needed then.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.truncate_pages(Self::pages_for(self.len));
        if self.len <= Self::MOST_WITHOUT_PAGE && self.pages() != 0 {
            let last = self.page_mut(0).into_iter().flatten().take(len);
            self.few = last.map(|element| mem::replace(element, E::VACANT)).collect();
            self.truncate_pages(0);
        }
        let mut few = mem::take(&mut self.few).into_vec();
        few.truncate(self.len);
        self.few = few.into_boxed_slice();
        self.aligned.shrink_to_fit();
        self.large.shrink_to_fit();
    }
}

#[cold]
#[inline(never)]
fn out_of_bounds() -> ! {
    panic!("the index is of an element that was pushed");
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Vacant for usize {
        const VACANT: Self = 0;
    }

    impl Vacant for [u64; 4] {
        const VACANT: Self = [0; 4];
    }

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

        impl Vacant for Large {
            const VACANT: Self = Self([0; 64 << 10]);
        }

        let mut pages: Pages<Large, PAGE> = Pages::new();
        for index in 0..PAGE as u8 + 3 {
            pages.push_any();
            pages.at_mut(index.into()).0[9] = index;
        }
        assert!(pages.iter().zip(0..).all(|(element, index)| element.0[9] == index));
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
