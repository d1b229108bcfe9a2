//! An array that grows without moving what it holds.
//!
//! A vector that doubles copies everything it holds, which for a million timers is a pause of
//! milliseconds in the middle of a `schedule`. Pages of one size are never moved; only the first
//! (and one that was shrunk to fit) grows by doubling, so that a small array stays small. Elements are kept in groups that begin at
//! a cache line, so that one of 32 bytes never straddles two.

use alloc::vec::Vec;

/// Elements in a group. The size of an element is a multiple of eight bytes, so eight of them fill
/// whole cache lines, and the alignment costs no padding.
const GROUP: usize = 8;

/// Elements on a page, unless they are so large that this would be more than [`PAGE_BYTES`].
const MOST_ON_PAGE: usize = 4096;

/// The most bytes that a page takes, unless a single group does.
const PAGE_BYTES: usize = 1 << 19;

/// What has a value that fills the room behind the last element.
pub(crate) trait Placeholder {
    /// A constant, so that a group of them is copied and not built.
    const PLACEHOLDER: Self;
}

/// Elements that begin at a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group<S>([S; GROUP]);

/// An array of `S` in pages.
///
/// Invariant: the pages hold the groups that `len` elements need, each page but the last of them
/// full; elements behind `len` are placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Pages<S> {
    pages: Vec<Vec<Group<S>>>,
    len: usize,
}

impl<S> Pages<S> {
    /// Elements on a page, a power of two.
    const PAGE: usize = {
        let fitting = PAGE_BYTES / size_of::<S>();
        if fitting >= MOST_ON_PAGE {
            MOST_ON_PAGE
        } else if fitting <= GROUP {
            GROUP
        } else {
            1 << fitting.ilog2()
        }
    };

    const PAGE_GROUPS: usize = Self::PAGE / GROUP;

    /// The page that an index is on, and its offset there.
    #[inline]
    const fn page_and_offset(index: usize) -> (usize, usize) {
        (index / Self::PAGE, index % Self::PAGE)
    }

    pub(crate) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Elements that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.pages.iter().map(|page| page.capacity() * GROUP).sum()
    }

    /// The heap memory of the array, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.capacity() * size_of::<Vec<Group<S>>>()
            + self.capacity() / GROUP * size_of::<Group<S>>()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&S> {
        let (page, offset) = Self::page_and_offset(index);
        let group = self.pages.get(page)?.get(offset / GROUP)?;
        Some(&group.0[offset % GROUP])
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut S> {
        let (page, offset) = Self::page_and_offset(index);
        let group = self.pages.get_mut(page)?.get_mut(offset / GROUP)?;
        Some(&mut group.0[offset % GROUP])
    }

    /// The element at an index that is known to be within bounds.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> &S {
        let (page, offset) = Self::page_and_offset(index);
        &self.pages[page][offset / GROUP].0[offset % GROUP]
    }

    /// The element at an index that is known to be within bounds, to be changed.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut S {
        let (page, offset) = Self::page_and_offset(index);
        &mut self.pages[page][offset / GROUP].0[offset % GROUP]
    }

    /// Makes room for `additional` more elements.
    pub(crate) fn reserve(&mut self, additional: usize) {
        let wanted = self.len.saturating_add(additional);
        for page in 0..wanted.div_ceil(Self::PAGE) {
            if page == self.pages.len() {
                self.pages.push(Vec::new());
            }
            let groups = Self::PAGE_GROUPS.min((wanted - page * Self::PAGE).div_ceil(GROUP));
            let page = &mut self.pages[page];
            page.reserve_exact(groups.saturating_sub(page.len()));
        }
    }
}

impl<S: Placeholder> Pages<S> {
    /// Appends a placeholder, or what a truncation has left in its place. O(1).
    #[inline]
    pub(crate) fn push_placeholder(&mut self) {
        if self.len % GROUP == 0 {
            self.push_group();
        }
        self.len += 1;
    }

    #[inline(never)]
    fn push_group(&mut self) {
        let (page, _) = Self::page_and_offset(self.len);
        if page == self.pages.len() {
            // The first page grows by doubling, so that a small array stays small.
            let groups = if page == 0 { 1 } else { Self::PAGE_GROUPS };
            self.pages.push(Vec::with_capacity(groups));
        }
        let page = &mut self.pages[page];
        if page.len() == page.capacity() {
            let most = Self::PAGE_GROUPS - page.len();
            page.reserve_exact(page.len().clamp(1, most));
        }
        page.push(Group([S::PLACEHOLDER; GROUP]));
    }

    /// Drops every element from `len` on and gives back spare memory.
    pub(crate) fn truncate(&mut self, len: usize) {
        debug_assert!(len <= self.len, "truncation does not make elements");
        self.len = len;
        self.pages.truncate(len.div_ceil(Self::PAGE));
        if let Some(page) = self.pages.last_mut() {
            page.truncate((len - 1) % Self::PAGE / GROUP + 1);
            page.shrink_to_fit();
        }
        self.pages.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Placeholder for usize {
        const PLACEHOLDER: Self = 0;
    }

    impl Placeholder for [u64; 4] {
        const PLACEHOLDER: Self = [0; 4];
    }

    fn push<S: Placeholder>(pages: &mut Pages<S>, element: S) {
        pages.push_placeholder();
        *pages.at_mut(pages.len() - 1) = element;
    }

    #[test]
    fn elements_keep_their_places_while_pages_are_added_and_dropped() {
        let mut pages = Pages::new();
        let len = 2 * MOST_ON_PAGE + 77;
        for index in 0..len {
            push(&mut pages, index);
        }
        assert!((0..len).all(|index| *pages.at(index) == index));
        for shorter in [
            2 * MOST_ON_PAGE + 1,
            2 * MOST_ON_PAGE,
            MOST_ON_PAGE + 9,
            5,
            0,
        ] {
            pages.truncate(shorter);
            assert_eq!(pages.len(), shorter);
            assert!((0..shorter).all(|index| *pages.at(index) == index));
            assert!(
                pages.capacity() < shorter + GROUP,
                "spare memory is given back"
            );
        }
        assert!(pages.get(0).is_none());
        for index in 0..len {
            push(&mut pages, index);
        }
        assert!((0..len).all(|index| *pages.at(index) == index));
    }

    #[test]
    fn reserve_makes_room_at_once_and_small_arrays_stay_small() {
        let mut pages: Pages<usize> = Pages::new();
        push(&mut pages, 1);
        assert!(pages.capacity() <= 4 * GROUP);
        pages.reserve(3 * MOST_ON_PAGE);
        let capacity = pages.capacity();
        assert!(capacity > 3 * MOST_ON_PAGE && capacity <= 3 * MOST_ON_PAGE + 2 * GROUP);
        for element in 0..3 * MOST_ON_PAGE {
            push(&mut pages, element);
        }
        assert_eq!(pages.capacity(), capacity);
    }

    #[test]
    fn first_page_grows_by_doubling_and_others_are_made_whole() {
        let mut pages: Pages<usize> = Pages::new();
        for len in 1..=2 * MOST_ON_PAGE {
            push(&mut pages, len);
            let room = if len <= MOST_ON_PAGE {
                len.next_power_of_two().max(GROUP)
            } else {
                2 * MOST_ON_PAGE
            };
            assert_eq!(pages.capacity(), room, "{len} elements");
        }
    }

    #[test]
    fn bytes_are_those_of_the_groups_and_of_the_table_of_pages() {
        let mut pages: Pages<usize> = Pages::new();
        assert_eq!(pages.bytes(), 0);
        pages.reserve(MOST_ON_PAGE + 9);
        let table = pages.pages.capacity();
        assert!(table >= 2);
        // A group of eight words is a cache line.
        let lines = MOST_ON_PAGE / 8 + 2;
        assert_eq!(pages.bytes(), lines * 64 + table * 3 * size_of::<usize>());
    }

    #[test]
    fn elements_of_half_a_cache_line_never_straddle_two() {
        let mut pages: Pages<[u64; 4]> = Pages::new();
        for _ in 0..100 {
            pages.push_placeholder();
        }
        for index in 0..100 {
            let address = core::ptr::from_ref(pages.at(index)).addr();
            assert!(address % 64 <= 32);
        }
    }
}
